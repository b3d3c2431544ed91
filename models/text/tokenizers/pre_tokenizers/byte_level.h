// GPT-2's pre-tokenizer and its mapping from bytes to printable characters.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "weft/models/text/tokenizers/pre_tokenizers/pre_tokenizer.h"

namespace WEFT_API weft {

/// Returns GPT-2's byte alphabet, which contains a printable character for each byte.
const std::array<char32_t, 256>& byte_characters();
/// Returns the byte that `c` represents, or std::nullopt if `c` is not in the alphabet.
std::optional<unsigned char> byte_of_character(char32_t c);
/// Returns the bytes that `text` represents, or std::nullopt if a character is not in the alphabet.
std::optional<std::string> spelled_bytes(std::string_view text);

namespace pre_tokenizers {

/// Splits text with GPT-2's pattern and maps its bytes to GPT-2's alphabet.
class ByteLevel : public PreTokenizer {
 public:
  static constexpr const char* kName = "ByteLevel";

  /// Files contain the same settings for the pre-tokenizer, the post-processor and the decoder.
  /// Each of them also stores the settings that it does not use, so that files are written back
  /// unchanged.
  struct Settings {
    bool add_prefix_space = true;
    bool trim_offsets = true;  // used by post-processors
    bool use_regex = true;     // used by pre-tokenizers
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
  void split(SplitText& parts) const override;
  bool is_byte_level() const override { return true; }

 private:
  Settings settings_;
};

}  // namespace pre_tokenizers

/// Replaces each byte in the rest of the edit's part with its character in byte_characters().
void write_byte_characters(TextEdit& edit);

}  // namespace weft
