// A pre-tokenizer that replaces spaces with a visible character, which is attached to the following
// word.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "weft/models/fields/choice.h"
#include "weft/models/text/tokenizers/pre_tokenizers/pre_tokenizer.h"

namespace WEFT_API weft {

/// Specifies the parts of a text before which a space is inserted if they do not start with one.
enum class PrependScheme : std::uint8_t { first, never, always };
inline constexpr std::array<std::string_view, 3> kPrependSchemeNames = {"first", "never", "always"};
inline ChoiceNames choice_names(PrependScheme) { return {"prepend_scheme", kPrependSchemeNames}; }

/// Settings that the pre-tokenizer and the decoder share.
struct MetaspaceSettings {
  char32_t replacement = 0x2581;
  PrependScheme prepend_scheme = PrependScheme::always;
  bool split = true;

  template <class Fields>
  void describe(Fields& fields) {
    fields.required("replacement", replacement);
    fields.optional("prepend_scheme", prepend_scheme);
    fields.optional("split", split);
    // Fields that only older files contain.
    std::optional<bool> add_prefix_space;
    std::optional<std::string> str_rep;
    fields.old("add_prefix_space", add_prefix_space);
    fields.old("str_rep", str_rep);
    if (add_prefix_space == false) prepend_scheme = PrependScheme::never;
  }
};

namespace pre_tokenizers {

/// Replaces spaces with `replacement` and splits the text before each of them.
class Metaspace : public PreTokenizer {
 public:
  static constexpr const char* kName = "Metaspace";
  Metaspace() = default;
  explicit Metaspace(const MetaspaceSettings& settings) : settings_(settings) {}
  template <class Fields>
  void describe(Fields& fields) {
    settings_.describe(fields);
  }
  void split(SplitText& parts) const override;

 private:
  MetaspaceSettings settings_;
};

}  // namespace pre_tokenizers
}  // namespace weft
