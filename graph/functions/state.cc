#include "weft/graph/functions/state.h"

namespace weft {

Value with_update(Arg x, Variable variable, Arg value) {
  const Value v = x.value("with_update");
  v.graph().check_owned(variable.value(), "with_update: the variable", x.location());
  const Value next = value.value("with_update");
  return v.graph().apply("with_update", {v, variable, next}, {}, x.location()).output(0);
}

}  // namespace weft
