// What expressions of a template are about: Python's values, as far as templates need them.
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

/// What a template asked for and nobody gave: prints as nothing, is false and empty; whatever else
/// is done with it is an error.
struct Undefined {
  std::shared_ptr<const std::string> what;  // "'name' is undefined"
};
struct None {};
using TextPtr = std::shared_ptr<const TracedText>;
using SequencePtr = std::shared_ptr<const Sequence>;
using MappingPtr = std::shared_ptr<const Mapping>;

/// All but namespaces are immutable, as in the sandbox whose results are the standard. Namespaces
/// belong to a Run.
using Value = std::variant<Undefined, None, bool, std::int64_t, double, TextPtr, SequencePtr,
                           MappingPtr, Namespace*, const Builtin*>;

struct Sequence {
  enum class Kind : std::uint8_t {
    list,
    tuple,
    range,
    view,     // of a dict: keys(), values(), items()
    iterator  // of map() and its kind: has no length, and is gone through once
  };
  Kind kind = Kind::list;
  std::vector<Value> items;
  int depth = 1;  // of values in values
  mutable bool spent = false;
};

/// A dict: texts as keys, in the order in which they came.
struct Mapping {
  std::vector<std::pair<TextPtr, Value>> entries;
  int depth = 1;

  const Value* find(std::string_view key) const;
  /// Replaces the value of a key that is there.
  void set(TextPtr key, Value value);
};

/// What namespace() makes: the only thing that a template changes.
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
/// The text of a value that is one; null otherwise.
const TracedText* as_text(const Value& value);
/// The sequence or the dict of a value; null where it is none.
const Sequence* as_sequence(const Value& value);
const Mapping* as_mapping(const Value& value);

/// A text of the template's own.
Value text_value(std::string text, Origin origin = {});
Value undefined(std::string what);
/// "a text", "a list", "none": for messages.
std::string_view kind_of(const Value& value);

}  // namespace weft::chat
