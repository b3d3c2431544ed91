// Graphs of the engine's test ops, and sessions that look closely.
#pragma once

#include "weft/graph/run/session.h"
#include "weft/tests/kit/engine_ops.h"

namespace weft::testing {

// Nodes are the caller's: profiles and errors name his line.

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
