// Methods of strings, dicts and lists. Methods that modify a value are not supported. Values are
// immutable, as in the template sandbox of Hugging Face transformers, which is the reference
// implementation for all output.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/models/text/jinja/builtin.h"
#include "weft/models/text/jinja/operators.h"
#include "weft/models/text/jinja/python_characters.h"
#include "weft/models/text/jinja/text_search.h"
#include "weft/models/text/jinja/text_tools.h"
#include "weft/models/text/unicode/properties.h"

namespace weft::chat {
namespace {

const TracedText& self(const Value& subject) { return *as_text(subject); }

template <TracedText (*Change)(const TracedText&)>
Value changed(Run& run, const Value& subject, const CallArguments&) {
  return changed_text<Change>(run, self(subject));
}

template <Ends At>
Value stripped(Run& run, const Value& subject, const CallArguments& arguments) {
  return stripped_text(run, self(subject), At, arguments.has(0) ? &arguments[0] : nullptr);
}

/// Splits a string at separators, which are not part of the results.
class Splitter {
 public:
  Splitter(Run& run, const TracedText& text, std::int64_t most)
      : run_(run), text_(text), most_(most) {}

  /// Splits at `separator`.
  Value at(std::string_view separator, bool from_right) {
    const std::string_view all = text_.text();
    const TextSearch search(run_, separator,
                            from_right ? TextSearch::From::right : TextSearch::From::left);
    std::size_t begin = 0, end = all.size();
    while (!full()) {
      std::size_t found = search.in(all.substr(begin, end - begin));
      if (found == std::string_view::npos) break;
      found += begin;
      if (from_right) {
        add(found + separator.size(), end);
        end = found;
      } else {
        add(begin, found);
        begin = found + separator.size();
      }
    }
    add(begin, end);
    return result(from_right);
  }

  /// Splits at runs of whitespace. No part is empty.
  Value at_spaces(bool from_right) {
    const std::string_view all = text_.text();
    run_.pass(Pass::decode, all.size());
    const Ends side = from_right ? Ends::right : Ends::left;
    Stripped left = strip(all, side);
    while (left.begin < left.end) {
      if (full()) {  // the remaining text, including the whitespace at its far end
        add(left.begin, left.end);
        break;
      }
      if (from_right) {
        std::size_t begin = left.end;
        while (begin > left.begin && !is_python_space(character_before(all, begin)))
          begin -= encoded_size(character_before(all, begin));
        add(begin, left.end);
        left.end = strip(all.substr(0, begin), side).end;
      } else {
        std::size_t end = left.begin;
        while (end < left.end && !is_python_space(character_at(all, end)))
          end += character_size(all[end]);
        add(left.begin, end);
        left.begin = end + strip(all.substr(end), side).begin;
      }
    }
    return result(from_right);
  }

 private:
  bool full() const { return most_ >= 0 && static_cast<std::int64_t>(parts_.size()) >= most_; }
  void add(std::size_t begin, std::size_t end) {
    run_.step();
    parts_.push_back(run_.text(text_.part(begin, end)));
  }
  Value result(bool from_right) {
    if (from_right) std::reverse(parts_.begin(), parts_.end());
    return run_.list(std::move(parts_));
  }

