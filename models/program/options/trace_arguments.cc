#include "weft/models/program/options/trace_arguments.h"

#include <fmt/format.h>

#include "weft/core/error.h"
#include "weft/models/fields/numbers.h"

namespace weft::program {
namespace {

/// Parses FIRST-LAST, or a single number.
Trace::Steps parse_steps(const std::string& text) {
  const std::string label = "--trace-steps";
  const std::size_t dash = text.find('-');
  Trace::Steps steps;
  steps.first = parse_integer(label, text.substr(0, dash), kFromOne);
  steps.last = dash == std::string::npos ? steps.first
                                         : parse_integer(label, text.substr(dash + 1), kFromOne);
  if (steps.last < steps.first) {
    throw ArgumentError(
        fmt::format("--trace-steps: {} is not a range: the last step is before the first", text));
  }
  return steps;
}

}  // namespace

void TraceArguments::add(OptionList& options, const std::string& what) {
  const AddedOption file = options.output(
      "--trace", path,
      "write a timeline to this file (.json), for ui.perfetto.dev: which worker computed which "
      "operation, the waves of operations that run at the same time, and the memory in use");
  options
      .add("--trace-steps", kStepsType, OptionList::Times::once, "the " + what,
           [this](const std::string& text) {
             steps = parse_steps(text);
             has_steps = true;
           })
      .needs(file);
}

}  // namespace weft::program
