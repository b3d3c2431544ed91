// Which tensor belongs to which variable: how weights of one model or file become those of another.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/graph/ir/graph.h"
#include "weft/serialization/checkpoint.h"

namespace weft {

struct MatchOptions {
  /// What the tensors call a variable; empty: as the graph does.
  std::function<std::string(const std::string&)> rename = {};
  /// Patterns (with * and ? as in a shell) of variables that start anew, tensors or not.
  std::vector<std::string> reinit = {};
  bool allow_missing = false;     // variables without a tensor are left out
  bool allow_unexpected = false;  // tensors without a variable are ignored
  bool widen = false;             // floats take the variable's dtype
  /// Tensors that need no variable; empty: none.
  std::function<bool(const std::string&)> ignore = {};
};

/// What was taken over: names of variables, but for the unexpected.
struct LoadReport {
  std::vector<std::string> loaded = {};
  std::vector<std::string> missing = {};        // there is no tensor: they start anew
  std::vector<std::string> reinitialised = {};  // there is one, but they were to start anew
  std::vector<std::string> unexpected = {};     // tensors without a variable

  /// All that starts anew.
  std::vector<std::string> anew() const;
  /// For people: counts, and the names of what is new and what is not used.
  std::string str() const;
};

/// Variables with their tensors, in order of the variables, and all that is wrong.
struct Match {
  std::vector<std::pair<Variable, Tensor>> pairs = {};
  LoadReport report = {};
  std::vector<std::string> problems = {};  // a line each: "missing: 'd' f32[2]"
};

/// Pairs variables with tensors by name or alias. Everything missing and unexpected that is not
/// allowed, all that is misshapen (dtypes too), and aliases with different values are problems.
Match find_matches(const std::vector<Variable>& variables, const TensorMap& tensors,
                   const MatchOptions& options = {});

/// The same. Throws one FormatError that lists all problems; `source` names the tensors in it, and
/// `wanted` what they do not fit.
std::vector<std::pair<Variable, Tensor>> match_variables(const std::vector<Variable>& variables,
                                                         const TensorMap& tensors,
                                                         std::string_view source,
                                                         const MatchOptions& options = {},
                                                         std::string_view wanted = "the variables");

/// The parameters and buffers of a graph: what weights are.
std::vector<Variable> weight_variables(const Graph& graph);

/// "a, b, c and 5 more": not more than a few names.
std::string first_of(const std::vector<std::string>& names);

}  // namespace weft
