// The tokenizer settings in a Hugging Face model folder, except the vocabulary.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/models/fields/model_path.h"
#include "weft/models/text/tokenizers/formats/fields.h"
#include "weft/models/text/tokenizers/pipeline/added_tokens.h"

namespace weft {

/// The contents of tokenizer_config.json, special_tokens_map.json and added_tokens.json in a
/// folder. Each of the files may be missing. Member functions throw a FormatError that names the
/// file and the key if the contents are invalid.
class FolderSettings {
 public:
  /// Reads the files without the ignored keys. Throws IoError if a file cannot be read, and
  /// FormatError if a file is invalid.
  explicit FolderSettings(ModelPath folder);

  /// Returns true if the folder contains the file.
  bool has(const char* file) const;
  /// Returns the contents of a file in the folder. Throws IoError if it cannot be read, and
  /// FormatError if it is missing.
  std::string read(const char* file) const;

  /// Returns a value of tokenizer_config.json, or std::nullopt if it is missing or null.
  template <class T>
  std::optional<T> value(const char* key) const {
    std::optional<T> found;
    FieldReader(config_, kConfigFile).optional(key, found);
    return found;
  }
  /// Returns the tokenizer class named in tokenizer_config.json, or "" if there is none. The suffix
  /// "Fast" is removed, so that fast and slow classes are handled in the same way.
  std::string tokenizer_class() const;
  /// Returns tokenizer_class(). If tokenizer_config.json does not name a class, returns
  /// "tokenizer_class" of config.json. If this is missing, too, returns the class that the library
  /// uses for the "model_type" of config.json, or "" for other model types.
  std::string class_or_family() const;
  /// Returns the text of a special token, for example of "pad_token". special_tokens_map.json takes
  /// precedence over tokenizer_config.json.
  std::optional<std::string> token(const std::string& key) const;
  /// Returns the tokens in "added_tokens_decoder" of tokenizer_config.json and in
  /// added_tokens.json, in order of id. For a token that occurs in both, tokenizer_config.json
  /// takes precedence.
  std::vector<AddedToken> added() const;
  /// Returns the texts in "additional_special_tokens" and "extra_special_tokens", each with the
  /// file and the key that name it.
  std::vector<std::pair<std::string, std::string>> further_special() const;

 private:
  static constexpr const char* kConfigFile = "tokenizer_config.json";
  static constexpr const char* kSpecialFile = "special_tokens_map.json";
  static constexpr const char* kAddedFile = "added_tokens.json";

  /// Parses a file and removes the ignored keys. Returns an empty object if the file is missing.
  nlohmann::json object(const char* file) const;

  ModelPath folder_;
  nlohmann::json config_, special_;
};

/// Returns true for tokenizer classes that process text in the same way as BertTokenizer.
bool is_bert_class(std::string_view name);
std::span<const std::string_view> bert_classes();

}  // namespace weft
