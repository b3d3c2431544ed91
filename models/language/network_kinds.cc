#include "weft/models/language/network_kinds.h"

#include <fmt/format.h>

#include "weft/core/error.h"
#include "weft/graph/weights/parameter_count.h"
#include "weft/models/language/averaging.h"
#include "weft/models/language/convolution_network.h"
#include "weft/models/language/hmm_network.h"
#include "weft/models/language/recurrent_network.h"
#include "weft/models/language/transformer_network.h"
#include "weft/models/language/window_network.h"

namespace weft {
namespace {

constexpr std::string_view kKinds[] = {"averaging", "hmm",  "window",      "rnn",
                                       "gru",       "lstm", "convolution", "transformer"};
constexpr std::int64_t kHeads = 4;

// The architecture of nanoGPT's character-level models; width 4 * 32 is the preset nanogpt-cpu.
GptConfig transformer_config(const NetworkSizes& sizes) {
  GptConfig config;
  config.vocab = sizes.vocab;
  config.layers = 4;
  config.heads = kHeads;
  config.width = kHeads * sizes.width;
  config.context = sizes.context;
  config.bias = false;
  config.initializer_range = 0.08;
  return config;
}

}  // namespace

ChoiceNames choice_names(NetworkKind) { return {"network", kKinds}; }

std::unique_ptr<LanguageNetwork> make_network(NetworkKind kind, const Scope& scope,
                                              const NetworkSizes& sizes) {
  const auto recurrent = [&](Recurrence cells) {
    return std::make_unique<RecurrentNetwork>(
        scope, sizes.vocab, RecurrentNetworkOptions{.kind = cells, .hidden = sizes.width});
  };
  switch (kind) {
    case NetworkKind::averaging:
      return std::make_unique<AveragingNetwork>(scope, sizes.vocab, sizes.width);
    case NetworkKind::hmm: return std::make_unique<HmmNetwork>(scope, sizes.vocab, sizes.width);
    case NetworkKind::window:
      return std::make_unique<WindowNetwork>(scope, sizes.vocab,
                                             WindowNetworkOptions{.hidden = sizes.width});
    case NetworkKind::rnn: return recurrent(Recurrence::rnn_tanh);
    case NetworkKind::gru: return recurrent(Recurrence::gru);
    case NetworkKind::lstm: return recurrent(Recurrence::lstm);
    case NetworkKind::convolution:
      return std::make_unique<ConvolutionNetwork>(scope, sizes.vocab,
                                                  ConvolutionOptions{.width = sizes.width});
    case NetworkKind::transformer: break;
  }
  return std::make_unique<TransformerNetwork>(scope, transformer_config(sizes));
}

std::int64_t width_for_budget(const std::function<void(const Scope&, std::int64_t width)>& make,
                              std::int64_t budget) {
  const auto parameters = [&](std::int64_t width) {
    Graph graph;
    make(Scope(graph), width);
    return count_parameters(graph);
  };
  if (const std::int64_t least = parameters(1); least > budget) {
    throw ArgumentError(fmt::format(
        "a budget of {} parameters is too small: width 1 already needs {}", budget, least));
  }
  std::int64_t fits = 1, beyond = 2;
  for (; parameters(beyond) <= budget; beyond *= 2) fits = beyond;
  while (beyond - fits > 1) {
    const std::int64_t middle = fits + (beyond - fits) / 2;
    (parameters(middle) <= budget ? fits : beyond) = middle;
  }
  return fits;
}

std::int64_t width_for_budget(NetworkKind kind, const NetworkSizes& sizes, std::int64_t budget) {
  return width_for_budget(
      [&](const Scope& scope, std::int64_t width) {
        make_network(kind, scope, {.vocab = sizes.vocab, .width = width, .context = sizes.context});
      },
      budget);
}

}  // namespace weft
