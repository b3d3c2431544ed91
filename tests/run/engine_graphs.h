// Graphs of the engine's test ops, and sessions that look closely.
#pragma once

#include "weft/graph/run/session.h"
#include "weft/tests/kit/engine_ops.h"

namespace weft::testing {

inline Value engine_add(Value a, Value b) { return a.graph().apply("t_add", {a, b}).output(0); }
inline Value engine_scale(Value x, double f) {
  return x.graph().apply("t_scale", {x}, {{"factor", f}}).output(0);
}
inline Value engine_sum(Value x) { return x.graph().apply("t_sum", {x}).output(0); }

inline SessionOptions strict() { return {.threads = 2, .verify = true, .poison = true}; }

}  // namespace weft::testing
