// Numbers within bounds. Internal.
#pragma once

#include <cstdint>
#include <optional>

#include "weft/models/generate/structured/grammar.h"

namespace weft::structured {

struct NumberBound {
  double value;
  bool is_exclusive;
};

/// The conditions for the value of a number.
struct NumberLimits {
  std::optional<NumberBound> min, max;
  std::int64_t multiple = 1;  // of integers
  int decimals = 17;          // of numbers: the most digits after the point
};

/// Emits the integers of at most 18 digits that satisfy `limits`.
std::int32_t emit_integer(GrammarBuilder& grammar, std::int32_t from, const NumberLimits& limits);
/// Emits the numbers of at most 18 digits before the point and `decimals` after it, without
/// exponents, that satisfy `limits`; `multiple` is ignored.
std::int32_t emit_number(GrammarBuilder& grammar, std::int32_t from, const NumberLimits& limits);

}  // namespace weft::structured
