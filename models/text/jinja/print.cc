#include "weft/models/text/jinja/print.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <vector>

#include "weft/models/text/jinja/python_characters.h"
#include "weft/models/text/unicode/utf8.h"

namespace weft::chat {
namespace {

/// Appends a quoted string and preserves the origins of its bytes.
void print_quoted(Run& run, const TracedText& text, TracedText& out) {
  run.pass(Pass::convert, text.size());
  const bool has_single = text.text().find('\'') != std::string::npos;
  const bool has_double = text.text().find('"') != std::string::npos;
  const char quote = has_single && !has_double ? '"' : '\'';
  out.append({&quote, 1});
  out.append(text.mapped([&](char32_t c, std::size_t, std::string& written) {
    if (c == U'\n') {
      written += "\\n";
    } else if (c == U'\r') {
      written += "\\r";
    } else if (c == U'\t') {
      written += "\\t";
    } else if (c == U'\\' || c == static_cast<char32_t>(quote)) {
      written += '\\';
      written += static_cast<char>(c);
    } else if (is_printable(c)) {
      append_utf8(written, c);
    } else {
      const auto code = static_cast<std::uint32_t>(c);
      written += code < 0x100     ? fmt::format("\\x{:02x}", code)
                 : code < 0x10000 ? fmt::format("\\u{:04x}", code)
                                  : fmt::format("\\U{:08x}", code);
    }
  }));
  out.append({&quote, 1});
  run.check_size(out.footprint());
}

void print_items(Run& run, const std::vector<Value>& items, TracedText& out) {
  std::string_view comma;
  for (const Value& item : items) {
    out.append(comma);
    print_inner(run, item, out);
    comma = ", ";
  }
}

void print_sequence(Run& run, const Sequence& sequence, TracedText& out) {
  if (sequence.kind == Sequence::Kind::list) {
    out.append("[");
    print_items(run, sequence.items, out);
    out.append("]");
  } else {
    out.append("(");
    print_items(run, sequence.items, out);
    out.append(sequence.items.size() == 1 ? ",)" : ")");
  }
}

/// Writes JSON. The nesting limit for values bounds the recursion depth.
class JsonPrinter {
 public:
  JsonPrinter(Run& run, const JsonStyle& style, TracedText& out)
      : run_(run), style_(style), out_(out) {}

  void write(const Value& value) {
    run_.step();
    if (const TracedText* text = as_text(value)) {
      write_text(*text);
    } else if (is<None>(value)) {
      out_.append("null");
    } else if (const auto* flag = as<bool>(value)) {
      out_.append(*flag ? "true" : "false");
    } else if (const auto* number = as<std::int64_t>(value)) {
      out_.append(fmt::format("{}", *number));
    } else if (const auto* number = as<double>(value)) {
      out_.append(std::isnan(*number)   ? "NaN"
                  : std::isinf(*number) ? (*number > 0 ? "Infinity" : "-Infinity")
                                        : float_text(*number));
    } else if (const Mapping* mapping = as_mapping(value)) {
      write_object(*mapping);
    } else if (const Sequence* sequence = as_sequence(value);
               sequence != nullptr && (sequence->kind == Sequence::Kind::list ||
                                       sequence->kind == Sequence::Kind::tuple)) {
      write_array(*sequence);
    } else if (const auto* unknown = as<Undefined>(value)) {
      run_.fail(*unknown->what + " and cannot be converted to JSON");
    } else {
      run_.fail(fmt::format("{} cannot be converted to JSON", kind_of(value)));
    }
  }

 private:
  void write_text(const TracedText& text) {
    run_.pass(Pass::convert, text.size());
    out_.append("\"");
    out_.append(text.mapped([&](char32_t c, std::size_t, std::string& written) {
      constexpr std::string_view kPlain = "\"\\\n\r\t\f\b", kEscaped = "\"\\nrtfb";
      const std::size_t known = c < 0x80 ? kPlain.find(static_cast<char>(c)) : kPlain.npos;
      const auto code = static_cast<std::uint32_t>(c);
      if (known != kPlain.npos) {
        written += '\\';
        written += kEscaped[known];
      } else if (c < 0x20 || (style_.ascii && c >= 0x7F && c < 0x10000)) {
        written += fmt::format("\\u{:04x}", code);
      } else if (style_.ascii && c >= 0x10000) {
        const std::uint32_t rest = code - 0x10000;
        written +=
            fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + (rest >> 10), 0xDC00 + (rest & 0x3FF));
      } else {
        append_utf8(written, c);
      }
    }));
    out_.append("\"");
    run_.check_size(out_.footprint());
  }

