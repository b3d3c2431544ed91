// A small decoder with the programs of a Generator, of DecodeSlots and of a whole forward pass.
#pragma once

#include <algorithm>
#include <memory>

#include "weft/graph/run/session.h"
#include "weft/models/families/gpt.h"
#include "weft/models/generate/generator.h"
#include "weft/models/generate/slots.h"

namespace weft::testing {

/// Greedy texts and logits of texts alone, and a session for slots over the same weights.
struct ServingModel {
  explicit ServingModel(const GptConfig& config,
                        const SessionOptions& options = {.seed = 4, .threads = 2, .poison = true})
      : gpt(Scope(graph), config),
        tokens(graph.input("tokens", DType::i64, {"rows", "new"})),
        decode(gpt.decode_program(tokens)),
        slots(gpt.slots_program(tokens)),
        full(Program("full").output("logits", gpt({.ids = tokens}).logits)),
        store(std::make_shared<VariableStore>()),
        alone(graph, store, {.seed = 4, .threads = 2}),
        session(graph, store, options),
        generator(alone, decode, config) {}

  /// Returns the logits of the token after `ids`, from a whole forward pass.
  std::vector<float> next(const TokenIds& ids) {
    const Tensor all = alone.run(full, {{"tokens", ids_tensor({ids})}})["logits"];
    const auto last = all.span<float>().last(static_cast<std::size_t>(all.size(2)));
    return {last.begin(), last.end()};
  }
  TokenIds generate(const TokenIds& prompt, const GenerationOptions& options) {
    return generator.generate({prompt}, options).run().sequences.front();
  }

  Graph graph;
  Gpt gpt;
  Value tokens;
  Program decode, slots, full;
  std::shared_ptr<VariableStore> store;
  Session alone, session;
  Generator generator;
};

/// Returns the largest difference between a row of `logits` and `expected`, relative to the largest
/// magnitude in `expected`.
inline double relative_difference(const Tensor& logits, std::size_t row,
                                  const std::vector<float>& expected) {
  double most = 0, difference = 0;
  const auto got = logits.span<float>().subspan(row * expected.size(), expected.size());
  for (std::size_t v = 0; v < expected.size(); ++v) {
    most = std::max<double>(most, std::abs(expected[v]));
    difference = std::max<double>(difference, std::abs(expected[v] - got[v]));
  }
  return difference / most;
}

}  // namespace weft::testing
