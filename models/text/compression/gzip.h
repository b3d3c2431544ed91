// Decompresses gzip files (RFC 1952). Many data sets are published in this format.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "weft/core/export.h"
#include "weft/models/text/compression/decompressor.h"

namespace WEFT_API weft {

/// Returns true if `bytes` begin with a gzip header.
bool is_gzip(std::string_view bytes);

/// Decompresses one or more members of any size. `name` is the name of the file in error messages.
std::unique_ptr<Decompressor> gzip_decompressor(std::string name);

/// Returns the decompressed contents of a gzip file with one or more members. `name` identifies the
/// source of the bytes in error messages. Throws FormatError if the file is damaged or truncated
/// (with the byte offset in the compressed file), or if the contents exceed `max_bytes`.
std::string gunzip(std::string_view bytes, std::string_view name,
                   std::uint64_t max_bytes = std::uint64_t{1} << 32);

/// Returns the first `bytes_wanted` bytes of the contents, or all bytes if there are fewer. Throws
/// the same errors as gunzip(), but checks only the part that is read.
std::string gunzip_start(std::string_view bytes, std::string_view name, std::size_t bytes_wanted);

}  // namespace weft
