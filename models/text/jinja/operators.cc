#include "weft/models/text/jinja/operators.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "weft/models/text/jinja/text_search.h"

namespace weft::chat {
namespace {

/// Returns the value as an integer, or std::nullopt if it is neither an integer nor a boolean.
std::optional<std::int64_t> as_integer(const Value& value) {
  if (const auto* flag = as<bool>(value)) return *flag ? 1 : 0;
  if (const auto* number = as<std::int64_t>(value)) return *number;
  return std::nullopt;
}
std::optional<double> as_float(const Value& value) {
  if (const auto* number = as<double>(value)) return *number;
  if (const auto number = as_integer(value)) return static_cast<double>(*number);
  return std::nullopt;
}

int order(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return 2;
  return a < b ? -1 : a > b ? 1 : 0;
}

[[noreturn]] void fail_operands(const Run& run, std::string_view operation, const Value& a,
                                const Value& b) {
  require_defined(run, a);
  require_defined(run, b);
  run.fail(fmt::format("'{}' cannot be applied to {} and {}", operation, kind_of(a), kind_of(b)));
}

[[noreturn]] void fail_overflow(const Run& run, std::string_view operation) {
  run.fail(fmt::format("the result of '{}' exceeds 64 bits", operation));
}

Value integers(const Run& run, Arithmetic operation, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  bool overflows = false;
  switch (operation) {
    case Arithmetic::add: overflows = __builtin_add_overflow(a, b, &result); break;
    case Arithmetic::subtract: overflows = __builtin_sub_overflow(a, b, &result); break;
    case Arithmetic::multiply: overflows = __builtin_mul_overflow(a, b, &result); break;
    default:
      if (b == 0) run.fail(fmt::format("division by zero in '{}'", symbol(operation)));
      if (operation == Arithmetic::divide) return static_cast<double>(a) / static_cast<double>(b);
      overflows = a == std::numeric_limits<std::int64_t>::min() && b == -1;
      if (overflows) break;
      result = operation == Arithmetic::modulo ? a % b : a / b;
      // Python rounds the quotient down, and the remainder has the sign of the divisor.
      if (a % b != 0 && (a < 0) != (b < 0)) result += operation == Arithmetic::modulo ? b : -1;
  }
  if (overflows) fail_overflow(run, symbol(operation));
  return result;
}

Value floats(const Run& run, Arithmetic operation, double a, double b) {
  switch (operation) {
    case Arithmetic::add: return a + b;
    case Arithmetic::subtract: return a - b;
    case Arithmetic::multiply: return a * b;
    default: break;
  }
  if (b == 0) run.fail(fmt::format("division by zero in '{}'", symbol(operation)));
  if (operation == Arithmetic::divide) return a / b;
  double rest = std::fmod(a, b);
  if (rest == 0) {
    rest = std::copysign(0.0, b);
  } else if ((b < 0) != (rest < 0)) {
    rest += b;
  }
  if (operation == Arithmetic::modulo) return rest;
  const double quotient = (a - rest) / b;
  if (quotient == 0) return std::copysign(0.0, a / b);
  const double low = std::floor(quotient);
  return quotient - low > 0.5 ? low + 1 : low;
}

/// Returns a string or a list repeated `count` times.
Value repeated(Run& run, const Value& value, std::int64_t count) {
  const auto times = static_cast<std::size_t>(std::max<std::int64_t>(count, 0));
  if (const TracedText* text = as_text(value)) {
    if (text->empty() || times == 0) return text_value("");
    run.step(times);
    std::size_t bytes = 0;
    const bool too_many = __builtin_mul_overflow(times, text->footprint(), &bytes);
    run.make_bytes(too_many ? std::numeric_limits<std::size_t>::max() : bytes);
    TracedText result;
    for (std::size_t i = 0; i < times; ++i) result.append(*text);
    return std::make_shared<const TracedText>(std::move(result));
  }
  const Sequence& sequence = *as_sequence(value);
  std::vector<Value> items;
  if (!sequence.items.empty()) {
    for (std::size_t i = 0; i < times; ++i) {
      run.step(sequence.items.size());
      items.insert(items.end(), sequence.items.begin(), sequence.items.end());
    }
  }
  return run.sequence(sequence.kind, std::move(items));
}

bool is_listed(const Value& value) {
  const Sequence* sequence = as_sequence(value);
  return sequence != nullptr &&
         (sequence->kind == Sequence::Kind::list || sequence->kind == Sequence::Kind::tuple);
}

std::optional<Value> joined_values(Run& run, const Value& a, const Value& b) {
  const TracedText* left = as_text(a);
  const TracedText* right = as_text(b);
  if (left != nullptr && right != nullptr) {
    TracedText result = *left;
    result.append(*right);
    return run.text(std::move(result));
  }
  if (is_listed(a) && is_listed(b) && as_sequence(a)->kind == as_sequence(b)->kind) {
    std::vector<Value> items = as_sequence(a)->items;
    const std::vector<Value>& more = as_sequence(b)->items;
    run.step(items.size() + more.size());
    items.insert(items.end(), more.begin(), more.end());
    return run.sequence(as_sequence(a)->kind, std::move(items));
  }
  return std::nullopt;
}

bool equal_items(Run& run, const std::vector<Value>& a, const std::vector<Value>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!equal(run, a[i], b[i])) return false;
  }
  return true;
}

