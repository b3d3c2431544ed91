// The parts of JSON texts that schemas share. Internal.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "weft/models/generate/structured/grammar.h"

namespace weft::structured {

/// Rules for JSON without a schema. Each is built when it is first used.
///
/// All texts are bounded between two values: white space is nothing, one space, or one line break
/// with up to 64 spaces or tabs; a number has at most 18 digits before the point, 17 after it and 2
/// in the exponent, so that it always is a finite double.
class JsonRules {
 public:
  explicit JsonRules(GrammarBuilder& grammar) : grammar_(grammar) {}

  std::int32_t space();
  std::int32_t string();
  std::int32_t number();
  std::int32_t integer();
  std::int32_t boolean();
  std::int32_t null();
  std::int32_t value();
  std::int32_t object();
  std::int32_t array();

  /// Emits a string of min to max code points; a negative maximum means no limit.
  std::int32_t string(std::int32_t from, std::int64_t min, std::int64_t max);
  /// Emits a name, which is given as a JSON string, or any name that is not one of `others` and has
  /// no escapes; then a colon and white space.
  std::int32_t name(std::int32_t from, std::string_view json_name);
  std::int32_t other_name(std::int32_t from, std::vector<std::string> others);
  /// Emits a byte and white space.
  std::int32_t byte_and_space(std::int32_t from, char byte);
  /// Emits white space and a byte that lead to the state `to`.
  void space_and_byte(std::int32_t from, char byte, std::int32_t to);
  /// Emits min to max items, which are calls of a rule, in brackets; a negative maximum
  /// means no limit.
  std::int32_t array(std::int32_t from, std::int32_t item, std::int64_t min, std::int64_t max);

 private:
  std::int32_t string_character(std::int32_t from);
  /// Returns a rule, and calls emit(start) for its body if it is new.
  template <class Emit>
  std::int32_t rule(std::optional<std::int32_t>& known, Emit emit);

  GrammarBuilder& grammar_;
  std::optional<std::int32_t> space_, string_, character_, number_, integer_, boolean_, null_,
      value_, object_, array_;
};

}  // namespace weft::structured
