// Atomic replacement of a file: readers open either the complete old file or the complete new one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// A new file that receives its name only when it is complete. Bytes are written to a temporary
/// file in the same folder; commit() syncs it, renames it to `path` and syncs the folder. Without
/// commit(), the temporary file is removed and an existing file stays unchanged. Mappings of the
/// old file stay valid. If `path` is a symbolic link, its target is replaced. Throws IoError with
/// path and reason, also if `path` exists and is not a regular file (a device, a folder) or is not
/// writable.
///
/// The new file has the mode of the file that it replaces. The constructor removes temporary files
/// of killed processes ("PATH.tmp-PID-N" that no process has locked).
class AtomicFile {
 public:
  explicit AtomicFile(const std::string& path);
  /// Gives the new file the mode of the file `like`, if `like` exists.
  AtomicFile(const std::string& path, const std::string& like);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(const void* data, std::size_t bytes);
  std::uint64_t written() const { return written_; }
  /// Overwrites bytes that have already been written, for example a header that depends on the data
  /// after it. Throws ArgumentError if the range has not been written yet.
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
