// Files and pipes, read from their beginning to their end.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "weft/core/export.h"

namespace WEFT_API weft {

struct ReadOptions {
  /// More is an error before (of files) or while (of pipes) it is read.
  std::uint64_t most_bytes = std::uint64_t{4} << 30;
  /// How long a pipe may have no writer, or say nothing.
  std::chrono::milliseconds patience{30'000};
};

/// A file, or what another program writes into a pipe until it closes it, block by block. Throws
/// IoError with path and reason: also for a folder, for a device (/dev/zero has no end), for a file
/// of more than `most_bytes`, and for a pipe that stays silent.
class InputFile {
 public:
  explicit InputFile(std::string path, const ReadOptions& options = {});
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  const std::string& path() const { return path_; }
  /// What the file says of itself; 0 of a pipe.
  std::uint64_t size() const { return size_; }
  /// Up to `most` bytes, at least one; 0 at the end.
  std::size_t read(char* to, std::size_t most);
  [[noreturn]] void fail(std::string_view why) const;

 private:
  using Clock = std::chrono::steady_clock;
  void check_kind();
  void wait(Clock::time_point deadline) const;

  std::string path_;
  ReadOptions options_;
  int fd_ = -1;
  bool pipe_ = false, had_writer_ = false;
  std::uint64_t size_ = 0;
};

/// The bytes of a file, or of what another program writes into a pipe until it closes it. Throws
/// IoError with path and reason: also for a folder, for a device (/dev/zero has no end), for more
/// than `most_bytes`, for a pipe that stays silent, and where memory runs out.
std::string read_whole_file(const std::string& path, const ReadOptions& options = {});

}  // namespace weft
