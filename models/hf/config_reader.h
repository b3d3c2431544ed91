// Reading of Hugging Face's config.json. Every key is read, restricted to a supported value, or
// known not to change results. Any other key is an error that names it.
#pragma once

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "weft/models/fields/read_json.h"

namespace weft::hf {

using nlohmann::json;

class ConfigReader {
 public:
  /// Throws FormatError if `text` is not a JSON object. `file` is the name in error messages.
  explicit ConfigReader(std::string_view text, std::string file = "config.json");

  const json& object() const { return object_; }
  std::string model_type() const { return text("model_type"); }
  /// Returns a string, or "" if the key is absent, null or not a string.
  std::string text(const char* key) const;

  /// Reads a key into `value`. If the key is absent or null, `value` keeps its default (that of
  /// Hugging Face transformers). Throws FormatError for another type.
  template <class T>
  ConfigReader& field(const char* key, T& value) {
    if (const json* found = find(key)) read_json(*found, key, value);
    return *this;
  }
  /// These do the same as field(). They differ in ConfigWriter, which uses the same descriptions of
  /// keys: it changes a repeated key only if the file has it, and never writes an old key.
  template <class T>
  ConfigReader& repeated(const char* key, T& value) {
    return field(key, value);
  }
  template <class T>
  ConfigReader& legacy(const char* key, T& value) {
    return field(key, value);
  }
  /// As field(), for a size that is 0 if it follows from other keys.
  ConfigReader& optional_size(const char* key, std::int64_t& value) { return field(key, value); }
  /// A key that JSON represents in another way than the field. `read` is called with the JSON value
  /// if there is one; `write`, used by ConfigWriter, returns the JSON value.
  template <class Read, class Write>
  ConfigReader& converted(const char* key, const Read& read, const Write&) {
    if (const json* found = find(key)) read(*found);
    return *this;
  }
  /// As field(), for an id. Null means -1, no id.
  ConfigReader& optional_id(const char* key, std::int64_t& value);
  /// Reads a size in pixels: one number, or [height, width]. Throws FormatError for anything else.
  ConfigReader& size(const char* key, std::int64_t& height, std::int64_t& width);
  /// Returns the strings of a list, or the parts of one string that is separated by '|'.
  std::vector<std::string> list(const char* key);
  /// Requires the key to be absent, null or `allowed`. Otherwise throws ArgumentError with the
  /// reason `why`.
  ConfigReader& fixed(const char* key, const json& allowed, std::string_view why);
  /// As fixed(), but a ConfigWriter writes the key.
  ConfigReader& fixed_and_written(const char* key, const json& allowed, std::string_view why) {
    return fixed(key, allowed, why);
  }
  /// Accepts keys that do not change results.
  ConfigReader& ignore(std::initializer_list<const char*> keys);
  /// Returns the value of a key, or null if it is absent or null. Marks the key as read.
  const json* find(const char* key);
  /// Returns the number of labels of a classifier: the entries of id2label, or num_labels; 2 by
  /// default.
  std::int64_t labels();

  /// Throws an ArgumentError that names a key that was not read.
  void finish() const;
  /// As above, for files that do not describe a model. `what` completes the error: the key "might
  /// change" it.
  void finish(std::string_view what) const;

 private:
  std::string file_;
  json object_;
  std::set<std::string, std::less<>> known_;
};

}  // namespace weft::hf
