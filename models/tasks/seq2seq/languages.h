// Languages that a translator of several is told by ids: mBART's "en_XX", Marian's ">>fra<<".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weft/models/generate/options.h"
#include "weft/models/tokenizers/tokenizer.h"

namespace weft {

/// The codes that a tokenizer has ids for, in order of these: "en_XX", "de_DE", ... or, without the
/// signs around, "fra", "deu", ...; empty where it knows none.
std::vector<std::string> language_codes(const Tokenizer& tokenizer);

/// What a text is translated from and into; empty: what the model does anyway.
struct Languages {
  std::string source, target;
};

/// How texts are read and what their outputs begin with.
struct LanguageIds {
  /// Replaces the code in front of a text or behind it by that of the source.
  void put_source(TokenIds& ids) const;
  bool is_language(std::int64_t id) const;

  std::int64_t source = -1, target = -1;  // -1: as the model does anyway, or by `in_text`
  TokenIds codes = {};                    // of all languages
  std::string in_text = {};               // in front of every text: ">>fra<< "
};
/// Throws ArgumentError for a code that the tokenizer does not know: it lists those that it does.
LanguageIds language_ids(const Tokenizer& tokenizer, const Languages& languages);

}  // namespace weft
