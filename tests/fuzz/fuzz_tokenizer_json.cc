// Fuzzes tokenizer.json. For any bytes, from_bytes() returns a tokenizer that survives a round trip
// through its serialised form and encodes any text, or throws FormatError.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "check_tokenizer.h"
#include "weft/core/error.h"
#include "weft/models/text/tokenizers/subword_tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  try {
    weft::testing::check_tokenizer(weft::SubwordTokenizer::from_bytes(bytes), bytes);
  } catch (const weft::FormatError&) {  // the documented error for a malformed tokenizer
  }
  return 0;
}
