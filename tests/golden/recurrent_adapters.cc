// Adapters for the recurrent-layer golden cases, which use PyTorch weight names.
#include <fmt/core.h>

#include "op_adapters.h"
#include "weft/models/layers/recurrent.h"

namespace weft::golden {
namespace {

OpOutputs recurrent_case(const OpCase& c, Recurrence kind) {
  RecurrentOptions options;
  options.layers = c.attrs.at("num_layers").get<int>();
  options.bidirectional = c.attrs.at("bidirectional").get<bool>();
  options.bias = c.attrs.at("bias").get<bool>();
  const auto lengths = c.attrs.at("lengths").get<std::vector<std::int64_t>>();
  if (!lengths.empty()) {
    options.lengths = c.graph.constant(
        Tensor::of<std::int64_t>({static_cast<std::int64_t>(lengths.size())}, lengths));
  }
  if (c.has("h0")) options.h0 = c["h0"];
  if (c.has("c0")) options.c0 = c["c0"];
  std::vector<RecurrentWeights> weights;
  for (int layer = 0; layer < options.layers; ++layer) {
    for (const char* side : {"", "_reverse"}) {
      if (*side != 0 && !options.bidirectional) continue;
      const auto named = [&](const char* name) {
        return c[fmt::format("{}_l{}{}", name, layer, side)];
      };
      weights.push_back({named("weight_ih"), named("weight_hh"),
                         options.bias ? named("bias_ih") : Value(),
                         options.bias ? named("bias_hh") : Value()});
    }
  }
  const RecurrentResult result = apply_recurrent(kind, c["x"], weights, options);
  OpOutputs outputs = {{"output", result.output}, {"h_n", result.h}};
  if (result.c.defined()) outputs["c_n"] = result.c;
  return outputs;
}

}  // namespace

void add_recurrent_adapters(std::map<std::string, OpAdapter>& adapters) {
  adapters["lstm"] = [](const OpCase& c) { return recurrent_case(c, Recurrence::lstm); };
  adapters["gru"] = [](const OpCase& c) { return recurrent_case(c, Recurrence::gru); };
  adapters["rnn"] = [](const OpCase& c) {
    const bool relu = c.attrs.at("nonlinearity") == "relu";
    return recurrent_case(c, relu ? Recurrence::rnn_relu : Recurrence::rnn_tanh);
  };
}

}  // namespace weft::golden
