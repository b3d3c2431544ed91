// Fuzzes BERT's vocab.txt. Any bytes result either in a tokenizer that survives a round trip
// through tokenizer.json and encodes any text, or in a FormatError.
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
  try {
    // The settings depend on whether the size is odd or even, so that the fuzzer covers both.
    const weft::SubwordTokenizer tokenizer(std::make_shared<const weft::SubwordPipeline>(
        weft::read_bert_files(bytes, {.lowercase = size % 2 == 0})));
    weft::testing::check_tokenizer(tokenizer, bytes);
  } catch (const weft::FormatError&) {  // the documented error for a malformed vocabulary
  }
  return 0;
}
