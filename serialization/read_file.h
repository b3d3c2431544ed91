// Whole files into memory, with an end.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace weft {

struct ReadOptions {
  /// More is an error before (of files) or while (of pipes) it is read.
  std::uint64_t most_bytes = std::uint64_t{4} << 30;
  /// How long a pipe may have no writer, or say nothing.
  std::chrono::milliseconds patience{30'000};
};

/// The bytes of a file, or of what another program writes into a pipe until it closes it. Throws
/// IoError with path and reason: also for a folder, for a device (/dev/zero has no end), for more
/// than `most_bytes`, for a pipe that stays silent, and where memory runs out.
std::string read_whole_file(const std::string& path, const ReadOptions& options = {});

}  // namespace weft
