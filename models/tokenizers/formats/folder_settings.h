// What a folder of Hugging Face's library says of its tokenizer beside the vocabulary.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "weft/models/tokenizers/added_tokens.h"
#include "weft/models/tokenizers/formats/fields.h"

namespace weft {

/// tokenizer_config.json, special_tokens_map.json and added_tokens.json of a folder, each of which
/// may be missing. What is wrong in one of them throws a FormatError that names file and key.
class FolderSettings {
 public:
  /// Throws IoError, FormatError.
  explicit FolderSettings(std::string folder);

  /// Whether the folder has such a file.
  bool has(const char* file) const;
  /// The bytes of one of the folder's files. Throws IoError; FormatError where it is missing.
  std::string read(const char* file) const;

  /// What tokenizer_config.json says; none also for null.
  template <class T>
  std::optional<T> value(const char* key) const {
    std::optional<T> found;
    FieldReader(config_, kConfigFile).optional(key, found);
    return found;
  }
  /// The class of tokenizer that tokenizer_config.json names, the fast kind as the other: "Fast" at
  /// its end is left out. Empty where it names none.
  std::string tokenizer_class() const;
  /// The name of a special token ("pad_token"): special_tokens_map.json counts before
  /// tokenizer_config.json.
  std::optional<std::string> token(const std::string& key) const;
  /// Tokens of tokenizer_config.json's "added_tokens_decoder" and of added_tokens.json, in order of
  /// their ids. What both name is as the first says.
  std::vector<AddedToken> added() const;

 private:
  static constexpr const char* kConfigFile = "tokenizer_config.json";
  static constexpr const char* kSpecialFile = "special_tokens_map.json";
  static constexpr const char* kAddedFile = "added_tokens.json";

  /// Empty where there is no such file.
  nlohmann::json object(const char* file) const;

  std::string folder_;
  nlohmann::json config_, special_;
};

}  // namespace weft
