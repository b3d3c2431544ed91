// Filters that convert values to strings or numbers.
#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/models/text/jinja/builtin.h"
#include "weft/models/text/jinja/operators.h"
#include "weft/models/text/jinja/print.h"
#include "weft/models/text/jinja/python_characters.h"
#include "weft/models/text/jinja/text_tools.h"
#include "weft/models/text/unicode/properties.h"

namespace weft::chat {
namespace {

constexpr std::int64_t kMaxIndent = 1000;

/// Converts a function on strings to a filter. Values that are not strings are printed first.
template <TracedText (*Change)(const TracedText&)>
Value change_text(Run& run, const Value& subject, const CallArguments&) {
  const TextPtr text = printed(run, subject);
  return changed_text<Change>(run, *text);
}

/// Implements Jinja's title(), whose word boundaries differ from those of str.title(): "the-big
/// cat" becomes "The-Big Cat".
TracedText word_title(const TracedText& text) {
  const auto separates = [](char32_t c) {
    return is_python_space(c) || c == U'-' || c == U'(' || c == U'{' || c == U'[' || c == U'<';
  };
  TracedText result;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = at;
    const bool separator = separates(take_character(text.text(), at));
    const std::size_t second = at;
    std::size_t end = at;
    while (at < text.size() && separates(take_character(text.text(), at)) == separator) end = at;
    at = end;
    result.append(upper(text.part(begin, second)));
    result.append(lower(text.part(second, end)));
  }
  return result;
}

Value trim(Run& run, const Value& subject, const CallArguments& arguments) {
  return stripped_text(run, *printed(run, subject), Ends::both,
                       arguments.has(0) ? &arguments[0] : nullptr);
}

Value replace(Run& run, const Value& subject, const CallArguments& arguments) {
  const bool limited = arguments.has(2) && !is<None>(arguments[2]);
  return replaced(run, *printed(run, subject), *printed(run, arguments[0]),
                  *printed(run, arguments[1]),
                  limited ? integer_argument(run, arguments[2], "count") : -1);
}

Value indent(Run& run, const Value& subject, const CallArguments& arguments) {
  TracedText text = text_argument(run, subject, "indent");
  TracedText indention("    ");
  if (arguments.has(0)) {
    if (const TracedText* own = as_text(arguments[0])) {
      indention = *own;
    } else {
      const std::int64_t width = integer_argument(run, arguments[0], "width");
      if (width > kMaxIndent) run.fail(fmt::format("'width' must be at most {}", kMaxIndent));
      indention = TracedText(std::string(width > 0 ? static_cast<std::size_t>(width) : 0, ' '));
    }
  }
  const bool first = arguments.has(1) && truth(arguments[1]);
  const bool blank = arguments.has(2) && truth(arguments[2]);
  text.append("\n");  // preserves a line break at the end
  TracedText result;
  bool begins = true;
  for (const TracedText& line : lines_of(run, text)) {
    run.make_bytes(line.footprint() + indention.footprint());
    if (!begins) result.append("\n");
    if (begins ? first : (blank || !line.empty())) result.append(indention);
    result.append(line);
    begins = false;
  }
  return run.text(std::move(result));
}

Value to_json_filter(Run& run, const Value& subject, const CallArguments& arguments) {
  JsonStyle style;
  style.ascii = arguments.has(0) && truth(arguments[0]);
  if (arguments.has(1) && !is<None>(arguments[1])) {
    if (const TracedText* text = as_text(arguments[1])) {
      style.indent = text->text();
    } else {
      const std::int64_t width = integer_argument(run, arguments[1], "indent");
      if (width > kMaxIndent) run.fail(fmt::format("'indent' must be at most {}", kMaxIndent));
      style.indent = std::string(width > 0 ? static_cast<std::size_t>(width) : 0, ' ');
    }
    style.item_separator = ",";
  }
  if (arguments.has(2) && !is<None>(arguments[2])) {
    const std::vector<Value> both = items_of(run, arguments[2]);
    if (both.size() != 2) run.fail("'separators' must be two strings");
    style.item_separator = text_argument(run, both[0], "separators").text();
    style.key_separator = text_argument(run, both[1], "separators").text();
  }
  style.sort_keys = arguments.has(3) && truth(arguments[3]);
  return run.text(to_json(run, subject, style));
}

Value to_text(Run& run, const Value& subject, const CallArguments&) {
  return printed(run, subject);
}

std::optional<std::int64_t> truncated(Run& run, double number) {
  if (!std::isfinite(number)) return std::nullopt;
  // 2^63, the smallest power of two that does not fit into int64.
  constexpr double kEnd = 9223372036854775808.0;
  if (number < -kEnd || number >= kEnd) run.fail("the result of 'int' exceeds 64 bits");
  return static_cast<std::int64_t>(number);
}

Value to_integer(Run& run, const Value& subject, const CallArguments& arguments) {
  require_defined(run, subject);
  if (arguments.has(1) && integer_argument(run, arguments[1], "base") != 10)
    run.fail("'int' supports base 10 only");
  std::optional<std::int64_t> number;
  if (const auto* flag = as<bool>(subject)) {
    number = *flag ? 1 : 0;
  } else if (const auto* integer = as<std::int64_t>(subject)) {
    number = *integer;
  } else if (const auto* real = as<double>(subject)) {
    number = truncated(run, *real);
  } else if (const TracedText* text = as_text(subject)) {
    number = read_integer(run, *text);
    if (!number) {
      if (const auto real = read_float(run, *text)) number = truncated(run, *real);
    }
  }
  if (number) return *number;
  return arguments.has(0) ? arguments[0] : Value(std::int64_t{0});
}

Value to_float(Run& run, const Value& subject, const CallArguments& arguments) {
  require_defined(run, subject);
  if (const auto* flag = as<bool>(subject)) return *flag ? 1.0 : 0.0;
  if (const auto* integer = as<std::int64_t>(subject)) return static_cast<double>(*integer);
  if (is<double>(subject)) return subject;
  if (const TracedText* text = as_text(subject)) {
    if (const auto real = read_float(run, *text)) return *real;
  }
  return arguments.has(0) ? arguments[0] : Value(0.0);
}

Value absolute(Run& run, const Value& subject, const CallArguments&) {
  const int sign = compare(run, subject, std::int64_t{0}, "abs");
  return signed_value(run, subject, sign == -1);
}

}  // namespace

std::span<const Builtin> text_filters() {
  static constexpr Builtin kFilters[] = {
      {.name = "abs", .call = absolute},
      {.name = "capitalize", .call = change_text<capitalized>},
      {.name = "float", .parameters = {"default"}, .call = to_float},
      {.name = "indent", .parameters = {"width", "first", "blank"}, .call = indent},
      {.name = "int", .parameters = {"default", "base"}, .call = to_integer},
      {.name = "lower", .call = change_text<lower>},
      {.name = "replace", .parameters = {"old", "new", "count"}, .required = 2, .call = replace},
      // Text is not escaped in chat templates, so "safe" has no effect.
      {.name = "safe", .call = to_text},
      {.name = "string", .call = to_text},
      {.name = "title", .call = change_text<word_title>},
      {.name = "tojson",
       .parameters = {"ensure_ascii", "indent", "separators", "sort_keys"},
       .call = to_json_filter},
      {.name = "trim", .parameters = {"chars"}, .call = trim},
      {.name = "upper", .call = change_text<upper>},
  };
  return kFilters;
}

}  // namespace weft::chat
