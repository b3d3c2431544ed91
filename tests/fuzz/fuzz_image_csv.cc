// Fuzzes image tables. For any text, parse_image_csv() returns a non-empty set of images that all
// have a class, or throws FormatError.
#include <cstdlib>

#include "weft/core/error.h"
#include "weft/models/data/images/image_csv.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const weft::ImageSet set =
        weft::parse_image_csv({reinterpret_cast<const char*>(data), size}, "fuzz");
    if (set.images.size(0) != set.count() || set.count() == 0) std::abort();
    for (const std::int32_t label : set.labels) {
      if (label < 0 || static_cast<std::size_t>(label) >= set.classes.size()) std::abort();
    }
  } catch (const weft::FormatError&) {  // the documented error for malformed text
  }
  return 0;
}
