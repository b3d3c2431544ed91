// Values of template expressions: the types of Python that templates need.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "weft/models/chat/template/traced_text.h"

namespace weft::chat {

struct Builtin;
struct Sequence;
struct Mapping;
struct Namespace;

/// The value of an undefined name or attribute. It prints as nothing, is false and empty; any other
/// use is an error.
struct Undefined {
  std::shared_ptr<const std::string> what;  // "'name' is undefined"
};
struct None {};
using TextPtr = std::shared_ptr<const TracedText>;
using SequencePtr = std::shared_ptr<const Sequence>;
using MappingPtr = std::shared_ptr<const Mapping>;

/// All values except namespaces are immutable, as in the sandbox of Hugging Face transformers,
/// whose output is the reference. Namespaces are owned by a Run.
using Value = std::variant<Undefined, None, bool, std::int64_t, double, TextPtr, SequencePtr,
                           MappingPtr, Namespace*, const Builtin*>;

struct Sequence {
  enum class Kind : std::uint8_t {
    list,
    tuple,
    range,
    // A view of a dict: keys(), values(), items().
    view,
    // The result of map() and similar filters: has no length, and can be iterated once.
    iterator
  };
  Kind kind = Kind::list;
  std::vector<Value> items;
  int depth = 1;  // nesting depth
  mutable bool spent = false;
};

/// A dict with strings as keys, in insertion order.
struct Mapping {
  std::vector<std::pair<TextPtr, Value>> entries;
  int depth = 1;

  const Value* find(std::string_view key) const;
  /// Sets the value of `key`. If the key exists, its value is replaced.
  void set(TextPtr key, Value value);
};

/// The result of namespace(): the only mutable value of a template.
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
/// Returns the text of a string value; null for other values.
const TracedText* as_text(const Value& value);
/// Returns the sequence or the dict of a value; null for other values.
const Sequence* as_sequence(const Value& value);
const Mapping* as_mapping(const Value& value);

/// Makes a string value. By default, its origin is the template.
Value text_value(std::string text, Origin origin = {});
Value undefined(std::string what);
/// The type of a value for error messages: "a string", "a list", "none".
std::string_view kind_of(const Value& value);

}  // namespace weft::chat
