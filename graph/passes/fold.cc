// Constant folding: evaluates nodes that have only constant operands.
#include <algorithm>

#include "weft/core/error.h"
#include "weft/graph/passes/pipeline.h"

namespace weft {
namespace {

// Results with at most 64 elements are always stored as constants.
constexpr std::int64_t kSmall = 64;

bool is_symbolic(const Attribute& value) {
  if (const Dim* d = std::get_if<Dim>(&value)) return !d->is_constant();
  if (const Shape* s = std::get_if<Shape>(&value)) return !s->is_constant();
  return false;
}

// Returns the number of elements, or -1 if it overflows.
std::int64_t elements_or_none(const Sizes& sizes) {
  try {
    return num_elements(sizes);
  } catch (const ShapeError&) {
    return -1;
  }
}

// Returns true for a product with a lower precision than `highest`, the precision at which
// constants are evaluated.
bool is_narrow_product(const Node& node, Precision precision) {
  const Attribute* own = node.attributes().find("precision");
  if (own == nullptr) return false;
  const auto& text = std::get<std::string>(*own);
  return (text.empty() ? precision : parse_precision(text)) != Precision::highest;
}

bool foldable(const OpRecord& op) {
  return !op.has(Trait::leaf) && !op.has(Trait::random) && !op.has(Trait::opaque) &&
         !op.has_bodies() && (op.kernel != nullptr || op.has(Trait::alias));
}

std::vector<Value> fold(const Node& node, const std::vector<Value>& inputs, Graph& target,
                        std::int64_t limit, Precision precision) {
  if (!foldable(node.op()) || is_narrow_product(node, precision)) return {};
  std::vector<Tensor> operands;
  std::int64_t given = 0;
  for (const Value& v : inputs) {
    if (!v.defined()) {
      operands.emplace_back();
      continue;
    }
    if (v.node().op().name != "constant") return {};
    operands.push_back(v.node().attributes().tensor("value"));
    given += operands.back().numel();
  }
  if (given > limit) return {};
  if (std::any_of(node.attributes().begin(), node.attributes().end(),
                  [](const auto& entry) { return is_symbolic(entry.second); })) {
    return {};
  }
  std::int64_t made = 0;
  for (int i = 0; i < node.output_count(); ++i) {
    if (!node.type(i).shape.is_constant()) return {};
    const std::int64_t elements = elements_or_none(node.type(i).shape.constant());
    if (elements < 0 || elements > limit) return {};
    made += elements;
  }
  // A broadcast or an iota is cheaper to compute at run time than to store and read.
  if (made > std::max(kSmall, given)) return {};
  try {
    std::vector<Value> results;
    for (Tensor& t : evaluate_op(node.op(), operands, node.attributes())) {
      results.push_back(target.constant(std::move(t), {}));
    }
    return results;
  } catch (const DataError&) {
    return {};  // the same error is thrown at run time, with the node's source line
  }
}

}  // namespace

Module fold_constants(Module module, const PassOptions& options) {
  const Precision precision = module.program.precision().value_or(options.precision);
  CloneOptions clone;
  clone.steps = options.steps;
  clone.rewrite = [&](const Node& node, const std::vector<Value>& inputs, Graph& target) {
    return fold(node, inputs, target, std::max(options.fold_elements, kSmall), precision);
  };
  return clone_program(module.program, clone);
}

}  // namespace weft
