// Reads Hugging Face's config.json. Each key is read, restricted to a supported value, or known not
// to affect results. Any other key causes an error that names it.
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
  /// Throws FormatError if `text` is not a JSON object. `file` is the file name to use in error
  /// messages.
  explicit ConfigReader(std::string_view text, std::string file = "config.json");

  const json& object() const { return object_; }
  std::string model_type() const { return text("model_type"); }
  /// Returns a string, or "" if the key is absent, null or not a string.
  std::string text(const char* key) const;

  /// Reads a key into `value`. If the key is absent or null, `value` keeps its default, which is
  /// the default of Hugging Face transformers. Throws FormatError if the value has the wrong type.
  template <class T>
  ConfigReader& field(const char* key, T& value) {
    if (const json* found = find(key)) read_json(*found, key, value);
    return *this;
  }
  /// repeated() and legacy() are equivalent to field(). They exist because ConfigWriter uses the
  /// same descriptions of keys: it changes a repeated key only if the file contains that key, and
  /// never writes a legacy key.
  template <class T>
  ConfigReader& repeated(const char* key, T& value) {
    return field(key, value);
  }
  template <class T>
  ConfigReader& legacy(const char* key, T& value) {
    return field(key, value);
  }
  /// Like field(), for a size that is derived from other keys if it is null or 0.
  ConfigReader& optional_size(const char* key, std::int64_t& value);
  /// Reads a key whose JSON value has a different form than the field. Calls `read` with the JSON
  /// value if the key is present. `write` is used by ConfigWriter only and returns the JSON value.
  template <class Read, class Write>
  ConfigReader& converted(const char* key, const Read& read, const Write&) {
    if (const json* found = find(key)) read(*found);
    return *this;
  }
  /// Like field(), for an id. Null means -1 (no id).
  ConfigReader& optional_id(const char* key, std::int64_t& value);
  /// Reads a size in pixels, which is either one number or [height, width]. Throws FormatError for
  /// any other value.
  ConfigReader& size(const char* key, std::int64_t& height, std::int64_t& width);
  /// Returns the strings of a list, or the parts of a single string with the separator '|'.
  std::vector<std::string> list(const char* key);
  /// Requires the key to be absent, null or `allowed`. Otherwise throws ArgumentError with the
  /// reason `why`.
  ConfigReader& fixed(const char* key, const json& allowed, std::string_view why);
  /// Accepts any values for keys that do not affect results.
  ConfigReader& ignore(std::initializer_list<const char*> keys);
  /// Returns the value of a key, or null if it is absent or null. Marks the key as read.
  const json* find(const char* key);
  /// Returns the number of labels of a classifier: the number of entries of id2label, else the
  /// value of num_labels, else 2.
  std::int64_t labels();

  /// Throws an ArgumentError that names the first key that was not read.
  void finish() const;
  /// As above, for files that do not describe a model. `what` describes, for the error message,
  /// what the key might affect.
  void finish(std::string_view what) const;

 private:
  std::string file_;
  json object_;
  std::set<std::string, std::less<>> known_;
};

}  // namespace weft::hf
