#include "weft/models/text/tokenizers/normalizers/text_preparation.h"

#include <cctype>
#include <cstddef>
#include <optional>
#include <string_view>

#include "weft/models/text/tokenizers/normalizers/edits.h"
#include "weft/models/text/tokenizers/normalizers/unicode_forms.h"
#include "weft/models/text/unicode/characters.h"
#include "weft/models/text/unicode/properties.h"

namespace weft {
namespace {

void remove_punctuation(SplitText& text) {
  normalizers::map_characters(text, [](char32_t c) {
    const bool drop = c < 0x80 && std::ispunct(static_cast<unsigned char>(c)) != 0;
    return drop ? std::optional<char32_t>() : std::optional<char32_t>(c);
  });
}

void single_blanks(SplitText& text) {
  text.rewrite(
      [](std::string_view part) {
        return normalizers::find_character(part, is_python_space) < part.size();
      },
      [](TextEdit& edit) {
        const auto not_blank = [](char32_t c) { return !is_python_space(c); };
        while (!edit.at_end()) {
          edit.keep(normalizers::find_character(edit.rest(), is_python_space));
          const std::size_t run = normalizers::find_character(edit.rest(), not_blank);
          const bool between = !edit.at_part_begin() && run < edit.rest().size();
          const std::size_t first = between ? encoded_size(character_at(edit.rest(), 0)) : 0;
          if (between) edit.replace(U' ');
          edit.drop(run - first);
        }
      });
}

/// Returns the size of a pair of quote characters at the start of `text`, or 0 if there is none.
std::size_t quotes_at(std::string_view text) {
  return text.starts_with("``") || text.starts_with("''") ? 2 : 0;
}

void join_quotes(SplitText& text) {
  const auto next = [](std::string_view part) {
    std::size_t at = 0;
    while (at < part.size() && quotes_at(part.substr(at)) == 0) ++at;
    return at;
  };
  text.rewrite([&](std::string_view part) { return next(part) < part.size(); },
               [&](TextEdit& edit) {
                 while (!edit.at_end()) {
                   edit.keep(next(edit.rest()));
                   if (edit.at_end()) break;
                   edit.replace(U'"');
                   edit.drop(1);
                 }
               });
}

void strip_accents(SplitText& text) {
  normalizers::Nfkd().normalise(text);
  normalizers::map_characters(text, [](char32_t c) {
    return is_combining(c) ? std::optional<char32_t>() : std::optional<char32_t>(c);
  });
}

void lower_words(SplitText& text) {
  constexpr char32_t kSigma = 0x3A3, kFinalSigma = 0x3C2;
  text.rewrite(
      [](std::string_view part) { return part.find("\xCE\xA3") != std::string_view::npos; },
      [](TextEdit& edit) {
        while (!edit.at_end()) {
          const std::size_t at = edit.part().size() - edit.rest().size();
          const char32_t c = character_at(edit.rest(), 0);
          if (c == kSigma && is_final_sigma(edit.part(), at)) {
            edit.replace(kFinalSigma);
          } else {
            edit.keep(encoded_size(c));
          }
        }
      });
  normalizers::lower(text);
}

}  // namespace

void prepare(SplitText& text, const TextPreparation& preparation) {
  if (preparation.remove_punctuation) remove_punctuation(text);
  if (preparation.single_blanks) single_blanks(text);
  if (preparation.quotes) join_quotes(text);
  if (preparation.strip_accents) strip_accents(text);
  if (preparation.lowercase) lower_words(text);
  if (!preparation.split_punctuation) return;
  text.split([](std::string_view part, const auto& emit) {
    std::size_t begin = 0;
    for (std::size_t at = 0; at < part.size();) {
      const std::size_t here = at;
      if (!is_punctuation(take_character(part, at))) continue;
      emit(begin, here);
      emit(here, at);
      begin = at;
    }
    emit(begin, part.size());
  });
}

}  // namespace weft
