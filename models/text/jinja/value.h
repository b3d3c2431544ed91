// Values of template expressions: the Python types that templates need.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "weft/models/text/jinja/traced_text.h"

namespace weft::chat {

struct Builtin;
struct Sequence;
struct Mapping;
struct Namespace;

/// The value of an undefined name or attribute. It is printed as an empty string, and it is false
/// and empty. Any other use is an error.
struct Undefined {
  std::shared_ptr<const std::string> what;  // "'name' is undefined"
};
struct None {};
using TextPtr = std::shared_ptr<const TracedText>;
using SequencePtr = std::shared_ptr<const Sequence>;
using MappingPtr = std::shared_ptr<const Mapping>;

/// A template value. All values except namespaces are immutable, as in the sandbox of Hugging Face
/// transformers, which is the reference for all output. Namespaces are owned by a Run.
using Value = std::variant<Undefined, None, bool, std::int64_t, double, TextPtr, SequencePtr,
                           MappingPtr, Namespace*, const Builtin*>;

struct Sequence {
  enum class Kind : std::uint8_t {
    list,
    tuple,
    range,
    // A view of a dict: the result of keys(), values() or items().
    view,
    // The result of map() or a similar filter. It has no length and can be iterated only once.
    iterator
  };
  Kind kind = Kind::list;
  std::vector<Value> items;
  int depth = 1;  // nesting depth
  mutable bool spent = false;
};

/// A dict with string keys, in insertion order.
struct Mapping {
  std::vector<std::pair<TextPtr, Value>> entries;
  int depth = 1;

  /// Returns the index of the entry with this key, or the number of entries if there is none. Adds
  /// the approximate number of bytes that the search reads to `compared`. Templates look up keys
  /// with Run::find(), which counts them.
  std::size_t position(std::string_view key, std::size_t& compared) const;
  /// Sets the value of `key` and returns the number of compared bytes. An existing value is
  /// replaced. Templates use Run::set(), which counts them.
  std::size_t set(TextPtr key, Value value);
};

/// The result of namespace(), the only mutable value in a template.
struct Namespace {
  Mapping fields;
};

template <class T>
bool is(const Value& value) {
  return std::holds_alternative<T>(value);
}
template <class T>
const T* as(const Value& value) {
  return std::get_if<T>(&value);
}
/// Returns the text of a string value, or null for other values.
const TracedText* as_text(const Value& value);
/// Return the sequence or dict in a value, or null for other values.
const Sequence* as_sequence(const Value& value);
const Mapping* as_mapping(const Value& value);

/// Returns the nesting depth of a value: 0 for values that are neither a sequence nor a dict.
int depth_of(const Value& value);

/// Creates a string value. By default, its origin is the template.
Value text_value(std::string text, Origin origin = {});
Value undefined(std::string what);
/// Returns the type of a value for error messages, for example "a string", "a list" or "none".
std::string_view kind_of(const Value& value);

}  // namespace weft::chat
