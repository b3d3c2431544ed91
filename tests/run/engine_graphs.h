// Helpers for graphs of the engine test ops, and strict Session options.
#pragma once

#include "weft/graph/run/session.h"
#include "weft/tests/support/engine_ops.h"

namespace weft::testing {

// Nodes get the source location of the caller, so that profiles and errors name the source line of
// the test.

inline Value engine_add(Value a, Value b, SourceLocation loc = SourceLocation::current()) {
  return a.graph().apply("t_add", {a, b}, {}, loc).output(0);
}
inline Value engine_scale(Value x, double f, SourceLocation loc = SourceLocation::current()) {
  return x.graph().apply("t_scale", {x}, {{"factor", f}}, loc).output(0);
}
inline Value engine_sum(Value x, SourceLocation loc = SourceLocation::current()) {
  return x.graph().apply("t_sum", {x}, {}, loc).output(0);
}

inline SessionOptions strict() { return {.threads = 2, .verify = true, .poison = true}; }

}  // namespace weft::testing
