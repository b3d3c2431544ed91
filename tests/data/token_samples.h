// Creates token files for tests.
#pragma once

#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "weft/models/text/tokens/token_set.h"
#include "weft/models/text/tokens/token_writer.h"

namespace weft::testing {

/// Returns a tokenizer for the characters a to z. If `ends` is true, they are preceded by ids for
/// padding and end of text.
inline Tokenizer letters(bool ends = false) {
  const Tokenizer tokenizer = CharacterTokenizer::from_text("abcdefghijklmnopqrstuvwxyz");
  return ends ? tokenizer.with_ends() : tokenizer;
}

/// Writes a token set that contains these documents, and opens it.
inline TokenSet write_tokens(const std::string& prefix, const Tokenizer& tokenizer,
                             const std::vector<std::string>& documents,
                             std::uint64_t file_bytes = TokenSetWriter::kDefaultFileBytes) {
  TokenSetWriter writer(prefix, tokenizer, file_bytes);
  for (const std::string& text : documents) {
    writer.add(tokenizer.encode(text), text.size());
    writer.end_document();
  }
  writer.finish();
  return TokenSet::open(prefix);
}

/// Returns all ids of a set.
inline std::vector<std::int32_t> all_ids(const TokenSet& set) {
  std::vector<std::int32_t> ids(static_cast<std::size_t>(set.tokens()));
  set.read(0, ids);
  return ids;
}

}  // namespace weft::testing
