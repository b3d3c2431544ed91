// Declarative JSON fields for the components of a tokenizer.json. Each component describes its
// fields once, for both FieldReader and FieldWriter:
//
//   template <class Fields> void describe(Fields& fields) {
//     fields.required("strip_left", left_);   // an error if missing
//     fields.optional("behavior", kind_);     // keeps its value if missing
//     fields.old("add_prefix_space", given);  // in older files; never written
//   }
#pragma once

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "weft/core/error.h"
#include "weft/core/excerpt.h"
#include "weft/models/fields/read_json.h"

namespace weft {

class Vocabulary;

using OrderedJson = nlohmann::ordered_json;  // keeps the insertion order of keys

/// Reads and writes values of type T as JSON. Specialised for types that are not represented by a
/// single JSON value.
template <class T>
struct JsonForm;

/// Reads the fields of a JSON object into the members of a component.
class FieldReader {
 public:
  /// `where` is the location of `object` in its file, for error messages, for example
  /// "pre_tokenizer". `lists` contains the long lists that were parsed separately; reading them
  /// moves their contents. Throws FormatError if `object` is not a JSON object.
  FieldReader(const nlohmann::json& object, std::string where, JsonLists* lists = nullptr)
      : object_(object), where_(std::move(where)), lists_(lists) {
    if (!object.is_object())
      throw FormatError(fmt::format("{} must be an object, not {}", where_, json_excerpt(object)));
  }

  template <class T>
  void required(const char* key, T& value) {
    const nlohmann::json* found = find(key);
    if (found == nullptr) throw FormatError(fmt::format("{} lacks '{}'", where_, key));
    JsonForm<T>::read(*found, place(key), value);
  }
  template <class T>
  void optional(const char* key, T& value) {
    if (const nlohmann::json* found = find(key)) JsonForm<T>::read(*found, place(key), value);
  }
  template <class T>
  void old(const char* key, std::optional<T>& value) {
    optional(key, value);
  }
  /// Reads {"piece": id, ...} from the separately parsed lists.
  void vocabulary(const char* key, Vocabulary& value);
  /// Reads pairs of pieces from the separately parsed lists. In files, a merge is a pair or a
  /// string "left right".
  void merges(const char* key, std::vector<std::pair<std::string, std::string>>& value);
  /// Reads pieces with their scores from the separately parsed lists.
  void scores(const char* key, std::vector<std::pair<std::string, double>>& value);
  /// Reads "BatchLongest" (no length) or {"Fixed": 10} (length 10).
  void padding_strategy(const char* key, std::optional<std::uint64_t>& length);

  /// Returns the "type" of the object. Throws FormatError if it has none.
  std::string type() {
    std::string name;
    required("type", name);
    return name;
  }
  /// Throws FormatError if the object has a key that the component did not read.
  void finish() const {
    for (const auto& [key, value] : object_.items()) {
      if (!known_.contains(key))
        throw FormatError(fmt::format("{} has the unknown key '{}'", where_, excerpt(key)));
    }
  }
  const std::string& where() const { return where_; }

 private:
  const nlohmann::json* find(const char* key) {
    known_.insert(key);
    const auto it = object_.find(key);
    return it == object_.end() ? nullptr : &*it;
  }
  std::string place(const char* key) const { return fmt::format("{}.{}", where_, key); }

  const nlohmann::json& object_;
  std::string where_;
  JsonLists* lists_;
  std::set<std::string, std::less<>> known_;
};

/// Writes the fields of a component to a JSON object.
class FieldWriter {
 public:
  explicit FieldWriter(OrderedJson& object) : object_(object) {}

  template <class T>
  void required(const char* key, const T& value) {
    JsonForm<T>::write(object_[key], value);
  }
  template <class T>
  void optional(const char* key, const T& value) {
    required(key, value);
  }
  template <class T>
  void old(const char*, const std::optional<T>&) {}
  void vocabulary(const char* key, const Vocabulary& value);
  void merges(const char* key, const std::vector<std::pair<std::string, std::string>>& value);
  void scores(const char* key, const std::vector<std::pair<std::string, double>>& value);
  void padding_strategy(const char* key, const std::optional<std::uint64_t>& length);

