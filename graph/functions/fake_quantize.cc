#include "weft/graph/functions/fake_quantize.h"

#include "weft/graph/ir/graph.h"

namespace weft {

Value fake_quantize(Arg x, OptionalArg scale) {
  const Value v = x.value("fake_quantize");
  return v.graph().apply("fake_quantize", {v, scale.value()}, {}, x.location()).output(0);
}

}  // namespace weft
