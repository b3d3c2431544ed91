// FieldList: the fields of a settings struct, listed once for its file format, its command-line
// options and their help texts.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "weft/models/fields/choice.h"

namespace WEFT_API weft {

/// Reference to an enum field of any type.
struct ChoiceRef {
  ChoiceNames names;
  void* value;  // null if there is no object
  std::string_view (*name)(const void* value);
  /// Parses `name` into `value`, or only checks it if `value` is null. Throws ArgumentError.
  void (*parse)(std::string_view name, void* value);
};
/// Reference to a field of an object.
using FieldRef = std::variant<bool*, std::int64_t*, std::uint64_t*, double*, std::string*,
                              std::vector<double>*, ChoiceRef>;

/// A field: its name, which is also its key in JSON, and its help text.
struct Field {
  std::string name, help;
  std::string section = {};  // heading in help texts; "" = none
  bool added = false;        // absent from files written by early versions
  /// The type of the field, as a reference without an object; for an enum, with its values' names.
  FieldRef type;
  /// Returns a reference to the field of an object.
  std::function<FieldRef(void*)> access;
};

/// The text forms of field values, by field name. Numbers of a list are separated by commas.
using FieldTexts = std::map<std::string, std::string, std::less<>>;

/// The part of FieldList that does not depend on the type of the object.
class FieldListBase {
 public:
  const std::vector<Field>& fields() const { return fields_; }
  /// Returns the field with this name. Throws ArgumentError if there is no such field.
  const Field& field(std::string_view name) const;

 protected:
  FieldListBase(std::string what, std::string family)
      : what_(std::move(what)), family_(std::move(family)) {}

  void append(Field field) {
    field.section = section_;
    fields_.push_back(std::move(field));
  }
  std::string write(void* object) const;
  void read(void* object, std::string_view json) const;
  void set(void* object, std::string_view name, std::string_view text) const;

  std::string section_ = {};  // of the next field

 private:
  std::string what_, family_;
  std::vector<Field> fields_;
};

/// The list of all fields of an Object. Object::fields() returns the single instance.
///
///   static const auto list = FieldList<Size>("the size").add("width", &Size::width, "in pixels");
///
/// An Object may have a function check(), which throws ArgumentError for invalid values.
template <class Object>
class FieldList : public FieldListBase {
 public:
  /// `what` names the object in messages. If `family` is not empty, it is written to the JSON
  /// object and required when reading one.
  explicit FieldList(std::string what, std::string family = {})
      : FieldListBase(std::move(what), std::move(family)) {}

  /// Sets the section of the fields that are added after this call.
  FieldList& section(const char* name) {
    section_ = name;
    return *this;
  }
  /// Adds a field.
  template <class T>
  FieldList& add(const char* name, T Object::*member, const char* help) {
    append({name, help, {}, false, ref<T>(nullptr), accessor(member)});
    return *this;
  }
  /// Adds a field that files written by early versions do not contain. If it is missing, it keeps
  /// its default.
  template <class T>
  FieldList& added(const char* name, T Object::*member, const char* help) {
    append({name, help, {}, true, ref<T>(nullptr), accessor(member)});
    return *this;
  }

  /// Adds the fields of a member that has a list of fields itself, such as a config within a
  /// config. Their names begin with `prefix` ("text_layers").
  template <class Part>
  FieldList& nested(const std::string& prefix, Part Object::*member) {
    for (Field field : Part::fields().fields()) {
      field.name = prefix + field.name;
      field.access = [member, access = std::move(field.access)](void* object) {
        return access(&(static_cast<Object*>(object)->*member));
      };
      append(std::move(field));
    }
    return *this;
  }

  /// Returns a JSON object with every field.
  std::string to_json(Object object) const { return write(&object); }
  /// Parses a JSON object. Throws FormatError if a field is missing, unknown or has the wrong type,
  /// and ArgumentError under the same conditions as Object::check().
  Object from_json(std::string_view json) const {
    Object object;
    read(&object, json);
    return checked(std::move(object));
  }
  /// Returns `object` with the `given` values, which are parsed strictly from their texts. Throws
  /// ArgumentError if a field is unknown, if a text is not a valid value of its field, or under the
  /// same conditions as Object::check().
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