  Run& run_;
  const TracedText& text_;
  const std::int64_t most_;
  std::vector<Value> parts_;
};

template <bool FromRight>
Value split(Run& run, const Value& subject, const CallArguments& arguments) {
  const std::int64_t most = arguments.has(1) ? integer_argument(run, arguments[1], "maxsplit") : -1;
  Splitter splitter(run, self(subject), most);
  if (!arguments.has(0) || is<None>(arguments[0])) return splitter.at_spaces(FromRight);
  const std::string& separator = text_argument(run, arguments[0], "sep").text();
  if (separator.empty()) run.fail("'sep' must not be empty");
  return splitter.at(separator, FromRight);
}

Value split_lines(Run& run, const Value& subject, const CallArguments& arguments) {
  if (arguments.has(0) && truth(arguments[0]))
    run.fail("'splitlines' does not support the argument 'keepends'");
  std::vector<Value> lines;
  for (TracedText& line : lines_of(run, self(subject)))
    lines.emplace_back(std::make_shared<const TracedText>(std::move(line)));
  return run.list(std::move(lines));
}

/// The part text[start:end] of a string, to which find() and similar methods are restricted.
struct Window {
  std::string_view text;
  std::size_t begin = 0;  // byte offset in the whole text
  bool inside = true;     // false if `start` is beyond the end
};
Window window(Run& run, const TracedText& text, const CallArguments& arguments) {
  const std::string_view all = text.text();
  if (!arguments.has(1) && !arguments.has(2)) return {all};
  run.pass(Pass::decode, all.size());
  const auto size = static_cast<std::int64_t>(count_characters(all));
  const auto bound = [&](std::size_t i, std::string_view what, std::int64_t missing) {
    if (!arguments.has(i) || is<None>(arguments[i])) return missing;
    const std::int64_t at = integer_argument(run, arguments[i], what);
    return at < -size ? 0 : at < 0 ? at + size : at;
  };
  const std::int64_t start = bound(1, "start", 0), end = std::min(bound(2, "end", size), size);
  if (start > size || start > end) return {{}, 0, false};
  const std::size_t begin = byte_of(all, static_cast<std::size_t>(start));
  return {all.substr(begin, byte_of(all, static_cast<std::size_t>(end)) - begin), begin};
}

template <bool AtEnd>
Value has_end(Run& run, const Value& subject, const CallArguments& arguments) {
  const Window found = window(run, self(subject), arguments);
  const auto fits = [&](const Value& wanted) {
    const std::string& text = text_argument(run, wanted, AtEnd ? "suffix" : "prefix").text();
    run.pass(Pass::compare, text.size());
    return found.inside && (AtEnd ? found.text.ends_with(text) : found.text.starts_with(text));
  };
  const Sequence* several = as_sequence(arguments[0]);
  if (several == nullptr || several->kind != Sequence::Kind::tuple) return fits(arguments[0]);
  return std::any_of(several->items.begin(), several->items.end(), fits);
}

template <bool FromRight>
Value find(Run& run, const Value& subject, const CallArguments& arguments) {
  const TracedText& text = self(subject);
  const Window looked_at = window(run, text, arguments);
  const std::string& wanted = text_argument(run, arguments[0], "sub").text();
  if (!looked_at.inside) return std::int64_t{-1};
  const TextSearch search(run, wanted,
                          FromRight ? TextSearch::From::right : TextSearch::From::left);
  const std::size_t at = search.in(looked_at.text);
  if (at == std::string_view::npos) return std::int64_t{-1};
  run.pass(Pass::search, looked_at.begin + at);
  return static_cast<std::int64_t>(
      count_characters(std::string_view(text.text()).substr(0, looked_at.begin + at)));
}

Value count(Run& run, const Value& subject, const CallArguments& arguments) {
  const Window looked_at = window(run, self(subject), arguments);
  const std::string& wanted = text_argument(run, arguments[0], "sub").text();
  if (!looked_at.inside) return std::int64_t{0};
  if (wanted.empty()) {
    run.pass(Pass::search, looked_at.text.size());
    return static_cast<std::int64_t>(count_characters(looked_at.text)) + 1;
  }
  const TextSearch search(run, wanted);
  std::string_view rest = looked_at.text;
  std::int64_t number = 0;
  for (std::size_t at = search.in(rest); at != std::string_view::npos; at = search.in(rest)) {
    rest.remove_prefix(at + wanted.size());
    ++number;
  }
  return number;
}

Value replace_all(Run& run, const Value& subject, const CallArguments& arguments) {
  return replaced(run, self(subject), text_argument(run, arguments[0], "old"),
                  text_argument(run, arguments[1], "new"),
                  arguments.has(2) ? integer_argument(run, arguments[2], "count") : -1);
}

Value join_items(Run& run, const Value& subject, const CallArguments& arguments) {
  require_defined(run, arguments[0]);
  return joined_texts(run, items_of(run, arguments[0]), self(subject), true);
}

template <bool AtEnd>
Value without(Run& run, const Value& subject, const CallArguments& arguments) {
  const TracedText& text = self(subject);
  const std::string& end = text_argument(run, arguments[0], AtEnd ? "suffix" : "prefix").text();
  run.pass(Pass::compare, end.size());
  const bool has = AtEnd ? text.text().ends_with(end) : text.text().starts_with(end);
  if (!has) return subject;
  return run.text(AtEnd ? text.part(0, text.size() - end.size())
                        : text.part(end.size(), text.size()));
}

enum class Parts : std::uint8_t { keys, values, items };

template <Parts Wanted>
Value view(Run& run, const Value& subject, const CallArguments&) {
  std::vector<Value> parts;
  for (const auto& [key, value] : as_mapping(subject)->entries) {
    run.step();
    parts.push_back(Wanted == Parts::keys     ? Value(key)
                    : Wanted == Parts::values ? value
                                              : run.sequence(Sequence::Kind::tuple, {key, value}));
  }
  return run.sequence(Sequence::Kind::view, std::move(parts));
}

Value get(Run& run, const Value& subject, const CallArguments& arguments) {
  const Mapping& mapping = *as_mapping(subject);
  const TracedText* key = as_text(arguments[0]);
  const Value* found = key == nullptr ? nullptr : run.find(mapping, key->text());
  if (found != nullptr) return *found;
  return arguments.has(1) ? arguments[1] : Value(None());
}

Value count_items(Run& run, const Value& subject, const CallArguments& arguments) {
  std::int64_t number = 0;
  for (const Value& item : as_sequence(subject)->items)
    number += equal(run, item, arguments[0]) ? 1 : 0;
  return number;
}

Value index_of(Run& run, const Value& subject, const CallArguments& arguments) {
  const std::vector<Value>& items = as_sequence(subject)->items;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (equal(run, items[i], arguments[0])) return static_cast<std::int64_t>(i);
  }
  run.fail("'index' did not find the item");
}

constexpr Builtin searches(std::string_view name, Builtin::Call call) {
  return {.name = name, .parameters = {"sub", "start", "end"}, .required = 1, .call = call};
}
constexpr Builtin strips(std::string_view name, Builtin::Call call) {
  return {.name = name, .parameters = {"chars"}, .call = call};
}

}  // namespace

