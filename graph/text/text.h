// Conversion of graphs and programs to text and back.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "weft/graph/ir/clone.h"

namespace WEFT_API weft {

/// Large constants by name. They are stored separately from the text.
using TextConstants = std::map<std::string, Tensor, std::less<>>;

struct PrintOptions {
  /// Prints the scope and source line of every node as a comment. (The parser ignores comments.)
  bool source_locations = false;
  /// Constants of up to this many elements are printed in full, with each float as the shortest
  /// decimal that is parsed as the same bits. Larger constants are printed by name.
  std::int64_t inline_elements = 64;
  /// Receives the larger constants. If null, the text contains only their names and cannot be
  /// parsed.
  TextConstants* constants = nullptr;
};

/// Prints a program with everything that it depends on, for example
///   weft text 1
///   dim batch, seq
///   input %tokens: i32[batch, seq]
///   variable @net.tok.weight: parameter f32[65, 128] = normal(0, 0.02)
///   %0 = take(@net.tok.weight, %tokens) {axis = 0} : f32[batch, seq, 128]
///   %1 = mul(%0, 1.5) : f32[batch, seq, 128]
///   name hidden.0 = %1
///   program train {
///     precision high
///     output embedded = %1
///   }
/// Also prints functions (`func`), requirements (`require`), updates and aliases of variables.
/// Values are renumbered, so equal programs have equal text. The grammar is in
/// docs/graphs-as-text.md.
std::string to_text(const Program& program, const PrintOptions& options = {});
/// Prints a whole graph: all nodes, variables and names.
std::string to_text(const Graph& graph, const PrintOptions& options = {});
/// Prints one function with its body.
std::string to_text(const Function& function, const PrintOptions& options = {});

struct ParseOptions {
  /// File name for error messages and for the source locations of nodes.
  std::string file = "<text>";
  std::shared_ptr<const OpSet> ops = builtin_ops();
  /// The constants that the text refers to by name.
  const TextConstants* constants = nullptr;
};

/// Parses text from to_text() or written by hand. In hand-written text, values may have names (`%h
/// = ...`), and the types after nodes may be omitted. If the text has no program block, the Program
/// is empty. All errors in the text, including mismatched shapes, are reported as FormatErrors with
/// "file:line:column", the text that was found and the text that was expected.
Module parse_text(std::string_view text, const ParseOptions& options = {});

/// Returns the program as a Graphviz drawing: leaves are labelled by name, other nodes by op and
/// type, and nodes are clustered by scope.
std::string to_dot(const Program& program);

}  // namespace weft
