#include "weft/models/tasks/seq2seq/languages.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

#include "weft/core/error.h"
#include "weft/core/excerpt.h"

namespace weft {
namespace {

constexpr std::string_view kOpen = ">>", kClose = "<<";

bool all_of(std::string_view text, int (*is)(int)) {
  return std::all_of(text.begin(), text.end(),
                     [&](char c) { return is(static_cast<unsigned char>(c)) != 0; });
}

/// "en_XX".
bool is_code(std::string_view piece) {
  const std::size_t bar = piece.find('_');
  return (bar == 2 || bar == 3) && piece.size() == bar + 3 &&
         all_of(piece.substr(0, bar), [](int c) { return std::islower(c); }) &&
         all_of(piece.substr(bar + 1), [](int c) { return std::isupper(c); });
}

/// ">>fra<<".
bool is_marked(std::string_view piece) {
  return piece.size() > kOpen.size() + kClose.size() && piece.starts_with(kOpen) &&
         piece.ends_with(kClose);
}

std::string marked(const std::string& code) { return fmt::format("{}{}{}", kOpen, code, kClose); }

/// Calls use(id, piece) for the special ids.
template <class Use>
void for_special(const Tokenizer& tokenizer, Use&& use) {
  for (std::int32_t id = 0; id < tokenizer.vocab_size(); ++id) {
    if (tokenizer.is_special(id)) use(id, tokenizer.piece(id));
  }
}

[[noreturn]] void unknown(const Tokenizer& tokenizer, const std::string& code) {
  const std::vector<std::string> known = language_codes(tokenizer);
  throw ArgumentError(
      known.empty()
          ? fmt::format("the model knows no language codes, and so not '{}'", excerpt(code))
          : fmt::format("unknown language code '{}': the model knows {}", excerpt(code),
                        fmt::join(known, ", ")));
}

}  // namespace

std::vector<std::string> language_codes(const Tokenizer& tokenizer) {
  std::vector<std::string> codes;
  for_special(tokenizer, [&](std::int32_t, const std::string& piece) {
    if (is_code(piece)) codes.push_back(piece);
    if (is_marked(piece))
      codes.push_back(piece.substr(kOpen.size(), piece.size() - kOpen.size() - kClose.size()));
  });
  return codes;
}

LanguageIds language_ids(const Tokenizer& tokenizer, const Languages& languages) {
  LanguageIds ids;
  if (languages.source.empty() && languages.target.empty()) return ids;
  for_special(tokenizer, [&](std::int32_t id, const std::string& piece) {
    if (is_code(piece)) ids.codes.push_back(id);
    if (is_code(piece) && piece == languages.source) ids.source = id;
    if (is_code(piece) && piece == languages.target) ids.target = id;
    if (is_marked(piece) && piece == marked(languages.target)) ids.in_text = piece + " ";
  });
  if (!languages.source.empty() && ids.source < 0) unknown(tokenizer, languages.source);
  if (!languages.target.empty() && ids.target < 0 && ids.in_text.empty())
    unknown(tokenizer, languages.target);
  return ids;
}

bool LanguageIds::is_language(std::int64_t id) const {
  return std::find(codes.begin(), codes.end(), id) != codes.end();
}

void LanguageIds::put_source(TokenIds& ids) const {
  if (source < 0) return;
  bool found = false;
  for (std::int64_t* id : {&ids.front(), &ids.back()}) {
    if (!is_language(*id)) continue;
    *id = source;
    found = true;
  }
  if (!found) throw ArgumentError("the model's tokenizer puts no language code around texts");
}

}  // namespace weft
