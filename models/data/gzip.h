// Decompresses gzip (RFC 1952), in which many data sets are published.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "weft/core/export.h"
#include "weft/models/data/decompressor.h"

namespace WEFT_API weft {

/// Returns true if `bytes` start like a gzip file.
bool is_gzip(std::string_view bytes);

/// Decompresses one or more members of any size. `name` names the file in error messages.
std::unique_ptr<Decompressor> gzip_decompressor(std::string name);

/// Returns the decompressed contents of a gzip file of one or more members. `name` names the source
/// of the bytes in error messages. Throws FormatError with the byte offset in the compressed file
/// if it is damaged or truncated, and if the contents exceed `most_bytes`.
std::string gunzip(std::string_view bytes, std::string_view name,
                   std::uint64_t most_bytes = std::uint64_t{1} << 32);

/// Returns the first `bytes_wanted` bytes of the contents, or all if there are fewer. Throws as
/// gunzip() for the part that was read.
std::string gunzip_start(std::string_view bytes, std::string_view name, std::size_t bytes_wanted);

}  // namespace weft
