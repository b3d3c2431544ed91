#include "weft/models/layers/crf.h"

#include <fmt/format.h>

#include "weft/core/error.h"

namespace weft {

CrfTransitions make_crf(const Scope& scope, DType dtype, std::int64_t tags, SourceLocation loc) {
  const Graph::Frame frame(scope.graph(), "make_crf", loc, scope.path());
  if (tags < 1) {
    scope.graph().fail(ArgumentError(fmt::format("a CRF needs at least one tag, not {}", tags)),
                       "make_crf", {}, loc);
  }
  const VariableOptions start{.initializer = Initializer::uniform(-0.1, 0.1)};
  const auto declare = [&](const char* name, Shape shape) {
    return scope.variable(name, ValueType{dtype, std::move(shape)}, start).value();
  };
  CrfTransitions crf;
  crf.transitions = declare("transitions", {tags, tags});
  crf.start = declare("start_transitions", {tags});
  crf.end = declare("end_transitions", {tags});
  return crf;
}

}  // namespace weft
