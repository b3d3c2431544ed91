// Atomic replacement of a folder: readers find either the complete old folder or the complete new
// one.
#pragma once

#include <string>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// A new folder that receives its name only when it is complete. Files are written into a temporary
/// folder in the same parent folder; commit() syncs and renames it. An existing folder is exchanged
/// with the new one in one step if the file system supports this, otherwise by two renames, and
/// then removed. Without commit(), the temporary folder is removed and an existing folder stays
/// unchanged. Symbolic links are followed. Throws IoError with path and reason, also if `path`
/// exists and is not a folder.
///
/// The constructor removes temporary folders of killed processes ("PATH.tmp-PID-N" that no process
/// has locked).
class AtomicFolder {
 public:
  explicit AtomicFolder(const std::string& path);
  ~AtomicFolder();
  AtomicFolder(const AtomicFolder&) = delete;
  AtomicFolder& operator=(const AtomicFolder&) = delete;

  /// The path of the temporary folder, into which files are written.
  const std::string& place() const { return temporary_; }
  /// Writes a file in the folder. `name` may contain subfolders, which are created.
  void write(const std::string& name, const std::string& bytes) const;
  void commit();

 private:
  std::string path_, temporary_;
  int fd_ = -1;
};

}  // namespace weft
