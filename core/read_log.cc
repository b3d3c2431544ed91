#include "weft/core/read_log.h"

#include <sys/stat.h>

#include <algorithm>
#include <mutex>

namespace weft {
namespace {

/// All logs of the process, and the lock that protects them and their contents.
struct OpenLogs {
  std::mutex lock;
  std::vector<ReadLog*> logs;
};

OpenLogs& open_logs() {
  static OpenLogs all;
  return all;
}

}  // namespace

ReadLog::ReadLog() {
  OpenLogs& all = open_logs();
  const std::lock_guard guard(all.lock);
  all.logs.push_back(this);
}

ReadLog::~ReadLog() {
  OpenLogs& all = open_logs();
  const std::lock_guard guard(all.lock);
  all.logs.erase(std::find(all.logs.begin(), all.logs.end(), this));
}

void ReadLog::set_recording(bool recording) {
  const std::lock_guard guard(open_logs().lock);
  recording_ = recording;
}

std::vector<ReadLog::File> ReadLog::files() const {
  const std::lock_guard guard(open_logs().lock);
  std::vector<File> all;
  for (const auto& [identity, path] : files_)
    all.push_back({path, identity.first, identity.second});
  return all;
}

void ReadLog::record(int fd, const std::string& path) {
  OpenLogs& all = open_logs();
  const std::lock_guard guard(all.lock);
  const bool wanted = std::any_of(all.logs.begin(), all.logs.end(),
                                  [](const ReadLog* log) { return log->recording_; });
  struct stat status {};
  if (!wanted || ::fstat(fd, &status) != 0) return;
  for (ReadLog* log : all.logs) {
    if (log->recording_) log->files_.try_emplace({status.st_dev, status.st_ino}, path);
  }
}

}  // namespace weft
