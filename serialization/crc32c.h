// CRC-32C (Castagnoli polynomial; RFC 3720, appendix B.4).
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// The checksum of `bytes` bytes; `seed` is the checksum of what came before (0 at the start).
std::uint32_t crc32c(const void* data, std::size_t bytes, std::uint32_t seed = 0);

/// The same without special instructions, as CPUs that lack them compute it.
std::uint32_t crc32c_portable(const void* data, std::size_t bytes, std::uint32_t seed = 0);

}  // namespace weft
