// Languages of multilingual translation models. They are specified as ids (mBART's "en_XX", NLLB's
// "eng_Latn", M2M100's "__en__", Marian's ">>fra<<") or in words (T5's "translate English to
// German: ").
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weft/models/generate/options.h"
#include "weft/models/generate/settings.h"
#include "weft/models/tasks/common/uses.h"
#include "weft/models/text/tokenizers/tokenizer.h"

namespace WEFT_API weft {

/// Returns the language codes that have ids in a tokenizer, sorted by id. Examples are "en_XX" and
/// "eng_Latn" or, for marked codes, "en" and "fra" without the marks. The list may be empty.
std::vector<std::string> language_codes(const Tokenizer& tokenizer);

/// The language ids and marks for inputs and outputs.
struct LanguageIds {
  /// Replaces the language code before or after a text by the code of the source language.
  void set_source_language(TokenIds& ids) const { set_language(ids, source); }
  /// Same, with the id of another language. Does nothing for -1. Throws ArgumentError if the text
  /// has no language code.
  void set_language(TokenIds& ids, std::int64_t language) const;
  bool is_language(std::int64_t id) const;

  std::int64_t source = -1, target = -1;  // -1: the model's default, or specified by `in_text`
  TokenIds codes = {};                    // ids of all languages
  bool mbart = false;                     // the codes are those of mBART: "en_XX"
  std::string in_text = {};               // added before every text: ">>fra<< "
};
/// Returns the ids for two language codes. If a code is missing from the tokenizer, throws an
/// ArgumentError that suggests similar codes and lists all codes.
LanguageIds language_ids(const Tokenizer& tokenizer, const Languages& languages);
/// Returns the ids of all language codes, without a source or target language.
LanguageIds all_languages(const Tokenizer& tokenizer);
/// Returns the position of the target code in outputs for texts that are encoded like `text`: true
/// if outputs begin with it (mBART: texts end with their code), false if it follows the start
/// id.
bool target_starts_outputs(const LanguageIds& languages, const TokenIds& text);

/// Returns the tokenizer with another source language: its tokenizer.json adds the code `to`
/// instead of the code of any other language. Other tokenizers, which add no codes, are returned
/// unchanged.
Tokenizer with_source_language(const Tokenizer& tokenizer, const std::string& to);

/// Source and target language in words: a task of the model, or a prefix.
struct LanguagePrefix {
  std::string task = {};
  std::string prefix = {};  // if there is no such task
};
/// Returns the task for two languages. For example, this is "translation_en_to_de" for the codes
/// "en" and "de", and for "English" and "German" if the prefix of the task contains these names. If
/// there is no such task, returns the standard prefix with the given names. Throws ArgumentError if
/// a language is missing, or if there is no task for two codes.
LanguagePrefix language_prefix(const GenerationSettings& settings, const Languages& languages);

}  // namespace weft
