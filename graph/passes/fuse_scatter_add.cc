// Replaces the sum of a value and a small value scattered into zeros with a scatter-add to the
// first value:
//   index_add(zeros, i, s) + y becomes index_add(y, i, s); unslice(g) + y becomes slice_add(y, g);
//   ...
// If a table has other uses as well (an embedding tied to the output layer), its gradients are
// summed in one buffer. Without the pass, a second buffer of the table's size would be filled with
// zeros, scattered into and added. Gradient rules already build graphs in this form (see
// add_into.h); the pass covers graphs that users write, and graphs in files of earlier versions.
#include <algorithm>
#include <unordered_map>

#include "weft/graph/functions/add_into.h"
#include "weft/graph/passes/match.h"
#include "weft/graph/passes/pipeline.h"

namespace weft {

Module fuse_scatter_add(Module module, const PassOptions& pass) {
  const std::vector<Node*> nodes = module.program.nodes();
  pass.count(nodes.size());
  const bool any = std::any_of(nodes.begin(), nodes.end(), [](const Node* n) {
    return is(*n, "add") && (scatters_into_zeros(n->input(0)) || scatters_into_zeros(n->input(1)));
  });
  if (!any) return module;
  const Consumers consumers(module.program);

  // Maps each sum to the index of its scattered operand, which has no other reader.
  std::unordered_map<const Node*, std::size_t> sums;
  for (const Node* n : nodes) {
    if (!is(*n, "add") || n->instance() != 0) continue;
    for (std::size_t i = 0; i < 2; ++i) {
      const Value part = n->input(i), other = n->input(1 - i);
      if (part == other || !scatters_into_zeros(part) || consumers.count(part) != 1) continue;
      if (!(other.type() == part.type()) || !(n->type(0) == part.type())) continue;
      sums.emplace(n, i);
      break;
    }
  }
  if (sums.empty()) return module;
  CloneOptions options;
  options.steps = pass.steps;
  options.rewrite = [&](const Node& node, const std::vector<Value>& inputs, Graph&) {
    const auto it = sums.find(&node);
    if (it == sums.end()) return std::vector<Value>();
    return std::vector<Value>{accumulate_into(inputs[1 - it->second], inputs[it->second])};
  };
  return clone_program(module.program, options);
}

}  // namespace weft
