// Fuzzes control messages between ranks. For any bytes, decoding returns nothing, or a message from
// a valid rank that is unchanged after encoding and decoding it again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <span>

#include "weft/core/world/word.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr int kRanks = 5;
  const auto bytes = std::as_bytes(std::span(data, size));
  const std::optional<weft::Word> word = weft::read_word(bytes, kRanks);
  if (!word) return 0;
  if (word->rank < 0 || word->rank >= kRanks || word->text.size() >= weft::kWordBytes) std::abort();
  if (weft::read_word(weft::write_word(*word), kRanks) != word) std::abort();
  return 0;
}
