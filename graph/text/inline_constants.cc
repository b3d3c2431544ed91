#include "weft/graph/text/inline_constants.h"

#include <unordered_map>

namespace weft {
namespace {

// Maximum number of elements of a non-scalar constant that is printed inline.
constexpr std::int64_t kMaxInlineElements = 8;

bool is_constant(const Node& node) { return node.op().name == "constant"; }

}  // namespace

std::optional<DType> literal_dtype(const std::vector<Value>& operands) {
  for (const Value& v : operands) {
    if (!v.defined() || v.dtype() == DType::boolean) continue;
    if (!is_constant(v.node()) || v.rank() > 0) return v.dtype();
  }
  return std::nullopt;
}

std::unordered_set<const Node*> inline_constants(const Graph& graph,
                                                 const std::vector<Node*>& nodes,
                                                 const std::vector<Value>& kept) {
  std::unordered_map<const Node*, int> uses;
  for (const Node* n : nodes) {
    for (const Value& v : n->inputs()) {
      if (v.defined() && is_constant(v.node())) ++uses[v.node_pointer()];
    }
  }
  std::unordered_set<const Node*> result;
  for (const auto& [node, count] : uses) {
    const Tensor& value = node->attributes().tensor("value");
    if (node->instance() != 0 || !value.defined()) continue;
    if (value.rank() == 0 || (count == 1 && value.numel() <= kMaxInlineElements))
      result.insert(node);
  }
  for (const Value& v : kept) result.erase(v.node_pointer());
  for (const auto& [name, value] : graph.names()) result.erase(value.node_pointer());
  return result;
}

}  // namespace weft
