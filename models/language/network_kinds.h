// The kinds of language networks that are compared, each with one number for its size.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "weft/models/fields/choice.h"
#include "weft/models/language/network.h"

namespace WEFT_API weft {

/// The kinds of networks.
enum class NetworkKind : std::uint8_t {
  averaging,    // AveragingNetwork: numbers of an embedding
  hmm,          // HmmNetwork: states
  window,       // WindowNetwork of 16 tokens with embeddings of 32: hidden units
  rnn,          // RecurrentNetwork of one layer of tanh units, and embeddings of that size
  gru,          // the same of gated units
  lstm,         // the same of cells
  convolution,  // ConvolutionNetwork of five layers that see 63 tokens: features
  transformer,  // TransformerNetwork of nanoGPT's form with 4 layers of 4 heads: features, over 4
};
/// "averaging", "hmm", "window", "rnn", "gru", "lstm", "convolution", "transformer".
ChoiceNames choice_names(NetworkKind);

/// What a network of a kind is made of.
struct NetworkSizes {
  std::int64_t vocab = 0;
  std::int64_t width = 0;     // as NetworkKind says
  std::int64_t context = 64;  // the transformer's
};

/// Declares a network below `scope`. Throws ArgumentError for sizes that make none.
std::unique_ptr<LanguageNetwork> make_network(NetworkKind kind, const Scope& scope,
                                              const NetworkSizes& sizes);

/// The largest width with which `make` declares at most `budget` parameters, every learnt number
/// counted, those of embeddings, heads, biases and norms too; more must never come of a smaller
/// width. Throws ArgumentError where width 1 is too much already.
std::int64_t width_for_budget(const std::function<void(const Scope&, std::int64_t width)>& make,
                              std::int64_t budget);
/// The same for a kind.
std::int64_t width_for_budget(NetworkKind kind, const NetworkSizes& sizes, std::int64_t budget);

}  // namespace weft
