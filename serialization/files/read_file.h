// Sequential reading of whole files and pipes.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "weft/core/export.h"

namespace WEFT_API weft {

struct ReadOptions {
  /// Size limit in bytes. Larger files are rejected before they are read, longer pipes while they
  /// are read.
  std::uint64_t max_bytes = std::uint64_t{4} << 30;
  /// How long to wait for a pipe that has no writer or delivers no data.
  std::chrono::milliseconds patience{30'000};
};
/// For JSON files with settings or an index: far above the size of any real file.
inline constexpr ReadOptions kJsonLimit = {.max_bytes = std::uint64_t{64} << 20};

/// Reads a file block by block, or a pipe until its writer closes it. Throws IoError with path and
/// reason, for example for a folder, a device (/dev/zero never ends), a file larger than
/// `max_bytes`, or a pipe that delivers no data.
class InputFile {
 public:
  explicit InputFile(std::string path, const ReadOptions& options = {});
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  const std::string& path() const { return path_; }
  /// The size that the file system reports; 0 for a pipe.
  std::uint64_t size() const { return size_; }
  /// Reads at least one byte and at most `most` bytes. Returns the number of bytes read, which is 0
  /// at the end of the file.
  std::size_t read(char* to, std::size_t most);
  /// Throws an IoError with the path and `why`.
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

/// Returns the bytes of a file, or of a pipe until its writer closes it. Throws IoError with path
/// and reason, for example for a folder, a device (/dev/zero never ends), more than `max_bytes`
/// bytes, a pipe that delivers no data or a Git LFS pointer, or if memory runs out.
std::string read_whole_file(const std::string& path, const ReadOptions& options = {});

/// Returns the first `most` bytes of a regular file to find out its format, or fewer if the file is
/// shorter. Returns nothing for a pipe, which can be read only once, and for a file that cannot be
/// opened. Throws IoError if reading fails.
std::string first_bytes(const std::string& path, std::size_t most);

}  // namespace weft
