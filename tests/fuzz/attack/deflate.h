// Compression, used to create small files that decompress to very large ones.
#pragma once

#include <zlib.h>

#include <string>

namespace weft::attack {

/// Returns `bytes` compressed with deflate. `window` is the windowBits argument of zlib's
/// deflateInit2(), which selects the zlib or the gzip format. `flush` is the flush argument of
/// deflate().
std::string deflated(const std::string& bytes, int window, int flush = Z_FINISH);

}  // namespace weft::attack
