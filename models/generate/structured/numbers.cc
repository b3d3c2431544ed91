#include "weft/models/generate/structured/numbers.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <string>
#include <tuple>

namespace weft::structured {
namespace {

constexpr int kMostDigits = 18;
constexpr std::int64_t kMost = 999'999'999'999'999'999;

std::int64_t power_of_ten(int exponent) {
  std::int64_t power = 1;
  for (int i = 0; i < exponent; ++i) power *= 10;
  return power;
}

/// Emits integers low .. high, both not negative, that are multiples of a number.
class Integers {
 public:
  Integers(GrammarBuilder& grammar, std::int64_t multiple, std::int32_t to)
      : grammar_(grammar), multiple_(multiple), to_(to) {}

  void emit(std::int32_t from, std::int64_t low, std::int64_t high) {
    for (int length = 1; length <= kMostDigits; ++length) {
      const std::int64_t least = length == 1 ? 0 : power_of_ten(length - 1);
      const std::int64_t a = std::max(low, least), b = std::min(high, power_of_ten(length) - 1);
      if (a > b) continue;
      low_ = std::to_string(a);
      high_ = std::to_string(b);
      tight_.clear();
      grammar_.empty(from, digits(0, true, true, 0));
    }
  }

 private:
  /// Returns the state before the digit `at`. While the digits so far are equal to those of a
  /// bound, the next digit must not cross it.
  std::int32_t digits(std::size_t at, bool at_low, bool at_high, std::int64_t rest) {
    const std::size_t left = low_.size() - at;
    // The states of free digits serve all lengths.
    std::int32_t& known = at_low || at_high
                              ? tight_.try_emplace({at, at_low, at_high, rest}, -1).first->second
                              : free_.try_emplace({left, rest}, -1).first->second;
    if (known >= 0) return known;
    const std::int32_t state = known = grammar_.add_state();
    if (left == 0) {
      if (rest == 0) grammar_.empty(state, to_);
      return state;
    }
    const char first = at_low ? low_[at] : '0', last = at_high ? high_[at] : '9';
    for (char digit = first; digit <= last; ++digit) {
      const std::int32_t next = digits(at + 1, at_low && digit == first, at_high && digit == last,
                                       (rest * 10 + (digit - '0')) % multiple_);
      grammar_.bytes(state, static_cast<std::uint8_t>(digit), static_cast<std::uint8_t>(digit),
                     next);
    }
    return state;
  }

  GrammarBuilder& grammar_;
  std::int64_t multiple_;
  std::int32_t to_;
  std::string low_, high_;
  std::map<std::tuple<std::size_t, bool, bool, std::int64_t>, std::int32_t> tight_;
  std::map<std::pair<std::size_t, std::int64_t>, std::int32_t> free_;
};

/// A bound that is not negative, in decimal digits.
struct Decimal {
  std::int64_t whole = 0;
  std::string fraction = {};
  bool is_exclusive = false;
};

Decimal decimal(double value, bool is_exclusive) {
  Decimal result{.is_exclusive = is_exclusive};
  if (value > static_cast<double>(kMost)) return {kMost, std::string(17, '9'), false};
  char text[400];
  const std::to_chars_result end =
      std::to_chars(text, text + sizeof text, value, std::chars_format::fixed);
  const std::string_view all(text, static_cast<std::size_t>(end.ptr - text));
  const std::size_t point = std::min(all.find('.'), all.size());
  std::from_chars(all.data(), all.data() + point, result.whole);
  if (point < all.size()) result.fraction = all.substr(point + 1);
  return result;
}

/// Emits the digits after the point of numbers whose whole part is that of a bound or of both.
class Fractions {
 public:
  Fractions(GrammarBuilder& grammar, int decimals, std::int32_t to)
      : grammar_(grammar), decimals_(static_cast<std::size_t>(decimals)), to_(to) {}

  /// Emits nothing, or a point and digits. A bound that is null does not apply.
  void emit(std::int32_t from, const Decimal* low, const Decimal* high) {
    low_ = low;
    high_ = high;
    known_.clear();
    if (may_end(0, low != nullptr, high != nullptr)) grammar_.empty(from, to_);
    if (decimals_ == 0) return;
    const std::int32_t point = grammar_.text(from, ".");
    add_digits(point, 0, low != nullptr, high != nullptr);
  }

 private:
  static bool is_zero_from(const Decimal& bound, std::size_t at) {
    return bound.fraction.find_first_not_of('0', std::min(at, bound.fraction.size())) ==
           std::string::npos;
  }
  static char digit(const Decimal& bound, std::size_t at) {
    return at < bound.fraction.size() ? bound.fraction[at] : '0';
  }

