// tokenizer.json: whatever the bytes, from_bytes() gives a tokenizer that comes back from its own
// bytes and takes any text, or throws FormatError.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "weft/core/error.h"
#include "weft/models/tokenizers/tokenizer.h"

namespace {

void check_text(const weft::Tokenizer& tokenizer, std::string_view text) {
  try {
    const weft::Encoding encoding = tokenizer.encode_text(text, {.add_special = false});
    for (std::size_t i = 0; i < encoding.size(); ++i) {
      if (encoding.ids[i] < 0 || encoding.ids[i] >= tokenizer.vocab_size()) std::abort();
      if (encoding.spans[i].begin > encoding.spans[i].end || encoding.spans[i].end > text.size())
        std::abort();
    }
    if (encoding.ids != tokenizer.encode(text)) std::abort();
    tokenizer.decode(encoding.ids, weft::DecodeOptions{.keep_special = true});
    tokenizer.encode_pair({text, text});
    tokenizer.encode_text(text, {.special_in_text = false,
                                 .broken = weft::BrokenBytes::kept,
                                 .place = weft::TextPlace::middle});
  } catch (const weft::DataError&) {  // what is unknown has no id, or a pattern gives up
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  try {
    const weft::Tokenizer tokenizer = weft::SubwordTokenizer::from_bytes(bytes);
    const std::string written = tokenizer.bytes();
    if (weft::Tokenizer::from_bytes(tokenizer.type(), written).bytes() != written) std::abort();
    check_text(tokenizer, "The cat  sat\ton \u00e9\u2581\u65e5 12 </s>");
    check_text(tokenizer, bytes.substr(bytes.size() - std::min<std::size_t>(bytes.size(), 100)));
  } catch (const weft::FormatError&) {  // the answer to what is no tokenizer
  }
  return 0;
}
