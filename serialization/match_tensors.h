// Matching of tensors to variables, used to load the weights of one model or file into another
// model.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/graph/ir/graph.h"
#include "weft/serialization/checkpoint.h"

namespace WEFT_API weft {

/// Options for matching tensors to variables by name. Patterns are shell-style: names with * and ?.
/// By default, every variable must have a tensor of its name, dtype and sizes, and every tensor
/// must have a variable.
struct MatchOptions {
  /// Rules that translate tensor names of the file into names of the graph. The first rule that
  /// matches a name applies. A rule without stars replaces a prefix: {"bert.", "encoder."} applies
  /// to all names that begin with "bert.". In a rule with stars, such as {"h.*.mlp.*",
  /// "layers.*.feed_forward.*"}, each star of the new name is replaced by the text that the
  /// corresponding star of the old name matched. It is an ArgumentError if a rule matches no
  /// tensor.
  std::vector<std::pair<std::string, std::string>> rename = {};
  /// Patterns of the variables to load; all other tensors of the file are ignored. If empty, loads
  /// all variables. It is an ArgumentError if a pattern matches no variable.
  std::vector<std::string> only = {};
  /// Patterns of variables that are not loaded, even if the file contains them.
  std::vector<std::string> reinit = {};
  /// Patterns of variables that need no tensor; without one, they start from their initialisers.
  /// {"*"} allows all.
  std::vector<std::string> allow_missing = {};
  /// Patterns of tensors, by their names in the file, that need no variable. {"*"} allows all.
  std::vector<std::string> allow_unexpected = {};
  /// Convert floating-point tensors to the dtype of their variable; the report lists them. If
  /// false, a different dtype is a mismatch.
  bool convert = false;
  /// With `convert`: names of variables that keep the tensor of the file if it is bf16.
  std::set<std::string> keep_bf16 = {};
  /// Maps the name of a variable to the name of its tensor in the file. If empty, the names are
  /// equal. Use it for mappings that `rename` cannot express; `rename` must then be empty.
  std::function<std::string(const std::string&)> file_name = {};
};

/// The result of loading weights, as names of variables (for `unexpected`, names of tensors).
struct LoadReport {
  std::vector<std::string> loaded = {};
  std::vector<std::string> converted = {};      // subset of `loaded` that had another dtype
  std::vector<std::string> missing = {};        // have no tensor; start from their initialisers
  std::vector<std::string> reinitialised = {};  // not loaded because of MatchOptions::reinit
  std::vector<std::string> unexpected = {};     // tensors without a variable

  /// All variables that start from their initialisers: `missing` and `reinitialised`.
  std::vector<std::string> newly_initialised() const;
  /// A summary for users: counts, and the names of initialised variables and unused tensors.
  std::string str() const;
};

/// Pairs of variables and tensors, in the order of the variables, and all problems.
struct Match {
  std::vector<std::pair<Variable, Tensor>> pairs = {};
  LoadReport report = {};
  /// One line per problem: "missing: 'head.bias' f32[2] (did you mean 'head.bais'?)".
  std::vector<std::string> problems = {};
  /// A suggestion that might solve all problems, or "".
  std::string advice = {};
};

/// Pairs variables with tensors by name or alias. Problems are missing and unexpected tensors that
/// are not allowed, tensors whose sizes or dtype differ from their variable, and aliases with
/// different values. A tensor that shares memory with a loaded tensor counts as another name of the
/// loaded tensor, not as unexpected. Throws ArgumentError if a rule or pattern matches nothing, or
/// if two tensors are renamed to the same name.
Match find_matches(const std::vector<Variable>& variables, const TensorMap& tensors,
                   const MatchOptions& options = {});

/// Like find_matches(), but throws one FormatError that lists all problems. In the message,
/// `source` denotes the tensors and `wanted` the variables.
Match match_variables(const std::vector<Variable>& variables, const TensorMap& tensors,
                      std::string_view source, const MatchOptions& options = {},
                      std::string_view wanted = "the variables");

/// Returns the weights of a graph: its parameters and buffers.
std::vector<Variable> weight_variables(const Graph& graph);

/// Returns the first few of `names` as text: "a, b, c and 5 more".
std::string first_of(const std::vector<std::string>& names);

}  // namespace weft
