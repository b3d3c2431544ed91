// stdin as a whole.
#pragma once

#include <cstdint>
#include <string>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// More is an error: there are inputs without an end.
inline constexpr std::uint64_t kMostStandardInput = std::uint64_t{1} << 30;

/// The bytes of stdin up to its end: of a file, of what a person types, of a pipe, which may be
/// silent for as long as it likes; none of /dev/null. Throws IoError where it cannot be read, for a
/// folder and any other device, for more than `most_bytes`, and where memory runs out.
std::string read_standard_input(std::uint64_t most_bytes = kMostStandardInput);

}  // namespace weft
