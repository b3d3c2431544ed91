// Chat templates in the subset of Jinja that published models use.
#pragma once

#include <ctime>
#include <memory>
#include <string_view>

#include "weft/models/text/jinja/template_limits.h"
#include "weft/models/text/jinja/traced_text.h"
#include "weft/models/text/jinja/value.h"

namespace weft::chat {

struct ParsedTemplate;

/// A parsed template that can be rendered. The settings are those of Hugging Face transformers
/// (trim_blocks, lstrip_blocks, no escaping, immutable values), which is the reference for all
/// output. Immutable and thread-safe.
///
/// The supported subset of Jinja consists of text, {{ expressions }}, {# comments #} and whitespace
/// control; if, for (with "if", "else", break and continue), set (for names, namespace fields and
/// blocks), macro and generation; all operators except "**"; and the filters, tests, methods and
/// functions in the tables of builtin.h. The parser rejects any other construct with an error that
/// names it.
class Template {
 public:
  /// Parses a template. Throws a FormatError that names the syntax error or the unsupported
  /// construct, with its line and column.
  static Template parse(std::string_view source);

  /// Returns true if the template marks model-generated text with {% generation %}.
  bool marks_generation() const;

  /// Renders the template. Throws DataError, with line and column, if the template raises an
  /// exception, applies an operation to values that do not support it, or exceeds the limits.
  TracedText render(const Mapping& variables, const TemplateLimits& limits,
                    const std::tm& now) const;

 private:
  explicit Template(std::shared_ptr<const ParsedTemplate> parsed);

  std::shared_ptr<const ParsedTemplate> parsed_;
};

}  // namespace weft::chat
