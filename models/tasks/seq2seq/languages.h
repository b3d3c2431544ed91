// Languages that a translator of several is told: by ids, mBART's "en_XX" and Marian's ">>fra<<",
// or in words, T5's "translate English to German: ".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weft/models/generate/options.h"
#include "weft/models/generate/settings.h"
#include "weft/models/tasks/common/uses.h"
#include "weft/models/tokenizers/tokenizer.h"

namespace WEFT_API weft {

/// The codes that a tokenizer has ids for, in order of these: "en_XX", "de_DE", ... or, without the
/// signs around, "fra", "deu", ...; empty where it knows none.
std::vector<std::string> language_codes(const Tokenizer& tokenizer);

/// How texts are read and what their outputs begin with.
struct LanguageIds {
  /// Replaces the code in front of a text or behind it by that of the source.
  void put_source(TokenIds& ids) const;
  bool is_language(std::int64_t id) const;

  std::int64_t source = -1, target = -1;  // -1: as the model does anyway, or by `in_text`
  TokenIds codes = {};                    // of all languages
  std::string in_text = {};               // in front of every text: ">>fra<< "
};
/// Throws ArgumentError for a code that the tokenizer does not know: it names those that are near,
/// and lists those that there are.
LanguageIds language_ids(const Tokenizer& tokenizer, const Languages& languages);

/// How a model is told both languages in words: by one of its tasks, or by a prefix.
struct LanguagePrefix {
  std::string task = {};
  std::string prefix = {};  // without a task
};
/// The task "translation_en_to_de" for the codes "en" and "de", and for "English" and "German"
/// where its prefix has these names; else the prefix that such tasks have, with the names. Throws
/// ArgumentError where a language is missing, and for codes that no task has.
LanguagePrefix language_prefix(const GenerationSettings& settings, const Languages& languages);

}  // namespace weft
