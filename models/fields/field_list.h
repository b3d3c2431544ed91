// The fields of a struct of settings, listed once: what files of it hold, what a command line can
// set, and what the help says.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "weft/models/fields/choice.h"

namespace WEFT_API weft {

/// An enum field of any type.
struct ChoiceRef {
  ChoiceNames names;
  void* value;  // null: of no object
  std::string_view (*name)(const void* value);
  /// Throws ArgumentError; only looks at the name where `value` is null.
  void (*parse)(std::string_view name, void* value);
};
/// A field of an object.
using FieldRef =
    std::variant<bool*, std::int64_t*, std::uint64_t*, double*, std::string*, ChoiceRef>;

/// A field: its name, which is its key in JSON, and what it means, for people.
struct Field {
  std::string name, help;
  bool added = false;                     // files of the first versions lack it
  FieldRef type;                          // of no object: what it is, and the names of a choice
  std::function<FieldRef(void*)> access;  // of an object of the list's type
};

/// Fields that were given, by name, as text.
using FieldTexts = std::map<std::string, std::string, std::less<>>;

/// What FieldList does for all types.
class FieldListBase {
 public:
  const std::vector<Field>& fields() const { return fields_; }
  /// Throws ArgumentError for a name that no field has.
  const Field& field(std::string_view name) const;

 protected:
  FieldListBase(std::string what, std::string family)
      : what_(std::move(what)), family_(std::move(family)) {}

  void append(Field field) { fields_.push_back(std::move(field)); }
  std::string write(void* object) const;
  void read(void* object, std::string_view json) const;
  void set(void* object, std::string_view name, std::string_view text) const;

 private:
  std::string what_, family_;
  std::vector<Field> fields_;
};

/// The list of all fields of an Object: one for the whole program, made by Object::fields().
///
///   static const auto list = FieldList<Size>("the size").add("width", &Size::width, "in pixels");
///
/// An Object may have check(), which throws ArgumentError for values that make no sense.
template <class Object>
class FieldList : public FieldListBase {
 public:
  /// `what` names the object in messages. Objects of a `family` say so in their JSON.
  explicit FieldList(std::string what, std::string family = {})
      : FieldListBase(std::move(what), std::move(family)) {}

  template <class T>
  FieldList& add(const char* name, T Object::*member, const char* help) {
    append({name, help, false, ref<T>(nullptr), accessor(member)});
    return *this;
  }
  /// A field that the files of the first versions lack: it keeps its default there.
  template <class T>
  FieldList& added(const char* name, T Object::*member, const char* help) {
    append({name, help, true, ref<T>(nullptr), accessor(member)});
    return *this;
  }

  /// A JSON object with every field.
  std::string to_json(Object object) const { return write(&object); }
  /// Throws FormatError for a missing, unknown or wrongly typed field, ArgumentError as
  /// Object::check().
  Object from_json(std::string_view json) const {
    Object object;
    read(&object, json);
    return checked(std::move(object));
  }
  /// `object` with other values, which are read strictly from their texts. Throws ArgumentError for
  /// unknown fields, texts that are no value of their field, and as Object::check().
  Object with(Object object, const FieldTexts& given) const {
    for (const auto& [name, text] : given) set(&object, name, text);
    return checked(std::move(object));
  }

 private:
  static Object checked(Object object) {
    if constexpr (requires { object.check(); }) object.check();
    return object;
  }
  template <class T>
  static FieldRef ref(T* value) {
    if constexpr (Choice<T>) {
      return ChoiceRef{choice_names(T{}), value,
                       [](const void* at) { return choice_name(*static_cast<const T*>(at)); },
                       [](std::string_view name, void* at) {
                         const T parsed = parse_choice<T>(name);
                         if (at != nullptr) *static_cast<T*>(at) = parsed;
                       }};
    } else {
      return value;
    }
  }
  template <class T>
  static std::function<FieldRef(void*)> accessor(T Object::*member) {
    return [member](void* object) { return ref(&(static_cast<Object*>(object)->*member)); };
  }
};

}  // namespace weft
