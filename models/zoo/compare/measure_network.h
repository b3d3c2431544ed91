// Trains and measures a network for one row of the comparison table.
#pragma once

#include "weft/models/language/network_kinds.h"
#include "weft/models/training/settings.h"
#include "weft/models/zoo/compare/language_row.h"

namespace weft::zoo {

/// The data and settings that are the same for all models of a table.
struct Comparison {
  std::vector<std::int32_t> train;
  HeldOut held_out;
  std::int64_t vocab = 0;
  std::int64_t parameters = 0;  // maximum number of parameters
  std::int64_t window = 64;     // characters per row of a batch
  /// Training settings, except for the learning rate, which depends on the model.
  TrainSettings settings = {};
  /// Context lengths (in characters) at which a generation step is timed.
  std::vector<std::int64_t> contexts;
  std::vector<std::int32_t> prompt;  // prompt of the generated sample
  std::int64_t sample = 0;           // number of characters to generate
  int threads = 0;                   // threads for training; generation steps use one thread
};

/// Returns the default peak learning rate for an architecture. In a search over a few values with
/// 100,000 parameters and 250 steps, the best learning rates were up to three times as high
/// (averaging 2e-3, hmm 3e-1, lstm 1e-2, gru 6e-3, convolution and transformer 4e-3, window and rnn
/// 3e-3), but wider models and longer training runs need lower learning rates.
double learning_rate(NetworkKind kind);

/// Trains a network and measures it. By default, the network is trained on random windows. With
/// `carry`, it is trained on the whole text in order, and its state is carried from batch to batch
/// (truncated back-propagation through time). A positive `lr` replaces learning_rate(kind). Throws
/// ArgumentError if `carry` is set for a network without a fixed-size state.
LanguageRow measure_network(NetworkKind kind, const Comparison& common, bool carry = false,
                            double lr = 0);

}  // namespace weft::zoo
