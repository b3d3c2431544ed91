// Fuzzes GPT-2's vocab.json and merges.txt, concatenated with a zero byte between them. Any bytes
// result either in a tokenizer that survives a round trip through tokenizer.json and encodes any
// text, or in a FormatError.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "check_tokenizer.h"
#include "weft/core/error.h"
#include "weft/models/text/tokenizers/formats/text_files.h"
#include "weft/models/text/tokenizers/pipeline/subword_pipeline.h"
#include "weft/models/text/tokenizers/subword_tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::size_t vocab = std::min(bytes.find('\0'), size);
  const std::string_view merges = bytes.substr(std::min(vocab + 1, size));
  try {
    const weft::SubwordTokenizer tokenizer(
        std::make_shared<const weft::SubwordPipeline>(weft::read_gpt2_files(
            bytes.substr(0, vocab), merges, {.add_prefix_space = size % 2 == 0})));
    weft::testing::check_tokenizer(tokenizer, bytes);
  } catch (const weft::FormatError&) {  // the documented error for malformed files
  }
  return 0;
}
