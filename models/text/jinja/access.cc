#include "weft/models/text/jinja/access.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "weft/core/excerpt.h"
#include "weft/models/text/jinja/builtin.h"
#include "weft/models/text/jinja/operators.h"
#include "weft/models/text/jinja/print.h"
#include "weft/models/text/jinja/python_characters.h"

namespace weft::chat {
namespace {

/// Returns the name of a value's type as used in Jinja's messages.
std::string_view type_name(const Value& value) {
  if (is<None>(value)) return "None";
  if (is<bool>(value)) return "bool object";
  if (is<std::int64_t>(value)) return "int object";
  if (is<double>(value)) return "float object";
  if (is<TextPtr>(value)) return "str object";
  if (is<MappingPtr>(value)) return "dict object";
  const Sequence* sequence = as_sequence(value);
  if (sequence != nullptr && sequence->kind == Sequence::Kind::list) return "list object";
  if (sequence != nullptr && sequence->kind == Sequence::Kind::tuple) return "tuple object";
  return kind_of(value);
}

Value missing(const Value& value, std::string_view name) {
  return undefined(fmt::format("'{}' has no attribute '{}'", type_name(value), excerpt(name)));
}

/// The bounds of a slice of `size` items, with the semantics of Python.
struct Range {
  std::int64_t begin, end, step;
};

std::int64_t slice_number(Run& run, const Value& value) {
  if (const auto* number = as<std::int64_t>(value)) return *number;
  if (const auto* flag = as<bool>(value)) return *flag ? 1 : 0;
  require_defined(run, value);
  run.fail(fmt::format("slice indices must be integers, not {}", kind_of(value)));
}

Range slice_range(Run& run, std::int64_t size, const Value& begin, const Value& end,
                  const Value& step) {
  Range range = {0, size, 1};
  if (!is<None>(step)) range.step = slice_number(run, step);
  if (range.step == 0) run.fail("the step of a slice must not be 0");
  range.step = std::max(range.step, -std::numeric_limits<std::int64_t>::max());
  const bool backwards = range.step < 0;
  const std::int64_t low = backwards ? -1 : 0, high = backwards ? size - 1 : size;
  const auto bound = [&](const Value& value, std::int64_t missing_value) {
    if (is<None>(value)) return missing_value;
    std::int64_t at = slice_number(run, value);
    if (at < 0) at = at < -size ? low : at + size;
    return std::clamp(at, low, std::max(low, high));
  };
  range.begin = bound(begin, backwards ? high : low);
  range.end = bound(end, backwards ? low : high);
  return range;
}

/// Calls visit(i) for each index of the range.
template <class Visit>
void for_each_index(const Range& range, const Visit& visit) {
  // Compute the number of iterations first, because incrementing past the last index could
  // overflow.
  const std::int64_t way = range.step > 0 ? range.end - range.begin : range.begin - range.end;
  if (way <= 0) return;
  const std::int64_t stride = range.step > 0 ? range.step : -range.step;
  const std::int64_t count = (way - 1) / stride + 1;
  for (std::int64_t i = 0; i < count; ++i)
    visit(static_cast<std::size_t>(range.begin + i * range.step));
}

Value text_slice(Run& run, const TracedText& text, const Value& begin, const Value& end,
                 const Value& step) {
  const auto size = static_cast<std::int64_t>(count_characters(text.text()));
  run.pass(Pass::search, text.size());
  const Range range = slice_range(run, size, begin, end, step);
  if (range.step == 1) {
    if (range.begin >= range.end) return text_value("");
    const std::size_t first = byte_of(text.text(), static_cast<std::size_t>(range.begin));
    const std::size_t bytes = byte_of(std::string_view(text.text()).substr(first),
                                      static_cast<std::size_t>(range.end - range.begin));
    return run.text(text.part(first, first + bytes));
  }
  std::vector<std::size_t> starts;  // start of each character
  run.pass(Pass::convert, text.size());
  for (std::size_t at = 0; at < text.size(); at += character_size(text.text()[at]))
    starts.push_back(at);
  TracedText result;
  for_each_index(range, [&](std::size_t i) {
    result.append(text, starts[i], starts[i] + character_size(text.text()[starts[i]]));
  });
  return run.text(std::move(result));
}

}  // namespace

Value attribute_of(Run& run, const Value& value, std::string_view name) {
  require_defined(run, value);
  run.step();
  if (const auto* space = as<Namespace*>(value)) {
    const Value* found = run.find((*space)->fields, name);
    return found != nullptr
               ? *found
               : undefined(fmt::format("the namespace has no attribute '{}'", excerpt(name)));
  }
  if (find_method(value, name) != nullptr)
    run.fail(fmt::format("'{}' is a method of {} and must be called", name, kind_of(value)));
  if (const Mapping* mapping = as_mapping(value)) {
    if (const Value* found = run.find(*mapping, name)) return *found;
  }
  return missing(value, name);
}

Value item_of(Run& run, const Value& value, const Value& key) {
  require_defined(run, value);
  run.step();
  const TracedText* name = as_text(key);
  if (const Mapping* mapping = as_mapping(value); mapping != nullptr && name != nullptr) {
    if (const Value* found = run.find(*mapping, name->text())) return *found;
  }
  if (name != nullptr) return attribute_of(run, value, name->text());
  const bool indexed = is<TextPtr>(value) || is<SequencePtr>(value);
  if (indexed && (is<std::int64_t>(key) || is<bool>(key))) {
    const std::int64_t index = slice_number(run, key);
    if (const Sequence* sequence = as_sequence(value)) {
      if (sequence->kind == Sequence::Kind::iterator || sequence->kind == Sequence::Kind::view)
        run.fail(fmt::format("{} cannot be indexed with an integer", kind_of(value)));
      const auto size = static_cast<std::int64_t>(sequence->items.size());
      const std::int64_t at = index < 0 ? index + size : index;
      if (at >= 0 && at < size) return sequence->items[static_cast<std::size_t>(at)];
    } else {
      const TracedText& text = *as_text(value);
      run.pass(Pass::search, text.size());
      const auto size = static_cast<std::int64_t>(count_characters(text.text()));
      const std::int64_t at = index < 0 ? index + size : index;
      if (at >= 0 && at < size) {
        const std::size_t byte = byte_of(text.text(), static_cast<std::size_t>(at));
        return run.text(text.part(byte, byte + character_size(text.text()[byte])));
      }
    }
  }
  if (const auto* unknown = as<Undefined>(key)) return *unknown;
  const std::string shown = is<std::int64_t>(key) || is<bool>(key) || is<None>(key)
                                ? printed(run, key)->text()
                                : std::string(kind_of(key));
  return undefined(fmt::format("{} has no element {}", type_name(value), shown));
}

Value slice_of(Run& run, const Value& value, const Value& begin, const Value& end,
               const Value& step) {
  require_defined(run, value);
  run.step();
  if (const TracedText* text = as_text(value)) return text_slice(run, *text, begin, end, step);
  const Sequence* sequence = as_sequence(value);
  if (sequence == nullptr || sequence->kind == Sequence::Kind::iterator ||
      sequence->kind == Sequence::Kind::view)
    run.fail(fmt::format("{} cannot be sliced", kind_of(value)));
  const Range range =
      slice_range(run, static_cast<std::int64_t>(sequence->items.size()), begin, end, step);
  std::vector<Value> items;
  run.step(sequence->items.size());
  for_each_index(range, [&](std::size_t i) { items.push_back(sequence->items[i]); });
  return run.sequence(sequence->kind, std::move(items));
}

Value path_of(Run& run, const Value& value, const Value& path) {
  const TracedText* name = as_text(path);
  if (name == nullptr) return item_of(run, value, path);
  Value found = value;
  std::string_view rest = name->text();
  while (true) {
    const std::size_t dot = rest.find('.');
    const std::string_view part = rest.substr(0, dot);
    run.pass(Pass::decode, part.size());
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), number);
    const bool is_number =
        error == std::errc() && end == part.data() + part.size() && part[0] != '-';
    found = item_of(run, found, is_number ? Value(number) : text_value(std::string(part)));
    if (dot == std::string_view::npos) return found;
    rest.remove_prefix(dot + 1);
  }
}

}  // namespace weft::chat
