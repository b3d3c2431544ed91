// CRC-32C (Castagnoli polynomial; RFC 3720, appendix B.4).
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// Returns the checksum of `bytes` bytes. `seed` is the checksum of the preceding bytes, 0 at the
/// start.
std::uint32_t crc32c(const void* data, std::size_t bytes, std::uint32_t seed = 0);

/// Like crc32c(), but always uses the code for CPUs without CRC instructions.
std::uint32_t crc32c_portable(const void* data, std::size_t bytes, std::uint32_t seed = 0);

}  // namespace weft
