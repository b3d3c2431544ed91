#include "weft/models/tokenizers/pre_tokenizers/split.h"

namespace weft::pre_tokenizers {

void Split::prepare() {
  regex_ = std::make_shared<const Regex>(pattern_.regex());
  // Known patterns leave nothing between their matches, which are all kept so.
  const bool keeps_matches =
      invert_ ? behaviour_ == Delimiter::removed : behaviour_ == Delimiter::isolated;
  if (pattern_.is_regex && (keeps_matches || (invert_ && behaviour_ == Delimiter::isolated)))
    known_ = find_known_pattern(pattern_.text);
}

void Split::split(PartedText& parts) const {
  parts.split([this](std::string_view text, const auto& emit) {
    if (known_ != nullptr) return known_(text, emit);
    cut_at_matches(text, behaviour_, *regex_, invert_, emit);
  });
}

}  // namespace weft::pre_tokenizers
