// The orientation that cameras store in pictures.
#pragma once

#include <string_view>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// Returns the EXIF orientation of a JPEG or PNG file, from 1 to 8 (see oriented()). It is the tag
/// 0x0112 in the first directory of the first Exif segment (JPEG) or of the eXIf chunk (PNG).
/// Returns 1 if the file has no such tag or the metadata are damaged: viewers, too, display such
/// pictures as they are stored. Accepts any bytes.
int exif_orientation(std::string_view bytes);

}  // namespace weft
