// The options --trace and --trace-steps.
#pragma once

#include <string>

#include "weft/graph/engine/trace.h"
#include "weft/models/program/options/options.h"

namespace weft::program {

struct TraceArguments {
  std::string path;
  Trace::Steps steps = {};
  bool has_steps = false;  // --trace-steps was given

  /// Adds --trace and --trace-steps. `what` describes the range: "runs to record (default: all)".
  void add(OptionList& options, const std::string& what);
};

}  // namespace weft::program
