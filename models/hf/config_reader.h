// Reads the JSON files of Hugging Face folders. Each key is read, restricted to a supported value,
// or known not to affect results. Unknown keys are accepted only if they turn a feature off; any
// other key causes an error that names it (README.md describes the policy).
#pragma once

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "weft/models/fields/read_json.h"

namespace weft::hf {

using nlohmann::json;

class WEFT_API ConfigReader {
 public:
  /// Throws FormatError if `text` is not a JSON object. `file` is the file name to use in error
  /// messages. If the text is only a part of the file, `section` is the path of this part, for
  /// example "rope_scaling.".
  explicit ConfigReader(std::string_view text, std::string file = "config.json",
                        std::string section = {});

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
  /// Reads a key that is another name of the setting `of`, which was read into `value` before, or
  /// that is derived from it. Throws ArgumentError if the file contains both keys and their values
  /// contradict each other. ConfigWriter changes a repeated key only if the file contains it, and
  /// never writes a legacy key.
  template <class T>
  ConfigReader& repeated(const char* key, const char* of, T& value) {
    const json* found = find(key);
    if (found == nullptr) return *this;
    T own = value;
    read_json(*found, key, own);
    if (own != value && find(of) != nullptr) contradiction(key, of);
    value = own;
    return *this;
  }
  template <class T>
  ConfigReader& legacy(const char* key, const char* of, T& value) {
    return repeated(key, of, value);
  }
  /// Like field(), for a size that is derived from other keys if it is null or 0.
  ConfigReader& optional_size(const char* key, std::int64_t& value);
  /// Like field(), for a number that is null if it is not used, which is stored as 0.
  template <class T>
  ConfigReader& optional_number(const char* key, T& value) {
    const auto it = object_.find(key);
    if (it != object_.end() && it->is_null()) value = 0;
    return field(key, value);
  }
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
  /// Returns a reader for the object at `key`, or for an empty object if the key is absent or null.
  /// Marks the key as read. In messages, keys of the object are written as "key.name".
  ConfigReader section(const char* key);
  /// Reads the object at `key` with `keys`, a function of a reader or writer. `what` describes, for
  /// errors, what unknown keys of the object might affect.
  template <class ObjectKeys>
  ConfigReader& subsection(const char* key, const ObjectKeys& keys, std::string_view what) {
    ConfigReader reader = section(key);
    keys(reader);
    reader.finish(what);
    return *this;
  }
  /// Returns the number of labels of a classifier, see label_count().
  std::int64_t labels(std::int64_t otherwise = 2);
  /// Accepts any labels, for models whose outputs do not depend on them.
  ConfigReader& ignore_labels();

  /// For the config.json of a model: throws an ArgumentError that names the first unknown key, or
  /// an unsupported feature of any model type. Keys that change no model type's results are known.
  void finish();
  /// For other files: throws an ArgumentError that names the first unknown key. `what` describes,
  /// for the error message, what the key might affect.
  void finish(std::string_view what) const;

 private:
  [[noreturn]] void contradiction(const char* key, const char* of) const;
  void reject_unknown(std::string_view whose, std::string_view what) const;

  std::string file_;
  std::string section_;
  json object_;
  std::set<std::string, std::less<>> known_;
};

}  // namespace weft::hf
