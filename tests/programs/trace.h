// What runs of a case gave, and the pieces that make one.
#pragma once

#include <string>
#include <vector>

#include "weft/core/error.h"
#include "weft/graph/run/session.h"
#include "weft/tests/programs/case.h"

namespace weft::testing {

/// What a sequence of runs gave: outputs and variables after each, or the error that ended it.
struct Trace {
  struct Step {
    NamedTensors outputs, variables;
    Bindings bindings = {};  // of the program's symbols, where somebody asked
  };
  std::vector<Step> steps;
  std::string error;        // kind and message
  NamedTensors start = {};  // the variables before the first run, where somebody asked
};

/// The kind of an error and its message: "DataError: ...".
std::string describe(const Error& e);

/// The same bits, where one NaN is as good as another.
bool same(const Tensor& a, const Tensor& b);
/// "element 3 of 12 is 1 instead of 2".
std::string first_difference(const Tensor& got, const Tensor& expected);

/// The tensor of that name; undefined if there is none.
Tensor find_tensor(const NamedTensors& list, const std::string& name);

/// Sizes of the symbols that a graph has.
DimValues dims_of(const CaseRun& run, const Graph& graph);
/// Without those of inputs that a graph has no more: passes drop what nobody needs.
NamedTensors feeds_of(const CaseRun& run, const Graph& graph);
void set_variables(Session& session, const NamedTensors& variables);
NamedTensors variables_of(Session& session, const Program& program);

/// Runs from `first` on in a Session; ends at the first error.
void run_into(Trace& trace, Session& session, const Program& program, const Case& c,
              std::size_t first = 0, const std::vector<std::string>& fetch = {});

}  // namespace weft::testing