  /// Returns true if zeros may follow the first `at` digits, which equal those of the bounds.
  bool may_end(std::size_t at, bool at_low, bool at_high) const {
    if (at_low && (low_->is_exclusive || !is_zero_from(*low_, at))) return false;
    return !(at_high && high_->is_exclusive && is_zero_from(*high_, at));
  }

  void add_digits(std::int32_t state, std::size_t at, bool at_low, bool at_high) {
    if (at == decimals_) return;
    const char first = at_low ? digit(*low_, at) : '0', last = at_high ? digit(*high_, at) : '9';
    for (char c = first; c <= last; ++c) {
      const bool next_low = at_low && c == first, next_high = at_high && c == last;
      const auto [found, is_new] = known_.try_emplace({at + 1, next_low, next_high}, -1);
      if (is_new) {
        const std::int32_t next = found->second = grammar_.add_state();
        if (may_end(at + 1, next_low, next_high)) grammar_.empty(next, to_);
        add_digits(next, at + 1, next_low, next_high);
      }
      grammar_.bytes(state, static_cast<std::uint8_t>(c), static_cast<std::uint8_t>(c),
                     known_.at({at + 1, next_low, next_high}));
    }
  }

  GrammarBuilder& grammar_;
  std::size_t decimals_;
  std::int32_t to_;
  const Decimal* low_ = nullptr;
  const Decimal* high_ = nullptr;
  std::map<std::tuple<std::size_t, bool, bool>, std::int32_t> known_;
};

/// Emits the numbers low .. high, both not negative.
void emit_magnitude(GrammarBuilder& grammar, std::int32_t from, const Decimal& low,
                    const Decimal& high, int decimals, std::int32_t to) {
  Fractions fractions(grammar, decimals, to);
  const auto whole = [&](std::int64_t a, std::int64_t b) {
    const std::int32_t after = grammar.add_state();
    Integers(grammar, 1, after).emit(from, a, b);
    return after;
  };
  if (low.whole == high.whole) {
    fractions.emit(whole(low.whole, low.whole), &low, &high);
    return;
  }
  if (low.whole > high.whole) return;
  fractions.emit(whole(low.whole, low.whole), &low, nullptr);
  if (low.whole + 1 < high.whole)
    fractions.emit(whole(low.whole + 1, high.whole - 1), nullptr, nullptr);
  fractions.emit(whole(high.whole, high.whole), nullptr, &high);
}

}  // namespace

std::int32_t emit_integer(GrammarBuilder& grammar, std::int32_t from, const NumberLimits& limits) {
  const auto bounded = [](double value) {
    return value >= static_cast<double>(kMost)    ? kMost
           : value <= -static_cast<double>(kMost) ? -kMost
                                                  : static_cast<std::int64_t>(value);
  };
  std::int64_t low = -kMost, high = kMost;
  if (limits.min) {
    const auto& [value, is_exclusive] = *limits.min;
    low = bounded(is_exclusive ? std::floor(value) + 1 : std::ceil(value));
  }
  if (limits.max) {
    const auto& [value, is_exclusive] = *limits.max;
    high = bounded(is_exclusive ? std::ceil(value) - 1 : std::floor(value));
  }
  const std::int32_t to = grammar.add_state();
  Integers integers(grammar, limits.multiple, to);
  if (high >= 0) integers.emit(from, std::max<std::int64_t>(low, 0), high);
  if (low < 0) integers.emit(grammar.text(from, "-"), std::max<std::int64_t>(-high, 1), -low);
  return to;
}

std::int32_t emit_number(GrammarBuilder& grammar, std::int32_t from, const NumberLimits& limits) {
  const std::int32_t to = grammar.add_state();
  const NumberBound none_below{-1e30, false}, none_above{1e30, false};
  const NumberBound low = limits.min.value_or(none_below), high = limits.max.value_or(none_above);
  if (high.value >= 0) {
    const Decimal least = low.value >= 0 ? decimal(low.value, low.is_exclusive) : Decimal();
    emit_magnitude(grammar, from, least, decimal(high.value, high.is_exclusive), limits.decimals,
                   to);
  }
  if (low.value < 0) {
    // "-0" is zero: it is left out if zero is excluded.
    const Decimal least = high.value < 0
                              ? decimal(-high.value, high.is_exclusive)
                              : Decimal{.is_exclusive = high.value == 0 && high.is_exclusive};
    emit_magnitude(grammar, grammar.text(from, "-"), least, decimal(-low.value, low.is_exclusive),
                   limits.decimals, to);
  }
  return to;
}

}  // namespace weft::structured
