// Fuzzes the handshake messages of ranks, and lists of texts. Any bytes are either parsed to a
// value that serialises to the same bytes, or rejected with FormatError.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "weft/core/error.h"
#include "weft/core/world/handshake.h"
#include "weft/core/world/text_list.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  try {
    std::string list;
    for (const std::string& text : weft::split_texts(bytes)) weft::append_text(list, text);
    if (list != bytes) std::abort();
    const weft::Handshake handshake = weft::Handshake::parse(bytes);
    if (handshake.bytes() != bytes) std::abort();
  } catch (const weft::FormatError&) {  // the documented error for malformed bytes
  }
  return 0;
}
