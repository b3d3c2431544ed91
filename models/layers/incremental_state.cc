#include "weft/models/layers/incremental_state.h"

#include <fmt/format.h>

#include "weft/core/error.h"

namespace weft {

void require_first_incremental(const Scope& state, std::string_view function, SourceLocation loc) {
  const std::string prefix = state.path() + ".";
  for (const Variable& v : state.graph().variables()) {
    if (!v.name().starts_with(prefix)) continue;
    throw GraphError(fmt::format(
        "{}: this graph already has an incremental program of this model, whose state is in "
        "variables such as '{}' (declared at {}); build the program once per graph and keep it, or "
        "build it in another graph\n  {}",
        function, v.name(), state.graph().where(v.value().node()),
        state.graph().describe_source(loc)));
  }
}

}  // namespace weft
