// Gradient of attention: one op that recomputes the scores block by block.
#include "weft/autodiff/rule.h"
#include "weft/graph/functions/shape.h"

namespace weft {
namespace {

constexpr std::size_t kOperands = 13;

std::vector<Value> gradient_attention(const GradientContext& c) {
  const Value out = c.output(0), lse = c.output(1);
  std::vector<Value> inputs = {c.has_cotangent(0) ? c.cotangent(0) : zeros_like(out), out, lse};
  for (std::size_t i = 0; i < kOperands; ++i) inputs.push_back(c.input(i));
  if (c.has_cotangent(1)) inputs.push_back(c.cotangent(1));
  Node& node = c.graph().apply("attention_grad", std::move(inputs), c.attributes());
  // Operands to which the outputs of the gradient op correspond, in order: q, k, v, bias,
  // offset_bias, row_bias, col_bias.
  constexpr std::size_t kDifferentiable[] = {0, 1, 2, 3, 5, 6, 8};
  std::vector<Value> result(kOperands);
  int output = 0;
  for (const std::size_t i : kDifferentiable) {
    if (c.input(i).defined()) result[i] = node.output(output);
    ++output;
  }
  return result;
}

}  // namespace

void add_attention_rules(RuleSet& rules) { rules.add("attention", gradient_attention); }

}  // namespace weft
