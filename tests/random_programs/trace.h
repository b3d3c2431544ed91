// The results of a case's runs, and helpers that record them.
#pragma once

#include <string>
#include <vector>

#include "weft/core/error.h"
#include "weft/graph/run/session.h"
#include "weft/tests/random_programs/case.h"

namespace weft::testing {

/// The results of a sequence of runs: the outputs and variables after each run, and the error that
/// ended the sequence.
struct Trace {
  struct Step {
    NamedTensors outputs, variables;
    /// The bindings of the program's symbols, if requested.
    Bindings bindings = {};
  };
  std::vector<Step> steps;
  std::string error;  // type and message
  /// The variables before the first run, if requested.
  NamedTensors start = {};
};

/// Returns the type of an error and its message: "DataError: ...".
std::string describe(const Error& e);

/// Returns true if the bits are equal, except that all NaNs count as equal.
bool same(const Tensor& a, const Tensor& b);
/// Describes the first difference, such as "element 3 of 12 is 1 instead of 2".
std::string first_difference(const Tensor& got, const Tensor& expected);

/// Returns the tensor with this name, or an undefined tensor.
Tensor find_tensor(const NamedTensors& list, const std::string& name);

/// Returns the sizes of those symbols in the run that the graph uses.
DimValues dims_of(const CaseRun& run, const Graph& graph);
/// Returns the feeds of those inputs that the graph still has. Passes remove unused inputs.
NamedTensors feeds_of(const CaseRun& run, const Graph& graph);
void set_variables(Session& session, const NamedTensors& variables);
NamedTensors variables_of(Session& session, const Program& program);

/// Executes the runs from `first` on in a Session and appends them to `trace`. Stops at the first
/// error.
void run_into(Trace& trace, Session& session, const Program& program, const Case& c,
              std::size_t first = 0, const std::vector<std::string>& fetch = {});

}  // namespace weft::testing
