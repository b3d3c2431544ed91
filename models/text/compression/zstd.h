// Decompresses zstd files (RFC 8878). Large text corpora are published in this format.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "weft/models/text/compression/decompressor.h"

namespace WEFT_API weft {

/// Returns true if `bytes` begin with a zstd or skippable frame header.
bool is_zstd(std::string_view bytes);

/// Decompresses one or more frames of any size. A window above 128 MiB (zstd --long=28 and above)
/// is rejected, because it would have to be held in memory.
std::unique_ptr<Decompressor> zstd_decompressor(std::string name);

}  // namespace weft
