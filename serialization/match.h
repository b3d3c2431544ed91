// Which tensor belongs to which variable: how weights of one model or file become those of another.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/graph/ir/graph.h"
#include "weft/serialization/checkpoint.h"

namespace WEFT_API weft {

/// What tensors are called, and which variables take one. Patterns are names with * and ? as in a
/// shell. By default every variable must have a tensor of its name, dtype and sizes, and every
/// tensor a variable.
struct MatchOptions {
  /// What the file calls a tensor and what the graph does; the first rule that fits a name counts.
  /// {"bert.", "encoder."} is about all names that begin with "bert."; in a rule with stars, as
  /// {"h.*.mlp.*", "layers.*.feed_forward.*"}, each star takes what it stood for in the file. A
  /// rule that fits no tensor is an ArgumentError.
  std::vector<std::pair<std::string, std::string>> rename = {};
  /// Variables to take over, and nothing else of the file is looked at; empty: all. A pattern that
  /// fits no variable is an ArgumentError.
  std::vector<std::string> only = {};
  /// Variables that are not taken over although the file may have them.
  std::vector<std::string> reinit = {};
  /// Variables that may lack a tensor, which then start from their initialisers; {"*"}: all.
  std::vector<std::string> allow_missing = {};
  /// Tensors, by the names in the file, that need no variable; {"*"}: all.
  std::vector<std::string> allow_unexpected = {};
  /// Floating tensors of another dtype than their variable's are converted, and the report says so;
  /// false: they are misshapen.
  bool convert = false;
  /// The name in the file of a variable; empty: as the graph calls it. For what rules cannot say:
  /// `rename` is left empty then.
  std::function<std::string(const std::string&)> file_name = {};
};

/// What was taken over: names of variables, but for the unexpected.
struct LoadReport {
  std::vector<std::string> loaded = {};
  std::vector<std::string> converted = {};      // of these, from another dtype
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
  /// A line each: "missing: 'head.bias' f32[2] (did you mean 'head.bais'?)".
  std::vector<std::string> problems = {};
  /// What might help against all of them, or "".
  std::string advice = {};
};

/// Pairs variables with tensors by name or alias. Everything missing and unexpected that is not
/// allowed, all that is misshapen (dtypes too), and aliases with different values are problems. A
/// tensor that is the memory of one that was taken over is only another name of it. Throws
/// ArgumentError for rules and patterns that fit nothing, and for two tensors that rules give one
/// name.
Match find_matches(const std::vector<Variable>& variables, const TensorMap& tensors,
                   const MatchOptions& options = {});

/// The same. Throws one FormatError that lists all problems; `source` names the tensors in it, and
/// `wanted` what they do not fit.
Match match_variables(const std::vector<Variable>& variables, const TensorMap& tensors,
                      std::string_view source, const MatchOptions& options = {},
                      std::string_view wanted = "the variables");

/// The parameters and buffers of a graph: what weights are.
std::vector<Variable> weight_variables(const Graph& graph);

/// "a, b, c and 5 more": not more than a few names.
std::string first_of(const std::vector<std::string>& names);

}  // namespace weft
