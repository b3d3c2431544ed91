// Writing a file so that readers see the old one or the new one, never half of one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// A new file that takes its name only when it is complete: bytes go to a temporary file in the
/// same folder; commit() syncs it, renames it over `path` and syncs the folder. Without commit()
/// nothing is left behind and an existing file stays as it was. A mapping of the old file stays
/// valid. A link is followed: the file behind it is replaced. Throws IoError with path and reason;
/// also where `path` is there and is no regular file (a device, a folder), or may not be written.
///
/// The new file has the mode of the one it replaces. What savers that were killed have left behind
/// ("PATH.tmp-PID-N" that no process has locked) is removed.
class AtomicFile {
 public:
  explicit AtomicFile(const std::string& path);
  /// With the mode of the file `like`, where there is one.
  AtomicFile(const std::string& path, const std::string& like);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(const void* data, std::size_t bytes);
  std::uint64_t written() const { return written_; }
  /// Replaces bytes that were written already: a header that says what came after it. Throws
  /// ArgumentError for bytes that were not.
  void rewrite(std::uint64_t offset, const void* data, std::size_t bytes);
  void commit();

 private:
  void create(int mode);
  void take_name();

  std::string path_, temporary_;
  int fd_ = -1;
  std::uint64_t written_ = 0;
};

}  // namespace weft
