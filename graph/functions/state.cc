#include "weft/graph/functions/state.h"

#include <fmt/format.h>

#include "weft/core/error.h"

namespace weft {

Value with_update(Arg x, Variable variable, Arg value) {
  const Value v = x.value("with_update");
  Graph& graph = v.graph().building();
  graph.check_owned(variable.value(), "with_update: the variable", x.location());
  if (&variable.graph() != &graph) {
    throw GraphError(fmt::format(
        "with_update: variable '{}' cannot be updated in {}: return the new value as a carry or an "
        "output and update the variable outside; apply a layer with state, such as batch_norm, "
        "outside or in evaluation mode\n  {}",
        variable.name(), graph.body_name(), graph.describe_source(x.location())));
  }
  const Value next = value.value("with_update");
  return v.graph().apply("with_update", {v, variable, next}, {}, x.location()).output(0);
}

}  // namespace weft
