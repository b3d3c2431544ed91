// Locks on the files of a training run.
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace weft::program {

/// Marks files as being written by this training run until the object is destroyed or the process
/// ends, so that two runs do not mix their checkpoints.
///
/// The lock on "net.weft" is a lock (flock) on "net.weft.tmp-0-0", a temporary file that names the
/// run. The next save removes the file of a killed process. Runs on several
/// machines exclude each other if their file system supports flock across machines. If it does not
/// support locks at all, runs are not excluded.
class RunLocks {
 public:
  RunLocks() = default;
  ~RunLocks();
  RunLocks(const RunLocks&) = delete;
  RunLocks& operator=(const RunLocks&) = delete;

  /// Locks the file that the option `what` names. `run` describes this run to other processes, such
  /// as "weft train gpt". Throws IoError if another run has locked the file.
  void add(const std::string& what, const std::string& path, const std::string& run);

 private:
  struct Held {
    std::string path;
    int fd;
  };
  std::vector<Held> held_;
};

/// Throws IoError if a training run has locked the file.
void check_no_run(const std::string& what, const std::string& path);

}  // namespace weft::program
