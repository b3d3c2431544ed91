// Fuzzer checks that every tokenizer read from untrusted bytes must pass. A violation aborts the
// program.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <string>
#include <string_view>

#include "weft/core/error.h"
#include "weft/models/text/tokenizers/tokenizer.h"

namespace weft::testing {

/// Checks that ids are in the vocabulary, that spans are within the text, and that encode_text()
/// and encode() return the same ids.
inline void check_text(const Tokenizer& tokenizer, std::string_view text) {
  try {
    const Encoding encoding = tokenizer.encode_text(text, {.add_special = false});
    for (std::size_t i = 0; i < encoding.size(); ++i) {
      if (encoding.ids[i] < 0 || encoding.ids[i] >= tokenizer.vocab_size()) std::abort();
      if (encoding.spans[i].begin > encoding.spans[i].end || encoding.spans[i].end > text.size())
        std::abort();
    }
    if (encoding.ids != tokenizer.encode(text)) std::abort();
    tokenizer.decode(encoding.ids, DecodeOptions{.keep_special = true});
    tokenizer.encode_pair({text, text});
    tokenizer.encode_text(
        text, {.special_in_text = false, .broken = InvalidBytes::kept, .place = TextPlace::middle});
  } catch (const DataError&) {  // unknown text without an unknown token, or a regex limit
  }
}

/// Checks that the tokenizer survives a round trip through its serialised form, and that it encodes
/// a fixed text and the last 100 bytes of the input `bytes`.
inline void check_tokenizer(const Tokenizer& tokenizer, std::string_view bytes) {
  const std::string written = tokenizer.bytes();
  if (Tokenizer::from_bytes(tokenizer.type(), written).bytes() != written) std::abort();
  check_text(tokenizer, "The cat  sat\ton \u00e9\u2581\u65e5 12 </s>");
  check_text(tokenizer, bytes.substr(bytes.size() - std::min<std::size_t>(bytes.size(), 100)));
}

}  // namespace weft::testing
