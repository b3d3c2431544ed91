#include "weft/models/text/tokenizers/pre_tokenizers/split.h"

namespace weft::pre_tokenizers {

void Split::prepare() {
  regex_ = std::make_shared<const Regex>(pattern_.regex());
  // The matches of a known pattern cover the whole text. With these settings, each match forms a
  // part.
  const bool keeps_matches =
      invert_ ? behaviour_ == Delimiter::removed : behaviour_ == Delimiter::isolated;
  if (pattern_.is_regex && (keeps_matches || (invert_ && behaviour_ == Delimiter::isolated)))
    known_ = find_known_pattern(pattern_.text);
}

void Split::split(SplitText& parts) const {
  if (known_ != nullptr) return parts.split(known_);
  Regex::Matches match(*regex_);
  parts.split([&](std::string_view text, const auto& emit) {
    split_at_matches(text, behaviour_, match, invert_, emit);
  });
}

}  // namespace weft::pre_tokenizers
