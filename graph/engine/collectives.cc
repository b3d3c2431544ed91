#include "weft/graph/engine/collectives.h"

#include <fmt/format.h>

#include <vector>

#include "weft/core/error.h"
#include "weft/graph/ir/graph.h"

namespace weft {

bool check_collectives(const CompiledProgram& c, int ranks) {
  bool any = false;
  for (const Node* node : c.nodes) {
    if (node == nullptr || !node->op().has(Trait::collective)) continue;
    any = true;
    const std::int64_t wanted = node->attributes().integer("ranks");
    if (wanted == ranks) continue;
    node->graph().fail(
        StateError(fmt::format("built for a world of {} ranks, but the world of this Session has "
                               "{}: build the graph for World::size()",
                               wanted, ranks)),
        *node);
  }
  for (const std::vector<CompiledProgram::Body>& bodies : c.bodies) {
    for (const CompiledProgram::Body& body : bodies)
      any = check_collectives(*body.program, ranks) || any;
  }
  return any;
}

}  // namespace weft