 private:
  OrderedJson& object_;
};

/// A type with a describe() function for its fields.
template <class T>
concept Described = requires(T& value, FieldReader& fields) {
  value.describe(fields);
};

template <Described T>
void read_described(const nlohmann::json& json, const std::string& where, T& value) {
  FieldReader fields(json, where);
  value.describe(fields);
  fields.finish();
}
template <Described T>
void write_described(OrderedJson& json, const T& value) {
  json = OrderedJson::object();
  FieldWriter fields(json);
  T(value).describe(fields);
}

// Single values, and types with a describe() function.
template <class T>
struct JsonForm {
  static void read(const nlohmann::json& json, const std::string& where, T& value) {
    if constexpr (Described<T>) {
      read_described(json, where, value);
    } else {
      try {
        read_json(json, where, value);
      } catch (const ArgumentError& e) {  // the name of a choice is invalid
        throw FormatError(fmt::format("{}: {}", where, e.what()));
      }
    }
  }
  static void write(OrderedJson& json, const T& value) {
    if constexpr (Described<T>) {
      write_described(json, value);
    } else if constexpr (Choice<T>) {
      json = choice_name(value);
    } else {
      json = value;
    }
  }
};

/// An optional value. In JSON, an empty value is null.
template <class T>
struct JsonForm<std::optional<T>> {
  static void read(const nlohmann::json& json, const std::string& where, std::optional<T>& value) {
    if (json.is_null()) {
      value.reset();
    } else {
      JsonForm<T>::read(json, where, value.emplace());
    }
  }
  static void write(OrderedJson& json, const std::optional<T>& value) {
    if (value) {
      JsonForm<T>::write(json, *value);
    } else {
      json = nullptr;
    }
  }
};

template <class T>
struct JsonForm<std::vector<T>> {
  static void read(const nlohmann::json& json, const std::string& where, std::vector<T>& values) {
    if (!json.is_array())
      throw FormatError(fmt::format("{} must be an array, not {}", where, json_excerpt(json)));
    values.clear();
    values.reserve(json.size());
    for (const nlohmann::json& value : json) {
      const std::string place = fmt::format("{}[{}]", where, values.size());
      JsonForm<T>::read(value, place, values.emplace_back());
    }
  }
  static void write(OrderedJson& json, const std::vector<T>& values) {
    json = OrderedJson::array();
    for (const T& value : values) JsonForm<T>::write(json.emplace_back(), value);
  }
};

template <class T>
struct JsonForm<std::map<std::string, T>> {
  static void read(const nlohmann::json& json, const std::string& where,
                   std::map<std::string, T>& values) {
    if (!json.is_object())
      throw FormatError(fmt::format("{} must be an object, not {}", where, json_excerpt(json)));
    for (const auto& [key, value] : json.items())
      JsonForm<T>::read(value, fmt::format("{}.{}", where, excerpt(key)), values[key]);
  }
  static void write(OrderedJson& json, const std::map<std::string, T>& values) {
    json = OrderedJson::object();
    for (const auto& [key, value] : values) JsonForm<T>::write(json[key], value);
  }
};

template <class First, class Second>
struct JsonForm<std::pair<First, Second>> {
  static void read(const nlohmann::json& json, const std::string& where,
                   std::pair<First, Second>& value) {
    if (!json.is_array() || json.size() != 2)
      throw FormatError(fmt::format("{} must be a pair, not {}", where, json_excerpt(json)));
    JsonForm<First>::read(json[0], where, value.first);
    JsonForm<Second>::read(json[1], where, value.second);
  }
  static void write(OrderedJson& json, const std::pair<First, Second>& value) {
    json = OrderedJson::array();
    JsonForm<First>::write(json.emplace_back(), value.first);
    JsonForm<Second>::write(json.emplace_back(), value.second);
  }
};

}  // namespace weft
