// Reads all of stdin.
#pragma once

#include <cstdint>
#include <string>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// Default size limit for stdin, since some inputs never end.
inline constexpr std::uint64_t kMaxStandardInput = std::uint64_t{1} << 30;

/// Returns the bytes of stdin up to its end. stdin may be a file, a terminal, a pipe (without a
/// time limit) or /dev/null (which is empty). Throws IoError if stdin cannot be read, is a folder
/// or another device, has more than `max_bytes`, or does not fit into memory.
std::string read_standard_input(std::uint64_t max_bytes = kMaxStandardInput);

}  // namespace weft
