#include "weft/graph/distributed/early_sums.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weft/graph/functions/add_into.h"

namespace weft {
namespace {

constexpr std::size_t kMinBytes = std::size_t{1} << 20;

bool adds_to_some(const Node& node) {
  const std::string& op = node.op().name;
  return op == "index_add" || op == "scatter_add" || op == "slice_add";
}

// Returns the value that the last operations of `sum` add elements to. Returns an undefined Value
// if there are no such operations, or if they add to zeros or to a leaf (an input, variable or
// constant).
Value before_additions(Value sum) {
  Value before = sum;
  while (adds_to_some(before.node())) {
    if (scatters_into_zeros(before)) return Value();
    before = before.node().inputs()[0];
  }
  const bool computed = !before.node().inputs().empty();
  return computed && !(before == sum) ? before : Value();
}

}  // namespace

void add_early_sums(ShardedProgram& parts) {
  for (ShardedProgram::Stage& stage : parts.stages) {
    std::vector<std::pair<std::size_t, Value>> found;
    for (const auto& [name, value] : stage.module.program.outputs()) {
      const std::optional<std::size_t> i = shard_names::number_of_sum(name);
      if (!i || bytes_of_sum(value.type()) < kMinBytes) continue;
      const Value before = before_additions(value);
      if (before.defined()) found.emplace_back(*i, before);
    }
    for (const auto& [i, before] : found) {
      stage.module.program.output(shard_names::early(i), before, {});
      stage.early.push_back(i);
    }
  }
}

}  // namespace weft
