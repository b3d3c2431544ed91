// The tables of the filters, tests, methods and functions that templates support.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/models/chat/template/run.h"
#include "weft/models/chat/template/value.h"

namespace weft::chat {

/// The arguments of a call, without the subject before "|" or ".".
struct CallArguments {
  static constexpr std::size_t kMaxParameters = 4;
  std::array<std::optional<Value>, kMaxParameters> slots;  // in the order of Builtin::parameters
  std::vector<Value> rest;  // further positional arguments, if accepted
  std::vector<std::pair<std::string, Value>> named;

  bool has(std::size_t i) const { return slots[i].has_value(); }
  const Value& operator[](std::size_t i) const { return *slots[i]; }
};

/// A filter, a test, a method or a function.
struct Builtin {
  using Call = Value (*)(Run& run, const Value& subject, const CallArguments& arguments);

  std::string_view name;
  std::array<std::string_view, CallArguments::kMaxParameters> parameters =
      {};  // padded with empty names
  std::size_t required = 0;
  /// True if it accepts positional arguments beyond the parameters.
  bool takes_rest = false;
  /// True if it accepts named arguments beyond the parameters.
  bool takes_named = false;
  Call call = nullptr;

  std::size_t count() const;
};

/// Returns why the arguments do not match the parameters; empty if they do.
std::string argument_mismatch(const Builtin& builtin, std::size_t positional,
                              std::span<const std::string> names);
/// Calls a builtin. Throws DataError if the arguments do not match the parameters.
Value call(Run& run, const Builtin& builtin, const Value& subject, std::vector<Value> positional,
           std::vector<std::pair<std::string, Value>> named = {});

// These return null if there is no such builtin.
const Builtin* find_filter(std::string_view name);
const Builtin* find_test(std::string_view name);
const Builtin* find_function(std::string_view name);
/// Looks up a method of the value's type.
const Builtin* find_method(const Value& value, std::string_view name);
/// Returns true if any type has a method with this name.
bool is_method(std::string_view name);

/// Returns the entry of a table with this name; null if there is none.
const Builtin* find_in(std::span<const Builtin> table, std::string_view name);
std::span<const Builtin> text_filters();
std::span<const Builtin> sequence_filters();
std::span<const Builtin> text_methods();
std::span<const Builtin> mapping_methods();
std::span<const Builtin> sequence_methods();

// Conversions of arguments. All throw DataError that names the parameter.

const TracedText& text_argument(Run& run, const Value& value, std::string_view what);
std::int64_t integer_argument(Run& run, const Value& value, std::string_view what);

}  // namespace weft::chat
