// Reading Hugging Face's config.json: every key is read, fixed to what is supported, or known not
// to change numbers. Any other one is refused by name.
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
  /// Throws FormatError unless `text` is a JSON object. `file` is what errors call it.
  explicit ConfigReader(std::string_view text, std::string file = "config.json");

  const json& object() const { return object_; }
  std::string model_type() const { return text("model_type"); }
  /// A text, or "" where the key is absent or null.
  std::string text(const char* key) const;

  /// Reads a key into `value`, which stays as it is (the library's default) where the key is absent
  /// or null. FormatError for another type.
  template <class T>
  ConfigReader& field(const char* key, T& value) {
    if (const json* found = find(key)) read_json(*found, key, value);
    return *this;
  }
  /// What field() does. A ConfigWriter, which goes over the same descriptions of keys, only changes
  /// a repeated one where a file has it, and never writes an old one.
  template <class T>
  ConfigReader& repeated(const char* key, T& value) {
    return field(key, value);
  }
  template <class T>
  ConfigReader& old(const char* key, T& value) {
    return field(key, value);
  }
  /// The same for a size, where 0 means that another one says it.
  ConfigReader& optional_size(const char* key, std::int64_t& value) { return field(key, value); }
  /// A key that says fields in words of its own: `read` takes its value where there is one, `write`
  /// gives it.
  template <class Read, class Write>
  ConfigReader& converted(const char* key, const Read& read, const Write&) {
    if (const json* found = find(key)) read(*found);
    return *this;
  }
  /// The same for an id, where null means -1: none.
  ConfigReader& optional_id(const char* key, std::int64_t& value);
  /// A size in pixels: one number, or [height, width]. FormatError for anything else.
  ConfigReader& size(const char* key, std::int64_t& height, std::int64_t& width);
  /// A list of strings, or one string with '|' between them.
  std::vector<std::string> list(const char* key);
  /// The key must be absent, null or `allowed`; else an ArgumentError with `why`.
  ConfigReader& fixed(const char* key, const json& allowed, std::string_view why);
  /// The same for a key that files say all the same.
  ConfigReader& stated(const char* key, const json& allowed, std::string_view why) {
    return fixed(key, allowed, why);
  }
  /// The keys do not change what is computed.
  ConfigReader& ignore(std::initializer_list<const char*> keys);
  /// The value of a key, or null where it is absent or null; counts as read.
  const json* find(const char* key);
  /// Number of labels of classifiers: entries of id2label, or num_labels; 2 by default.
  std::int64_t labels();

  /// Throws ArgumentError that names a key which nobody asked for.
  void finish() const;
  /// The same for files about something else than a model: the error says what the key might
  /// change.
  void finish(std::string_view what) const;

 private:
  std::string file_;
  json object_;
  std::set<std::string, std::less<>> known_;
};

}  // namespace weft::hf
