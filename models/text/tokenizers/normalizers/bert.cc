#include "weft/models/text/tokenizers/normalizers/bert.h"

#include "weft/models/text/tokenizers/normalizers/edits.h"
#include "weft/models/text/unicode/normal_forms.h"
#include "weft/models/text/unicode/properties.h"

namespace weft::normalizers {
namespace {

std::optional<char32_t> cleaned(char32_t c) {
  if (c == 0 || c == 0xFFFD || is_control(c)) return std::nullopt;
  return is_white_space(c) ? U' ' : c;
}

void space_ideographs(SplitText& parts) {
  change_characters(parts, is_ideograph, [](TextEdit& edit, char32_t c) {
    edit.replace(U' ');
    edit.add(c);
    edit.add(U' ');
  });
}

void strip_marks(SplitText& parts) {
  parts.rewrite([](std::string_view text) { return !is_in_form(text, UnicodeForm::nfd); },
                [](TextEdit& edit) { write_in_form(edit, UnicodeForm::nfd); });
  map_characters(parts, [](char32_t c) {
    return is_nonspacing_mark(c) ? std::optional<char32_t>() : std::optional<char32_t>(c);
  });
}

}  // namespace

void Bert::normalise(SplitText& parts) const {
  const bool ascii = is_ascii(parts.text.text());
  if (settings_.clean_text) map_characters(parts, cleaned);
  if (settings_.handle_chinese_chars && !ascii) space_ideographs(parts);
  if (settings_.strip_accents.value_or(settings_.lowercase) && !ascii) strip_marks(parts);
  if (settings_.lowercase) lower(parts);
}

}  // namespace weft::normalizers
