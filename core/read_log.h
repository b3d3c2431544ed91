// A record of the files that the process reads.
#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// Records which files the process opens for reading. A program compares its output files with this
/// record, so that it also recognises inputs that it reads through another file: the shards of a
/// checkpoint, the files of a folder, the targets of links.
///
/// MappedFile and InputFile report every file that they open. Several logs may exist at a time, for
/// example one per rank of a ThreadWorld. Thread-safe.
class ReadLog {
 public:
  struct File {
    std::string path;  // as it was opened
    dev_t device;
    ino_t inode;
  };

  /// Starts the recording.
  ReadLog();
  ~ReadLog();
  ReadLog(const ReadLog&) = delete;
  ReadLog& operator=(const ReadLog&) = delete;

  /// Stops and resumes the recording. A program stops it while it looks at its own output files.
  void stop() { set_recording(false); }
  void resume() { set_recording(true); }
  /// Returns the files that were opened, each with the path of its first opening.
  std::vector<File> files() const;

  /// Reports that `path` was opened for reading as `fd`.
  static void record(int fd, const std::string& path);

 private:
  void set_recording(bool recording);

  bool recording_ = true;
  std::map<std::pair<dev_t, ino_t>, std::string> files_;
};

}  // namespace weft
