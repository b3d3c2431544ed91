// The tokenizer settings of a Hugging Face model folder, apart from the vocabulary.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "weft/models/tokenizers/added_tokens.h"
#include "weft/models/tokenizers/formats/fields.h"

namespace weft {

/// The contents of tokenizer_config.json, special_tokens_map.json and added_tokens.json of a
/// folder. Each file may be missing. Invalid contents throw a FormatError that names file and key.
class FolderSettings {
 public:
  /// Throws IoError, FormatError.
  explicit FolderSettings(std::string folder);

  /// True if the folder has such a file.
  bool has(const char* file) const;
  /// Returns the contents of a file of the folder. Throws IoError, or FormatError if it is missing.
  std::string read(const char* file) const;

  /// Returns a value of tokenizer_config.json; none if it is missing or null.
  template <class T>
  std::optional<T> value(const char* key) const {
    std::optional<T> found;
    FieldReader(config_, kConfigFile).optional(key, found);
    return found;
  }
  /// Returns the tokenizer class named in tokenizer_config.json, without the suffix "Fast", so that
  /// fast and slow classes are treated alike. Empty if there is none.
  std::string tokenizer_class() const;
  /// Returns the text of a special token ("pad_token"). special_tokens_map.json takes precedence
  /// over tokenizer_config.json.
  std::optional<std::string> token(const std::string& key) const;
  /// Returns the tokens of "added_tokens_decoder" in tokenizer_config.json and of
  /// added_tokens.json, in order of id. The former takes precedence for tokens that are in both.
  std::vector<AddedToken> added() const;

 private:
  static constexpr const char* kConfigFile = "tokenizer_config.json";
  static constexpr const char* kSpecialFile = "special_tokens_map.json";
  static constexpr const char* kAddedFile = "added_tokens.json";

  /// Parses a file; returns an empty object if the file is missing.
  nlohmann::json object(const char* file) const;

  std::string folder_;
  nlohmann::json config_, special_;
};

}  // namespace weft
