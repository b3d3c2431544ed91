// Fuzzes the text form of graphs. For any bytes, parse_text() returns a module or throws
// FormatError. The text of a module does not change when it is parsed and printed again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "weft/core/error.h"
#include "weft/graph/text/text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const weft::Module module = weft::parse_text(text);
    weft::TextConstants constants;
    const std::string printed = to_text(*module.graph, {.constants = &constants});
    const weft::Module again = weft::parse_text(printed, {.constants = &constants});
    if (to_text(*again.graph, {.constants = &constants}) != printed) std::abort();
  } catch (const weft::FormatError&) {  // the documented error for malformed text
  }
  return 0;
}
