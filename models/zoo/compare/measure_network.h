// A language network is trained and measured: a row of the table.
#pragma once

#include "weft/models/data/text.h"
#include "weft/models/language/network_kinds.h"
#include "weft/models/train/settings.h"
#include "weft/models/zoo/compare/language_row.h"

namespace weft::zoo {

/// What all models of a table have in common.
struct Comparison {
  std::vector<std::int32_t> train;
  HeldOut held_out;
  std::int64_t vocab = 0;
  std::int64_t parameters = 0;         // at most so many
  std::int64_t window = 64;            // characters of a row of a batch
  TrainSettings settings = {};         // but for the learning rate, which is the model's
  std::vector<std::int64_t> contexts;  // behind how many characters a step is timed
  std::vector<std::int32_t> prompt;    // of the sample
  std::int64_t sample = 0;             // characters of it
  int threads = 0;                     // of training; steps of generating take one
};

/// The learning rate that a kind is trained with, at its highest. Of a few that were tried for 250
/// steps with 100,000 parameters the best was up to three times as high (averaging 2e-3, hmm 3e-1,
/// lstm 1e-2, gru 6e-3, convolution and transformer 4e-3, window and rnn 3e-3); more steps of wider
/// models want less.
double learning_rate(NetworkKind kind);

/// Trains a network on random windows, or, with `carry`, on the whole text in order with its state
/// carried from batch to batch (truncated back-propagation through time), and measures it. `lr`
/// above 0 stands for learning_rate(kind).
LanguageRow measure_network(NetworkKind kind, const Comparison& common, bool carry = false,
                            double lr = 0);

}  // namespace weft::zoo
