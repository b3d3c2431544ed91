// Evaluates nodes whose operands are constants.
#include <algorithm>

#include "weft/core/error.h"
#include "weft/graph/passes/pipeline.h"

namespace weft {
namespace {

// Results of up to this many elements are always worth having as constants.
constexpr std::int64_t kSmall = 64;

bool is_symbolic(const Attribute& value) {
  if (const Dim* d = std::get_if<Dim>(&value)) return !d->is_constant();
  if (const Shape* s = std::get_if<Shape>(&value)) return !s->is_constant();
  return false;
}

bool foldable(const OpRecord& op) {
  return !op.has(Trait::leaf) && !op.has(Trait::random) && !op.has(Trait::opaque) &&
         !op.has(Trait::call) && (op.kernel != nullptr || op.has(Trait::alias));
}

std::vector<Value> fold(const Node& node, const std::vector<Value>& inputs, Graph& target,
                        std::int64_t limit) {
  if (!foldable(node.op())) return {};
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
    made += num_elements(node.type(i).shape.constant());
  }
  // A broadcast or an iota is cheaper to make at run time than to keep and to read.
  if (made > std::max(kSmall, given)) return {};
  try {
    std::vector<Value> results;
    for (Tensor& t : evaluate_op(node.op(), operands, node.attributes())) {
      results.push_back(target.constant(std::move(t), {}));
    }
    return results;
  } catch (const DataError&) {
    return {};  // the same error comes at run time, with the node's line
  }
}

}  // namespace

Module fold_constants(Module module, const PassOptions& options) {
  CloneOptions clone;
  clone.rewrite = [&](const Node& node, const std::vector<Value>& inputs, Graph& target) {
    return fold(node, inputs, target, options.fold_elements);
  };
  return clone_program(module.program, clone);
}

}  // namespace weft
