// Writing a folder so that readers see the old one or the new one, never half of one.
#pragma once

#include <string>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// A new folder that takes its name only when it is complete: files are written into a temporary
/// one beside it; commit() syncs that, and gives it the name. A folder that is there already is
/// exchanged for it in one step (where the file system can; else by two renames) and then removed.
/// Without commit() nothing is left behind and an existing folder stays as it was. A link is
/// followed. Throws IoError with path and reason; also where something is there that is no folder.
///
/// What savers that were killed have left behind ("PATH.tmp-PID-N" that no process has locked) is
/// removed.
class AtomicFolder {
 public:
  explicit AtomicFolder(const std::string& path);
  ~AtomicFolder();
  AtomicFolder(const AtomicFolder&) = delete;
  AtomicFolder& operator=(const AtomicFolder&) = delete;

  /// Where the files go.
  const std::string& place() const { return temporary_; }
  /// A file of it; folders in front of its name are made.
  void write(const std::string& name, const std::string& bytes) const;
  void commit();

 private:
  std::string path_, temporary_;
  int fd_ = -1;
};

}  // namespace weft
