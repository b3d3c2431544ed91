// GPT-2's split, and its way to show each byte as a character.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "weft/models/tokenizers/pre_tokenizers/pre_tokenizer.h"

namespace WEFT_API weft {

/// GPT-2's alphabet: a printable character for each byte.
const std::array<char32_t, 256>& byte_characters();
/// The byte that `c` stands for.
std::optional<unsigned char> byte_of_character(char32_t c);
/// The bytes that `text` spells; none where one of its characters is not of the alphabet.
std::optional<std::string> spelled_bytes(std::string_view text);

namespace pre_tokenizers {

class ByteLevel : public PreTokenizer {
 public:
  static constexpr const char* kName = "ByteLevel";

  /// Files say all of them of the pre-tokenizer, the post-processor and the decoder. What one of
  /// these does not need it keeps only to write it again.
  struct Settings {
    bool add_prefix_space = true;
    bool trim_offsets = true;  // of post-processors
    bool use_regex = true;     // of pre-tokenizers
  };

  ByteLevel() = default;
  explicit ByteLevel(const Settings& settings) : settings_(settings) {}
  template <class Fields>
  void describe(Fields& fields) {
    describe_settings(fields, settings_);
  }
  template <class Fields>
  static void describe_settings(Fields& fields, Settings& settings) {
    fields.required("add_prefix_space", settings.add_prefix_space);
    fields.required("trim_offsets", settings.trim_offsets);
    fields.optional("use_regex", settings.use_regex);
  }
  void split(PartedText& parts) const override;
  bool is_byte_level() const override { return true; }

 private:
  Settings settings_;
};

}  // namespace pre_tokenizers

/// Writes the rest of the edit's part in byte_characters().
void write_byte_characters(TextEdit& edit);

}  // namespace weft
