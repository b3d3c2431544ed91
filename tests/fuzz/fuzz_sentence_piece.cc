// Fuzzes SentencePiece models. For any bytes, from_bytes() returns a tokenizer that survives a
// round trip through its serialised form and encodes any text, or throws FormatError.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/error.h"
#include "weft/models/text/tokenizers/sentence_piece/sentence_piece.h"

namespace {

void check_text(const weft::SentencePieceTokenizer& tokenizer, std::string_view text) {
  try {
    std::uint32_t end = 0;
    std::vector<std::int32_t> ids;
    for (const weft::SubwordSpan& part : tokenizer.encode_spans(text)) {
      if (part.id < 0 || part.id >= tokenizer.vocab_size() || part.begin > part.end ||
          part.end > text.size() || part.end < end)
        std::abort();
      end = part.end;
      ids.push_back(part.id);
    }
    if (ids != tokenizer.encode(text)) std::abort();
    if (tokenizer.pieces(text).size() != ids.size()) std::abort();
    tokenizer.decode(ids);
    tokenizer.encode_spans(text, weft::TextPlace::middle, true);
    if (tokenizer.model().algorithm == weft::SentencePieceModel::Algorithm::unigram)
      tokenizer.best(text, 3);
  } catch (const weft::FormatError&) {  // models trained by Weft reject invalid UTF-8
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  try {
    const auto tokenizer = weft::SentencePieceTokenizer::from_bytes(bytes);
    const std::string written = tokenizer.to_bytes();
    if (weft::SentencePieceTokenizer::from_bytes(written).to_bytes() != written) std::abort();
    check_text(tokenizer, "the cat  sat\ton \u00e9\u2581\u65e5 12 </s>");
    check_text(tokenizer, bytes.substr(bytes.size() - std::min<std::size_t>(bytes.size(), 100)));
  } catch (const weft::FormatError&) {  // the documented error for a malformed model
  }
  return 0;
}