bool equal_sequences(Run& run, const Sequence& a, const Sequence& b) {
  using Kind = Sequence::Kind;
  if (&a == &b) return true;
  if (a.kind != b.kind || a.kind == Kind::iterator || a.kind == Kind::view) return false;
  return equal_items(run, a.items, b.items);
}

bool equal_mappings(Run& run, const Mapping& a, const Mapping& b) {
  if (a.entries.size() != b.entries.size()) return false;
  for (const auto& [key, value] : a.entries) {
    const Value* other = run.find(b, key->text());
    if (other == nullptr || !equal(run, value, *other)) return false;
  }
  return true;
}

}  // namespace

void require_defined(const Run& run, const Value& value) {
  if (const auto* unknown = as<Undefined>(value)) run.fail(*unknown->what);
}

std::string_view symbol(Arithmetic operation) {
  constexpr std::string_view kSymbols[] = {"+", "-", "*", "/", "//", "%"};
  return kSymbols[static_cast<std::size_t>(operation)];
}

bool truth(const Value& value) {
  if (const auto* flag = as<bool>(value)) return *flag;
  if (const auto* number = as<std::int64_t>(value)) return *number != 0;
  if (const auto* number = as<double>(value)) return *number != 0;
  if (const TracedText* text = as_text(value)) return !text->empty();
  if (const Mapping* mapping = as_mapping(value)) return !mapping->entries.empty();
  if (const Sequence* sequence = as_sequence(value))
    return sequence->kind == Sequence::Kind::iterator || !sequence->items.empty();
  return is<Namespace*>(value) || is<const Builtin*>(value);
}

bool is_iterable(const Value& value) {
  return is<TextPtr>(value) || is<SequencePtr>(value) || is<MappingPtr>(value) ||
         is<Undefined>(value);
}

std::vector<Value> items_of(Run& run, const Value& value) {
  std::vector<Value> items;
  if (const TracedText* text = as_text(value)) {
    run.step(text->size());
    std::size_t at = 0;
    while (at < text->size()) {
      const std::size_t size = character_size(text->text()[at]);
      items.push_back(run.text(text->part(at, at + size)));
      at += size;
    }
  } else if (const Sequence* sequence = as_sequence(value)) {
    run.step(sequence->items.size());
    const bool iterator = sequence->kind == Sequence::Kind::iterator;
    if (!iterator || !std::exchange(sequence->spent, true)) items = sequence->items;
  } else if (const Mapping* mapping = as_mapping(value)) {
    run.step(mapping->entries.size());
    for (const auto& entry : mapping->entries) items.emplace_back(entry.first);
  } else if (!is<Undefined>(value)) {
    run.fail(fmt::format("{} is not iterable", kind_of(value)));
  }
  return items;
}

std::int64_t length_of(Run& run, const Value& value) {
  const auto number = [](std::size_t size) { return static_cast<std::int64_t>(size); };
  if (const TracedText* text = as_text(value)) {
    run.pass(Pass::search, text->size());
    return number(count_characters(text->text()));
  }
  if (const Mapping* mapping = as_mapping(value)) return number(mapping->entries.size());
  if (const Sequence* sequence = as_sequence(value);
      sequence != nullptr && sequence->kind != Sequence::Kind::iterator)
    return number(sequence->items.size());
  if (is<Undefined>(value)) return 0;
  run.fail(fmt::format("{} has no length", kind_of(value)));
}