std::span<const Builtin> text_methods() {
  static constexpr Builtin kMethods[] = {
      {.name = "capitalize", .call = changed<capitalized>},
      searches("count", count),
      searches("endswith", has_end<true>),
      searches("find", find<false>),
      {.name = "join", .parameters = {"iterable"}, .required = 1, .call = join_items},
      {.name = "lower", .call = changed<lower>},
      strips("lstrip", stripped<Ends::left>),
      {.name = "removeprefix", .parameters = {"prefix"}, .required = 1, .call = without<false>},
      {.name = "removesuffix", .parameters = {"suffix"}, .required = 1, .call = without<true>},
      {.name = "replace",
       .parameters = {"old", "new", "count"},
       .required = 2,
       .call = replace_all},
      searches("rfind", find<true>),
      {.name = "rsplit", .parameters = {"sep", "maxsplit"}, .call = split<true>},
      strips("rstrip", stripped<Ends::right>),
      {.name = "split", .parameters = {"sep", "maxsplit"}, .call = split<false>},
      {.name = "splitlines", .parameters = {"keepends"}, .call = split_lines},
      searches("startswith", has_end<false>),
      strips("strip", stripped<Ends::both>),
      {.name = "title", .call = changed<title>},
      {.name = "upper", .call = changed<upper>},
  };
  return kMethods;
}

std::span<const Builtin> mapping_methods() {
  static constexpr Builtin kMethods[] = {
      {.name = "get", .parameters = {"key", "default"}, .required = 1, .call = get},
      {.name = "items", .call = view<Parts::items>},
      {.name = "keys", .call = view<Parts::keys>},
      {.name = "values", .call = view<Parts::values>},
  };
  return kMethods;
}

std::span<const Builtin> sequence_methods() {
  static constexpr Builtin kMethods[] = {
      {.name = "count", .parameters = {"value"}, .required = 1, .call = count_items},
      {.name = "index", .parameters = {"value"}, .required = 1, .call = index_of},
  };
  return kMethods;
}

}  // namespace weft::chat
