// The parts of a model file other than programs and variables. Each part is stored as an attachment
// in the file and as a member of the model struct.
#pragma once

#include <concepts>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/serialization/checkpoint.h"

namespace WEFT_API weft {

struct TrainedModel;

/// Converts a value to the bytes of an attachment and back. Reading throws FormatError if the bytes
/// are invalid.
template <class T>
struct PartValue;

/// For values with a FieldList.
template <class T>
concept FieldsValue = requires(const T& value) {
  { T::fields().to_json(value) } -> std::convertible_to<std::string>;
};
template <FieldsValue T>
struct PartValue<T> {
  static std::string write(const T& value) { return T::fields().to_json(value); }
  static T read(const Attachment& part) { return T::fields().from_json(part.bytes); }
};

/// For other values that are stored as JSON.
template <class T>
concept JsonValue = !FieldsValue<T> && requires(const T& value, std::string_view text) {
  { value.to_json() } -> std::convertible_to<std::string>;
  { T::from_json(text) } -> std::convertible_to<T>;
};
template <JsonValue T>
struct PartValue<T> {
  static std::string write(const T& value) { return value.to_json(); }
  static T read(const Attachment& part) { return T::from_json(part.bytes); }
};

/// For values whose attachment type depends on the value, such as tokenizers.
template <class T>
concept TypedValue = requires(const T& value, std::string_view text) {
  { value.type() } -> std::convertible_to<std::string>;
  { value.bytes() } -> std::convertible_to<std::string>;
  { T::from_bytes(text, text) } -> std::convertible_to<T>;
};
template <TypedValue T>
struct PartValue<T> {
  static std::string write(const T& value) { return value.bytes(); }
  static T read(const Attachment& part) { return T::from_bytes(part.type, part.bytes); }
};

/// For class names, which are stored as a list of strings.
template <>
struct PartValue<std::vector<std::string>> {
  static std::string write(const std::vector<std::string>& names);
  static std::vector<std::string> read(const Attachment& part);
};

/// A part of a model file: its attachment name, and functions that write the part from a model and
/// read it into a model.
struct FilePart {
  std::string name;
  bool required = true;
  /// Returns nullopt if the model has no value for an optional part.
  std::function<std::optional<Attachment>(const TrainedModel&)> write;
  std::function<void(TrainedModel&, const Attachment&)> read;
};

namespace detail {

template <class T>
std::string part_type(const std::string& type, const T& value) {
  if constexpr (TypedValue<T>) {
    return value.type();
  } else {
    return type;
  }
}

template <class Model, class T>
FilePart make_part(const char* name, const char* type, T Model::*member) {
  return {name, true,
          [=](const TrainedModel& model) -> std::optional<Attachment> {
            const T& value = static_cast<const Model&>(model).*member;
            return Attachment{name, part_type(type, value), PartValue<T>::write(value)};
          },
          [=](TrainedModel& model, const Attachment& part) {
            static_cast<Model&>(model).*member = PartValue<T>::read(part);
          }};
}

template <class Model, class T>
FilePart make_part(const char* name, const char* type, std::optional<T> Model::*member) {
  return {name, false,
          [=](const TrainedModel& model) -> std::optional<Attachment> {
            const std::optional<T>& value = static_cast<const Model&>(model).*member;
            if (!value) return std::nullopt;
            return Attachment{name, part_type(type, *value), PartValue<T>::write(*value)};
          },
          [=](TrainedModel& model, const Attachment& part) {
            static_cast<Model&>(model).*member = PartValue<T>::read(part);
          }};
}

}  // namespace detail
}  // namespace weft
