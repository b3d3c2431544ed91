#include "weft/models/text/tokenizers/pre_tokenizers/metaspace.h"

#include "weft/models/text/tokenizers/pre_tokenizers/delimiters.h"
#include "weft/models/text/unicode/characters.h"

namespace weft::pre_tokenizers {

void Metaspace::split(SplitText& parts) const {
  const std::string mark = utf8(settings_.replacement);
  const bool prepends = settings_.prepend_scheme != PrependScheme::never;
  const auto begins_with_blank = [&](std::string_view text) {
    return text.starts_with(' ') || text.starts_with(mark);
  };
  parts.rewrite(
      [&](std::string_view text) {
        return (prepends && !begins_with_blank(text)) || text.find(' ') != std::string_view::npos;
      },
      [&](TextEdit& edit) {
        const bool first = edit.at_input_begin();
        const bool wanted = settings_.prepend_scheme == PrependScheme::always ||
                            (settings_.prepend_scheme == PrependScheme::first && first);
        const bool is_continuation = first && parts.place == TextPlace::middle;
        if (wanted && !is_continuation && !begins_with_blank(edit.rest())) edit.prepend(mark);
        while (!edit.at_end()) {
          const std::string_view rest = edit.rest();
          const std::size_t plain = rest.find(' ');
          edit.keep(plain == std::string_view::npos ? rest.size() : plain);
          if (!edit.at_end()) edit.replace(settings_.replacement);
        }
      });
  if (!settings_.split) return;
  parts.split([&](std::string_view text, const auto& emit) {
    std::size_t begin = 0;
    for (;;) {
      // Each replacement character starts a new part.
      const std::size_t next = text.find(
          mark, begin == 0 ? (text.starts_with(mark) ? mark.size() : 0) : begin + mark.size());
      if (next == std::string_view::npos) break;
      emit(begin, next);
      begin = next;
    }
    emit(begin, text.size());
  });
}

}  // namespace weft::pre_tokenizers
