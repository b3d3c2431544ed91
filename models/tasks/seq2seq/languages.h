// The languages of multilingual translators. A model takes them as ids (mBART's "en_XX", Marian's
// ">>fra<<") or in words (T5's "translate English to German: ").
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weft/models/generate/options.h"
#include "weft/models/generate/settings.h"
#include "weft/models/tasks/common/uses.h"
#include "weft/models/tokenizers/tokenizer.h"

namespace WEFT_API weft {

/// Returns the language codes that a tokenizer has ids for, in order of the ids: "en_XX", "de_DE",
/// ... or, without the marks around them, "fra", "deu", ...; otherwise empty.
std::vector<std::string> language_codes(const Tokenizer& tokenizer);

/// Language ids and marks in inputs and outputs.
struct LanguageIds {
  /// Replaces the language code before or after a text by that of the source.
  void set_source_language(TokenIds& ids) const;
  bool is_language(std::int64_t id) const;

  std::int64_t source = -1, target = -1;  // -1: the default of the model, or given by `in_text`
  TokenIds codes = {};                    // ids of all languages
  std::string in_text = {};               // put before every text: ">>fra<< "
};
/// Returns the ids for two language codes. Throws ArgumentError for a code that the tokenizer does
/// not have; the message suggests similar codes and lists all codes.
LanguageIds language_ids(const Tokenizer& tokenizer, const Languages& languages);

/// Source and target language in words: one of the tasks of a model, or a prefix.
struct LanguagePrefix {
  std::string task = {};
  std::string prefix = {};  // if there is no such task
};
/// Returns the task "translation_en_to_de" for the codes "en" and "de", and for "English" and
/// "German" if the prefix of the task contains these names; else the usual prefix of such tasks,
/// with the given names. Throws ArgumentError if a language is missing, and for codes without a
/// task.
LanguagePrefix language_prefix(const GenerationSettings& settings, const Languages& languages);

}  // namespace weft
