// Filters, tests, methods and functions that templates know: one table of each.
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

/// What a call was given, beside what stands in front of "|" or ".".
struct CallArguments {
  static constexpr std::size_t kMost = 4;
  std::array<std::optional<Value>, kMost> slots;  // as the parameters of the Builtin
  std::vector<Value> rest;                        // where it takes more
  std::vector<std::pair<std::string, Value>> named;

  bool has(std::size_t i) const { return slots[i].has_value(); }
  const Value& operator[](std::size_t i) const { return *slots[i]; }
};

/// A filter, a test, a method or a function.
struct Builtin {
  using Call = Value (*)(Run& run, const Value& subject, const CallArguments& arguments);

  std::string_view name;
  std::array<std::string_view, CallArguments::kMost> parameters = {};  // empty behind the last
  std::size_t required = 0;
  bool takes_rest = false;   // arguments without names, beyond the parameters
  bool takes_named = false;  // any names, beyond the parameters
  Call call = nullptr;

  std::size_t count() const;
};

/// Why the call does not fit; empty where it does.
std::string misfit(const Builtin& builtin, std::size_t positional,
                   std::span<const std::string> names);
/// Throws DataError where the call does not fit.
Value call(Run& run, const Builtin& builtin, const Value& subject, std::vector<Value> positional,
           std::vector<std::pair<std::string, Value>> named = {});

// Null where there is none.
const Builtin* find_filter(std::string_view name);
const Builtin* find_test(std::string_view name);
const Builtin* find_function(std::string_view name);
/// Of the value's type.
const Builtin* find_method(const Value& value, std::string_view name);
/// True for a method of any type.
bool is_method(std::string_view name);

/// An entry of a table; null where there is none.
const Builtin* find_in(std::span<const Builtin> table, std::string_view name);
std::span<const Builtin> text_filters();
std::span<const Builtin> sequence_filters();
std::span<const Builtin> text_methods();
std::span<const Builtin> mapping_methods();
std::span<const Builtin> sequence_methods();

// What builtins read their arguments by. All throw DataError that names the parameter.

const TracedText& text_argument(Run& run, const Value& value, std::string_view what);
std::int64_t integer_argument(Run& run, const Value& value, std::string_view what);

}  // namespace weft::chat
