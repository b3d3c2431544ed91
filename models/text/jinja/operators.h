// Operators of expressions. All of them throw DataError for operands for which Python raises an
// error.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "weft/models/text/jinja/run.h"
#include "weft/models/text/jinja/value.h"

namespace weft::chat {

bool truth(const Value& value);
/// Returns the items of a sequence, the keys of a dict, or the characters of a string. Consumes the
/// value if it is an iterator. Throws DataError if the value is not iterable.
std::vector<Value> items_of(Run& run, const Value& value);
/// Returns true if items_of() accepts the value.
bool is_iterable(const Value& value);
/// Returns len(value). Throws DataError if the value has no length.
std::int64_t length_of(Run& run, const Value& value);

bool equal(Run& run, const Value& a, const Value& b);
/// Returns a negative value if a < b, 0 if they are equal, 1 if a > b, and 2 if one of them is NaN.
/// Throws DataError if the values cannot be ordered.
int compare(Run& run, const Value& a, const Value& b, std::string_view operation);
/// Returns `item in container`.
bool contains(Run& run, const Value& container, const Value& item);

enum class Arithmetic : std::uint8_t { add, subtract, multiply, divide, floor_divide, modulo };
std::string_view symbol(Arithmetic operation);
Value calculate(Run& run, Arithmetic operation, const Value& a, const Value& b);
/// Returns -value or +value.
Value signed_value(Run& run, const Value& value, bool negative);

/// Throws DataError if `value` is undefined.
void require_defined(const Run& run, const Value& value);

}  // namespace weft::chat
