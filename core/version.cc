#include "weft/core/version.h"

#define WEFT_TEXT_OF(number) #number
#define WEFT_TEXT(number) WEFT_TEXT_OF(number)

namespace weft {

std::string_view version() {
  return WEFT_TEXT(WEFT_VERSION_MAJOR) "." WEFT_TEXT(WEFT_VERSION_MINOR) "." WEFT_TEXT(
      WEFT_VERSION_PATCH);
}

int version_number() { return WEFT_VERSION; }

}  // namespace weft
