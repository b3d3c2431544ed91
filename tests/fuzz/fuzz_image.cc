// Fuzzes PNG, JPEG and BMP files. For any bytes, decode_image() returns an image with values from 0
// to 1 (only the last value is checked) or throws FormatError, and exif_orientation() returns a
// value from 1 to 8.
#include <cstdlib>

#include "weft/core/error.h"
#include "weft/models/data/images/image_codec.h"
#include "weft/models/data/images/image_orientation.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (const int found = weft::exif_orientation(bytes); found < 1 || found > 8) std::abort();
  for (const int channels : {1, 3}) {
    try {
      const weft::Tensor image = weft::decode_image(bytes, channels, "fuzz");
      const double last = image.at(image.numel() - 1);
      if (!(last >= 0 && last <= 1)) std::abort();
    } catch (const weft::FormatError&) {  // the documented error for a malformed file
    }
  }
  return 0;
}
