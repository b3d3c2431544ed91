#include "weft/models/tasks/seq2seq/languages.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <type_traits>

#include "weft/core/closest.h"
#include "weft/core/error.h"
#include "weft/core/excerpt.h"

namespace weft {
namespace {

constexpr std::string_view kOpen = ">>", kClose = "<<";

bool all_of(std::string_view text, int (*is)(int)) {
  return std::all_of(text.begin(), text.end(),
                     [&](char c) { return is(static_cast<unsigned char>(c)) != 0; });
}

bool is_lower(std::string_view text) {
  return all_of(text, [](int c) { return std::islower(c); });
}
bool is_upper(std::string_view text) {
  return all_of(text, [](int c) { return std::isupper(c); });
}

/// Returns true for mBART's language codes such as "en_XX".
bool is_mbart_code(std::string_view piece) {
  const std::size_t bar = piece.find('_');
  return (bar == 2 || bar == 3) && piece.size() == bar + 3 && is_lower(piece.substr(0, bar)) &&
         is_upper(piece.substr(bar + 1));
}

/// Returns true for NLLB's codes of a language and its script such as "eng_Latn".
bool is_nllb_code(std::string_view piece) {
  return piece.size() == 8 && piece[3] == '_' && is_lower(piece.substr(0, 3)) &&
         is_upper(piece.substr(4, 1)) && is_lower(piece.substr(5));
}

/// Returns the language code in M2M100's tokens such as "__en__", or "" for other tokens.
std::string_view m2m100_code(std::string_view piece) {
  constexpr std::size_t kBars = 2;  // on both sides
  if (piece.size() < 2 * kBars + 2 || piece.size() > 2 * kBars + 3 || !piece.starts_with("__") ||
      !piece.ends_with("__"))
    return {};
  const std::string_view code = piece.substr(kBars, piece.size() - 2 * kBars);
  // Special tokens of other models.
  constexpr std::string_view kOthers[] = {"bos", "cls", "end", "eos", "pad", "sep", "unk"};
  const bool other = std::find(std::begin(kOthers), std::end(kOthers), code) != std::end(kOthers);
  return is_lower(code) && !other ? code : std::string_view();
}

/// Returns the language code of a token, or "" if it is no language or has the marks of Marian.
std::string_view code_of(std::string_view piece) {
  return is_mbart_code(piece) || is_nllb_code(piece) ? piece : m2m100_code(piece);
}

/// Returns true for marked language codes such as ">>fra<<".
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

/// Returns suggestions for an unknown code: codes for the same language and codes with a similar
/// spelling.
std::vector<std::string> near_codes(const std::string& code,
                                    const std::vector<std::string>& known) {
  constexpr std::size_t kTypos = 1, kMost = 5;
  const auto lower = [](std::string text) {
    std::transform(text.begin(), text.end(), text.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return text;
  };
  const auto language = [&](const std::string& text) {
    return lower(text.substr(0, text.find_first_of("_-")));
  };
  std::vector<std::string> near;
  for (const std::string& other : known) {
    const std::string a = language(code), b = language(other);
    const bool same = a == b || (a.size() >= 2 && b.starts_with(a)) ||
                      edit_distance(lower(code), lower(other)) <= kTypos;
    if (same && near.size() < kMost) near.push_back(other);
  }
  return near;
}

[[noreturn]] void unknown(const std::string& code, const std::vector<std::string>& known) {
  const std::vector<std::string> near = near_codes(code, known);
  throw ArgumentError(
      known.empty()
          ? fmt::format("the model has no language codes, so '{}' cannot be used", excerpt(code))
          : fmt::format(
                "unknown language code '{}'{}: the model supports {}", excerpt(code),
                near.empty() ? "" : fmt::format(" (did you mean {}?)", fmt::join(near, " or ")),
                list_names(known, known.size())));
}

constexpr std::string_view kTranslation = "translation_", kTo = "_to_";

/// Returns the languages of a task such as "translation_en_to_de", or nullopt for other tasks.
std::optional<Languages> languages_of(const std::string& task) {
  const std::size_t to = task.find(kTo);
  if (!task.starts_with(kTranslation) || to == std::string::npos) return std::nullopt;
  return Languages{task.substr(kTranslation.size(), to - kTranslation.size()),
                   task.substr(to + kTo.size())};
}

/// Returns true for a code ("en", "deu"), false for a name.
bool is_short(const std::string& language) { return language.size() <= 3 && is_lower(language); }

std::string prefix_of(const Languages& languages) {
  return fmt::format("translate {} to {}: ", languages.source, languages.target);
}

}  // namespace

std::vector<std::string> language_codes(const Tokenizer& tokenizer) {
  std::vector<std::string> codes;
  for_special(tokenizer, [&](std::int32_t, const std::string& piece) {
    if (const std::string_view code = code_of(piece); !code.empty()) codes.emplace_back(code);
    if (is_marked(piece))
      codes.push_back(piece.substr(kOpen.size(), piece.size() - kOpen.size() - kClose.size()));
  });
  return codes;
}

namespace {

/// Returns the ids of all codes and those of the given languages that exist.
LanguageIds find_languages(const Tokenizer& tokenizer, const Languages& languages) {
  LanguageIds ids;
  for_special(tokenizer, [&](std::int32_t id, const std::string& piece) {
    if (const std::string_view code = code_of(piece); !code.empty()) {
      ids.codes.push_back(id);
      ids.mbart |= is_mbart_code(piece);
      if (code == languages.source) ids.source = id;
      if (code == languages.target) ids.target = id;
    }
    if (is_marked(piece) && piece == marked(languages.target)) ids.in_text = piece + " ";
  });
  return ids;
}

}  // namespace

LanguageIds all_languages(const Tokenizer& tokenizer) { return find_languages(tokenizer, {}); }

LanguageIds language_ids(const Tokenizer& tokenizer, const Languages& languages) {
  if (languages.source.empty() && languages.target.empty()) return {};
  LanguageIds ids = find_languages(tokenizer, languages);
  const std::vector<std::string> known = language_codes(tokenizer);
  if (!languages.source.empty() && ids.codes.empty() && !known.empty()) {
    throw ArgumentError("the model accepts only a target language: leave out the source language");
  }
  if (!languages.source.empty() && ids.source < 0) unknown(languages.source, known);
  if (!languages.target.empty() && ids.target < 0 && ids.in_text.empty())
    unknown(languages.target, known);
  return ids;
}

LanguagePrefix language_prefix(const GenerationSettings& settings, const Languages& languages) {
  if (languages.source.empty() || languages.target.empty()) {
    throw ArgumentError(
        "the model needs both languages in its prefix: give the source and the target language");
  }
  std::vector<std::string> known;
  for (const auto& [name, task] : settings.tasks) {
    const std::optional<Languages> both = languages_of(name);
    if (!both) continue;
    known.push_back(fmt::format("{} to {}", both->source, both->target));
    const bool codes = both->source == languages.source && both->target == languages.target;
    if (codes || task.prefix == prefix_of(languages)) return {.task = name};
  }
  if (!known.empty() && is_short(languages.source) && is_short(languages.target)) {
    throw ArgumentError(fmt::format("the model does not translate {} to {}: it supports {}",
                                    excerpt(languages.source), excerpt(languages.target),
                                    list_names(known)));
  }
  return {.prefix = prefix_of(languages)};
}

bool LanguageIds::is_language(std::int64_t id) const {
  return std::find(codes.begin(), codes.end(), id) != codes.end();
}

void LanguageIds::set_language(TokenIds& ids, std::int64_t language) const {
  if (language < 0) return;
  bool found = false;
  for (std::int64_t* id : {&ids.front(), &ids.back()}) {
    if (!is_language(*id)) continue;
    *id = language;
    found = true;
  }
  if (!found) throw ArgumentError("the model's tokenizer does not add language codes to texts");
}

bool target_starts_outputs(const LanguageIds& languages, const TokenIds& text) {
  return languages.mbart && !languages.is_language(text.front());
}

Tokenizer with_source_language(const Tokenizer& tokenizer, const std::string& to) {
  const auto* kind = tokenizer.visit([](const auto& any) {
    const SubwordTokenizer* found = nullptr;
    if constexpr (std::is_same_v<std::decay_t<decltype(any)>, SubwordTokenizer>) found = &any;
    return found;
  });
  if (kind == nullptr) return tokenizer;
  nlohmann::ordered_json file = nlohmann::ordered_json::parse(kind->to_bytes());
  const std::int64_t id = language_ids(tokenizer, {.source = to}).source;
  const std::string token = tokenizer.piece(id);
  // The post-processor is a template, or contains one.
  const auto replace = [&](auto& self, nlohmann::ordered_json& part) -> void {
    if (!part.is_structured()) return;
    if (const auto special = part.find("SpecialToken"); part.is_object() && special != part.end()) {
      if (!code_of((*special)["id"].get<std::string>()).empty()) (*special)["id"] = token;
    }
    if (const auto tokens = part.find("special_tokens"); part.is_object() && tokens != part.end()) {
      nlohmann::ordered_json kept = nlohmann::ordered_json::object();
      for (const auto& [name, value] : tokens->items()) {
        if (code_of(name).empty()) kept[name] = value;
      }
      if (kept.size() < tokens->size())
        kept[token] = {{"id", token}, {"ids", {id}}, {"tokens", {token}}};
      *tokens = kept;
    }
    for (auto& inner : part) self(self, inner);
  };
  replace(replace, file["post_processor"]);
  return SubwordTokenizer::from_bytes(file.dump());
}

}  // namespace weft
