// Graphs and programs as text that can be read back.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "weft/graph/ir/clone.h"

namespace WEFT_API weft {

/// Large constants travel beside the text: name -> value.
using TextConstants = std::map<std::string, Tensor, std::less<>>;

struct PrintOptions {
  /// Adds scope and source line of every node as a comment (comments are not read back).
  bool places = false;
  /// Constants of up to this many elements are printed in full (floats as the shortest decimal that
  /// reads back as the same bits); larger ones by name.
  std::int64_t inline_elements = 64;
  /// Takes the larger ones. Without it the text shows their names, but cannot be read back.
  TextConstants* constants = nullptr;
};

/// A program and what it needs, for example
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
/// Also functions (`func`), requirements (`require`), updates and second names of variables. Values
/// are numbered afresh, so that equal programs give equal text. graph/text/README.md has the
/// grammar.
std::string to_text(const Program& program, const PrintOptions& options = {});
/// A whole graph: all nodes, variables and names.
std::string to_text(const Graph& graph, const PrintOptions& options = {});
/// One function with its body.
std::string to_text(const Function& function, const PrintOptions& options = {});

struct ParseOptions {
  /// Named in errors and as the file of the nodes' places.
  std::string file = "<text>";
  std::shared_ptr<const OpSet> ops = builtin_ops();
  /// The constants that the text names.
  const TextConstants* constants = nullptr;
};

/// Reads what to_text writes, and what people write: values may have names (`%h = ...`), types
/// behind nodes may be left out. Text without a program block gives an empty Program. Whatever is
/// wrong with the text, misfitting shapes included, is a FormatError "file:line:column: what was
/// found and what would be right".
Module parse_text(std::string_view text, const ParseOptions& options = {});

/// The program as a Graphviz drawing: leaves by name, nodes by op and type, clusters by scope.
std::string to_dot(const Program& program);

}  // namespace weft
