// Fuzzes compressed and uncompressed IDX files. For any bytes, parse_idx() returns a readable
// tensor or throws FormatError.
#include "weft/core/error.h"
#include "weft/models/data/images/image_idx.h"
#include "weft/models/text/compression/gzip.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  try {
    const weft::Tensor tensor = weft::parse_idx(
        weft::is_gzip(bytes) ? weft::gunzip(bytes, "fuzz", 1 << 24) : std::string(bytes), "fuzz");
    if (tensor.numel() > 0) tensor.at(tensor.numel() - 1);
  } catch (const weft::FormatError&) {  // the documented error for a malformed file
  }
  return 0;
}