bool equal(Run& run, const Value& a, const Value& b) {
  run.step();
  const auto left_integer = as_integer(a), right_integer = as_integer(b);
  if (left_integer && right_integer) return *left_integer == *right_integer;
  const auto left_float = as_float(a), right_float = as_float(b);
  if (left_float || right_float) return left_float && right_float && *left_float == *right_float;
  if (a.index() != b.index()) return false;
  if (const TracedText* text = as_text(a)) {
    const std::string& other = as_text(b)->text();
    run.pass(Pass::compare, std::min(text->size(), other.size()));
    return text->text() == other;
  }
  if (const Sequence* sequence = as_sequence(a))
    return equal_sequences(run, *sequence, *as_sequence(b));
  if (const Mapping* mapping = as_mapping(a)) return equal_mappings(run, *mapping, *as_mapping(b));
  if (const auto* space = as<Namespace*>(a)) return *space == *as<Namespace*>(b);
  if (const auto* function = as<const Builtin*>(a)) return *function == *as<const Builtin*>(b);
  return true;  // none, undefined
}

int compare(Run& run, const Value& a, const Value& b, std::string_view operation) {
  run.step();
  const auto left_integer = as_integer(a), right_integer = as_integer(b);
  if (left_integer && right_integer)
    return *left_integer < *right_integer ? -1 : *left_integer > *right_integer ? 1 : 0;
  const auto left_float = as_float(a), right_float = as_float(b);
  if (left_float && right_float) return order(*left_float, *right_float);
  const TracedText* left_text = as_text(a);
  const TracedText* right_text = as_text(b);
  if (left_text != nullptr && right_text != nullptr) {
    run.pass(Pass::compare, std::min(left_text->size(), right_text->size()));
    // Comparing UTF-8 by bytes gives the same order as comparing by code points.
    const int order = left_text->text().compare(right_text->text());
    return order < 0 ? -1 : order > 0 ? 1 : 0;
  }
  if (is_listed(a) && is_listed(b) && as_sequence(a)->kind == as_sequence(b)->kind) {
    const std::vector<Value>& left = as_sequence(a)->items;
    const std::vector<Value>& right = as_sequence(b)->items;
    for (std::size_t i = 0; i < std::min(left.size(), right.size()); ++i) {
      if (!equal(run, left[i], right[i])) return compare(run, left[i], right[i], operation);
    }
    return left.size() < right.size() ? -1 : left.size() > right.size() ? 1 : 0;
  }
  fail_operands(run, operation, a, b);
}

bool contains(Run& run, const Value& container, const Value& item) {
  if (const TracedText* text = as_text(container)) {
    const TracedText* part = as_text(item);
    if (part == nullptr) fail_operands(run, "in", item, container);
    return TextSearch(run, part->text()).in(text->text()) != std::string_view::npos;
  }
  if (const Mapping* mapping = as_mapping(container)) {
    const TracedText* key = as_text(item);
    return key != nullptr && run.find(*mapping, key->text()) != nullptr;
  }
  for (const Value& candidate : items_of(run, container)) {
    if (equal(run, candidate, item)) return true;
  }
  return false;
}

Value calculate(Run& run, Arithmetic operation, const Value& a, const Value& b) {
  run.step();
  const auto left_integer = as_integer(a), right_integer = as_integer(b);
  if (left_integer && right_integer) return integers(run, operation, *left_integer, *right_integer);
  const auto left_float = as_float(a), right_float = as_float(b);
  if (left_float && right_float) return floats(run, operation, *left_float, *right_float);
  if (operation == Arithmetic::add) {
    if (auto joined = joined_values(run, a, b)) return *std::move(joined);
  }
  if (operation == Arithmetic::multiply) {
    const auto repeatable = [](const Value& value) {
      return is<TextPtr>(value) || is_listed(value);
    };
    if (repeatable(a) && right_integer) return repeated(run, a, *right_integer);
    if (repeatable(b) && left_integer) return repeated(run, b, *left_integer);
  }
  if (operation == Arithmetic::modulo && is<TextPtr>(a))
    run.fail("'%' cannot format strings in chat templates; use '~' to concatenate strings");
  fail_operands(run, symbol(operation), a, b);
}

Value signed_value(Run& run, const Value& value, bool negative) {
  if (const auto number = as_integer(value)) {
    return negative ? integers(run, Arithmetic::subtract, 0, *number) : Value(*number);
  }
  if (const auto* number = as<double>(value)) return negative ? -*number : *number;
  require_defined(run, value);
  run.fail(fmt::format("'{}' cannot be applied to {}", negative ? "-" : "+", kind_of(value)));
}

}  // namespace weft::chat
