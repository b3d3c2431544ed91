// Architectures of language networks, each with a single size parameter, for comparisons.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "weft/models/fields/choice.h"
#include "weft/models/language/network.h"

namespace WEFT_API weft {

/// Architectures of language networks, with the meaning of NetworkSizes::width for each.
enum class NetworkKind : std::uint8_t {
  averaging,    // AveragingNetwork: embedding width
  hmm,          // HmmNetwork: number of states
  window,       // WindowNetwork of 16 tokens with embeddings of width 32: hidden units
  rnn,          // RecurrentNetwork with one layer of tanh units: hidden units and embedding width
  gru,          // RecurrentNetwork with one GRU layer: hidden units and embedding width
  lstm,         // RecurrentNetwork with one LSTM layer: hidden units and embedding width
  convolution,  // ConvolutionNetwork with five layers and a receptive field of 63 tokens: width
  transformer,  // TransformerNetwork like nanoGPT with 4 layers of 4 heads: width / 4
};
/// The names are "averaging", "hmm", "window", "rnn", "gru", "lstm", "convolution" and
/// "transformer".
ChoiceNames choice_names(NetworkKind);

/// Sizes of a network.
struct NetworkSizes {
  std::int64_t vocab = 0;
  std::int64_t width = 0;     // as described at NetworkKind
  std::int64_t context = 64;  // context length of the transformer
};

/// Declares a network below `scope`. Throws ArgumentError for invalid sizes.
std::unique_ptr<LanguageNetwork> make_network(NetworkKind kind, const Scope& scope,
                                              const NetworkSizes& sizes);

/// Returns the largest width for which `make` declares at most `budget` trainable parameters,
/// including the parameters of embeddings, heads, biases and norms. The number of parameters must
/// not decrease as the width grows. Throws ArgumentError if width 1 already exceeds the budget.
std::int64_t width_for_budget(const std::function<void(const Scope&, std::int64_t width)>& make,
                              std::int64_t budget);
/// As above, for one of the architectures.
std::int64_t width_for_budget(NetworkKind kind, const NetworkSizes& sizes, std::int64_t budget);

}  // namespace weft
