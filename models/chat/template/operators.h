// Operators of expressions. All throw DataError where Python raises an error.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "weft/models/chat/template/run.h"
#include "weft/models/chat/template/value.h"

namespace weft::chat {

bool truth(const Value& value);
/// Items, keys of a dict, characters of a text; an iterator is spent afterwards. Throws DataError
/// for what has none.
std::vector<Value> items_of(Run& run, const Value& value);
/// True where items_of() gives some.
bool is_iterable(const Value& value);
/// len(). Throws DataError for what has none.
std::int64_t length_of(Run& run, const Value& value);

bool equal(Run& run, const Value& a, const Value& b);
/// Below 0 where a < b, 0 where they are equal, 2 for a NaN. Throws DataError for what has no
/// order.
int compare(Run& run, const Value& a, const Value& b, std::string_view operation);
/// `item in container`.
bool contains(Run& run, const Value& container, const Value& item);

enum class Arithmetic : std::uint8_t { add, subtract, multiply, divide, floor_divide, modulo };
std::string_view symbol(Arithmetic operation);
Value calculate(Run& run, Arithmetic operation, const Value& a, const Value& b);
/// -value, +value.
Value signed_value(Run& run, const Value& value, bool negative);

/// Throws DataError for an undefined value.
void require_defined(const Run& run, const Value& value);

}  // namespace weft::chat
