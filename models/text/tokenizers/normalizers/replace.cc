#include "weft/models/text/tokenizers/normalizers/replace.h"

#include "weft/models/text/tokenizers/pre_tokenizers/byte_level.h"

namespace weft::normalizers {

void Replace::normalise(SplitText& parts) const {
  const bool is_plain = !pattern_.is_regex && !pattern_.text.empty();
  Regex::Matches match(*regex_);
  parts.rewrite(
      [&](std::string_view text) {
        if (is_plain) return text.find(pattern_.text) != std::string_view::npos;
        match.restart(text);
        return match.next();
      },
      [&](TextEdit& edit) {
        const auto replace = [&](std::size_t size) {
          edit.drop(size);
          edit.add(content_);
        };
        if (is_plain) {
          for (std::size_t at; (at = edit.rest().find(pattern_.text)) != std::string_view::npos;) {
            edit.keep(at);
            replace(pattern_.text.size());
          }
        } else {
          std::size_t last = 0;
          for (match.restart(edit.part()); match.next(); last = match.end()) {
            edit.keep(match.begin() - last);
            replace(match.end() - match.begin());
          }
        }
        edit.keep_rest();
      });
}

void Prepend::normalise(SplitText& parts) const {
  parts.rewrite([](std::string_view) { return true; },
                [&](TextEdit& edit) {
                  const bool is_continuation =
                      parts.place == TextPlace::middle && edit.at_input_begin();
                  if (!is_continuation) edit.prepend(text_);
                  edit.keep_rest();
                });
}

void ByteLevel::normalise(SplitText& parts) const {
  parts.rewrite([](std::string_view) { return true; }, write_byte_characters);
}

}  // namespace weft::normalizers
