// Fuzzes the Dim parser. For any bytes, Dim::parse() returns a Dim that can be printed and parsed
// again, or throws FormatError.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>

#include "weft/core/dim.h"
#include "weft/core/error.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // When products of sums are expanded, their size is exponential in the length of the text.
  if (size > 256) return 0;
  std::map<std::string, weft::SymbolPtr, std::less<>> symbols;
  const auto symbol = [&](std::string_view name) {
    weft::SymbolPtr& s = symbols[std::string(name)];
    if (!s) s = std::make_shared<const weft::Symbol>(weft::Symbol{std::string(name)});
    return s;
  };
  try {
    const weft::Dim dim = weft::Dim::parse({reinterpret_cast<const char*>(data), size}, symbol);
    if (!(weft::Dim::parse(dim.str(), symbol) == dim)) std::abort();
  } catch (const weft::FormatError&) {  // the documented error for malformed text
  }
  return 0;
}
