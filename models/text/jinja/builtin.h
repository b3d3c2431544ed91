// Tables of the built-in filters, tests, methods and functions.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/models/text/jinja/run.h"
#include "weft/models/text/jinja/value.h"

namespace weft::chat {

/// The arguments of a call. They do not include the subject, which precedes "|" or ".".
struct CallArguments {
  static constexpr std::size_t kMaxParameters = 4;
  std::array<std::optional<Value>, kMaxParameters> slots;  // in the order of Builtin::parameters
  std::vector<Value> rest;  // further positional arguments, if the builtin accepts them
  std::vector<std::pair<std::string, Value>> named;

  bool has(std::size_t i) const { return slots[i].has_value(); }
  const Value& operator[](std::size_t i) const { return *slots[i]; }
};

/// A built-in filter, test, method or function.
struct Builtin {
  using Call = Value (*)(Run& run, const Value& subject, const CallArguments& arguments);

  std::string_view name;
  std::array<std::string_view, CallArguments::kMaxParameters> parameters =
      {};  // unused entries are empty
  std::size_t required = 0;
  /// True if the builtin accepts more positional arguments than it has parameters.
  bool takes_rest = false;
  /// True if the builtin accepts named arguments other than its parameters.
  bool takes_named = false;
  Call call = nullptr;

  std::size_t count() const;
};

/// Returns the reason why the arguments do not match the parameters, or an empty string if they do.
std::string argument_mismatch(const Builtin& builtin, std::size_t positional,
                              std::span<const std::string> names);
/// Calls `builtin`. Throws DataError if the arguments do not match the parameters.
Value call(Run& run, const Builtin& builtin, const Value& subject, std::vector<Value> positional,
           std::vector<std::pair<std::string, Value>> named = {});

// The following functions return null if there is no such builtin.
const Builtin* find_filter(std::string_view name);
const Builtin* find_test(std::string_view name);
const Builtin* find_function(std::string_view name);
/// Looks up a method by the type of `value`.
const Builtin* find_method(const Value& value, std::string_view name);
/// Returns true if any type has a method with this name.
bool is_method(std::string_view name);

/// Returns the entry of `table` with this name, or null if there is none.
const Builtin* find_in(std::span<const Builtin> table, std::string_view name);
std::span<const Builtin> value_tests();
std::span<const Builtin> functions();
std::span<const Builtin> text_filters();
std::span<const Builtin> sequence_filters();
std::span<const Builtin> text_methods();
std::span<const Builtin> mapping_methods();
std::span<const Builtin> sequence_methods();

// Conversions of arguments. They throw a DataError that names the parameter if the type is wrong.

const TracedText& text_argument(Run& run, const Value& value, std::string_view what);
std::int64_t integer_argument(Run& run, const Value& value, std::string_view what);

}  // namespace weft::chat