  void break_line() {
    if (!style_.indent) return;
    out_.append("\n");
    run_.step(static_cast<std::size_t>(level_) * (style_.indent->size() + 1));
    for (int i = 0; i < level_; ++i) out_.append(*style_.indent);
  }

  template <class Items, class Write>
  void write_items(const Items& items, char open, char close, const Write& write_item) {
    out_.append({&open, 1});
    ++level_;
    bool first = true;
    for (const auto& item : items) {
      run_.make_bytes(style_.item_separator.size() + style_.key_separator.size());
      if (!first) out_.append(style_.item_separator);
      first = false;
      break_line();
      write_item(item);
    }
    --level_;
    if (!first) break_line();
    out_.append({&close, 1});
  }

  void write_array(const Sequence& sequence) {
    write_items(sequence.items, '[', ']', [&](const Value& item) { write(item); });
  }
  void write_object(const Mapping& mapping) {
    std::vector<std::pair<TextPtr, Value>> sorted;
    if (style_.sort_keys) {
      sorted = mapping.entries;
      std::stable_sort(sorted.begin(), sorted.end(), [this](const auto& a, const auto& b) {
        run_.pass(Pass::compare, std::min(a.first->size(), b.first->size()));
        return a.first->text() < b.first->text();
      });
    }
    write_items(style_.sort_keys ? sorted : mapping.entries, '{', '}', [&](const auto& entry) {
      write_text(*entry.first);
      out_.append(style_.key_separator);
      write(entry.second);
    });
  }

  Run& run_;
  const JsonStyle& style_;
  TracedText& out_;
  int level_ = 0;
};

}  // namespace

std::string float_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

void print(Run& run, const Value& value, TracedText& out) {
  if (const TracedText* text = as_text(value)) {
    out.append(*text);
  } else if (!is<Undefined>(value)) {
    print_inner(run, value, out);
  }
}

TextPtr printed(Run& run, const Value& value) {
  if (const auto* text = as<TextPtr>(value)) return *text;
  TracedText out;
  print(run, value, out);
  run.make_bytes(out.size());
  return std::make_shared<const TracedText>(std::move(out));
}

void print_inner(Run& run, const Value& value, TracedText& out) {
  run.step();
  if (const TracedText* text = as_text(value)) {
    print_quoted(run, *text, out);
  } else if (is<Undefined>(value)) {
    out.append("Undefined");
  } else if (is<None>(value)) {
    out.append("None");
  } else if (const auto* flag = as<bool>(value)) {
    out.append(*flag ? "True" : "False");
  } else if (const auto* number = as<std::int64_t>(value)) {
    out.append(fmt::format("{}", *number));
  } else if (const auto* number = as<double>(value)) {
    out.append(float_text(*number));
  } else if (const Mapping* mapping = as_mapping(value)) {
    out.append("{");
    std::string_view comma;
    for (const auto& [key, item] : mapping->entries) {
      out.append(comma);
      print_quoted(run, *key, out);
      out.append(": ");
      print_inner(run, item, out);
      comma = ", ";
    }
    out.append("}");
  } else if (const Sequence* sequence = as_sequence(value);
             sequence != nullptr &&
             (sequence->kind == Sequence::Kind::list || sequence->kind == Sequence::Kind::tuple)) {
    print_sequence(run, *sequence, out);
  } else {
    run.fail(fmt::format("{} cannot be printed", kind_of(value)));
  }
}

TracedText to_json(Run& run, const Value& value, const JsonStyle& style) {
  TracedText out;
  JsonPrinter(run, style, out).write(value);
  return out;
}

}  // namespace weft::chat
