// Writes Hugging Face's config.json. ConfigReader and ConfigWriter use the same descriptions of
// keys, see Keys.
#pragma once

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>

#include "weft/models/fields/choice.h"
#include "weft/models/layers/activation.h"

namespace weft::hf {

using nlohmann::json;

/// Returns the name of `activation` in Hugging Face transformers, for example "gelu_new".
std::string_view library_name(Activation activation);

class ConfigWriter {
 public:
  /// Returns all keys that were written.
  const json& object() const { return object_; }
  /// Returns true if a key only repeats the value of another key, so that a file may omit it.
  bool is_repeated(const std::string& key) const { return repeated_.contains(key); }

  // The following functions are documented in ConfigReader.
  template <class T>
  ConfigWriter& field(const char* key, const T& value) {
    object_[key] = form(value);
    return *this;
  }
  template <class T>
  ConfigWriter& repeated(const char* key, const char*, const T& value) {
    repeated_.insert(key);
    return field(key, value);
  }
  template <class T>
  ConfigWriter& legacy(const char*, const char*, const T&) {
    return *this;
  }
  ConfigWriter& optional_id(const char* key, std::int64_t value);
  ConfigWriter& optional_size(const char* key, std::int64_t value);
  template <class T>
  ConfigWriter& optional_number(const char* key, const T& value) {
    object_[key] = value == 0 ? json() : json(value);
    return *this;
  }
  template <class ObjectKeys>
  ConfigWriter& subsection(const char* key, const ObjectKeys& keys, std::string_view) {
    ConfigWriter writer;
    keys(writer);
    object_[key] = writer.object();
    return *this;
  }
  ConfigWriter& size(const char* key, std::int64_t height, std::int64_t width);
  template <class Read, class Write>
  ConfigWriter& converted(const char* key, const Read&, const Write& write) {
    object_[key] = write();
    return *this;
  }
  /// Writes nothing, because the value is constant.
  ConfigWriter& fixed(const char*, const json&, std::string_view) { return *this; }
  ConfigWriter& ignore(std::initializer_list<const char*>) { return *this; }

 private:
  template <class T>
  static json form(const T& value) {
    if constexpr (std::is_same_v<T, Activation>) {
      return std::string(library_name(value));
    } else if constexpr (Choice<T>) {
      return std::string(choice_name(value));
    } else {
      return value;
    }
  }

  json object_ = json::object();
  std::set<std::string, std::less<>> repeated_;
};

class ConfigReader;

/// A description of config keys and the fields of `Parts` in which they are stored, for reading and
/// for writing. For example:
///
///   const Keys<EncoderConfig> keys = [](auto& config, EncoderConfig& c) {
///     config.field("vocab_size", c.vocab).optional_id("pad_token_id", c.padding_id);
///   };
///
/// A writer passes copies of the parts, so a description may also set fields that are derived from
/// the keys.
template <class... Parts>
struct Keys {
  template <class Description>
  Keys(Description description) : read(description), write(description) {}  // NOLINT: implicit

  void (*read)(ConfigReader&, Parts&...);
  void (*write)(ConfigWriter&, Parts&...);
};

}  // namespace weft::hf
