// Chat templates: the part of Jinja that published models use.
#pragma once

#include <ctime>
#include <memory>
#include <string_view>

#include "weft/models/chat/template/traced_text.h"
#include "weft/models/chat/template/value.h"
#include "weft/models/chat/template_limits.h"

namespace weft::chat {

struct ParsedTemplate;

/// A template that can be rendered, with the settings of the library whose results are the standard
/// (trim_blocks, lstrip_blocks, no escaping, immutable values). Immutable; one for several threads.
///
/// Text, {{ expressions }}, {# comments #}, white space control; if, for (with "if" and "else";
/// break, continue), set (names, fields of namespaces, blocks), macro, generation; all operators
/// but "**"; the filters, tests, methods and functions of the tables in builtin.h. What is outside
/// is refused by name when a template is parsed.
class Template {
 public:
  /// Throws FormatError that says what is wrong or not supported, with line and column.
  static Template parse(std::string_view source);

  /// True where it says by {% generation %} what a model is to write.
  bool marks_generation() const;

  /// Throws DataError with line and column where the template raises an exception, where values do
  /// not allow what it does with them, and beyond the limits.
  TracedText render(const Mapping& variables, const TemplateLimits& limits,
                    const std::tm& now) const;

 private:
  explicit Template(std::shared_ptr<const ParsedTemplate> parsed);

  std::shared_ptr<const ParsedTemplate> parsed_;
};

}  // namespace weft::chat
