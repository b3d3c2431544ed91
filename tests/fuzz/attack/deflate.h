// Packed bytes for files that unpack to much.
#pragma once

#include <zlib.h>

#include <string>

namespace weft::attack {

/// What deflate makes of `bytes` (zlib's or gzip's, as `window` says).
std::string packed(const std::string& bytes, int window, int flush = Z_FINISH);

}  // namespace weft::attack
