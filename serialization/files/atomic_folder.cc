#include "weft/serialization/files/atomic_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <utility>

#include "weft/core/error.h"
#include "weft/serialization/files/atomic_file.h"
#include "weft/serialization/files/temporary_files.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void throw_folder_error(std::string_view what, const std::string& path, int error) {
  throw IoError(fmt::format("cannot {} \"{}\": {}", what, path, std::strerror(error)));
}

/// Returns `path` without trailing slashes and with symbolic links followed.
std::string real_name(const std::string& path) {
  const auto without_slash = [](std::string name) {
    while (name.size() > 1 && name.ends_with('/')) name.pop_back();
    return name;
  };
  return without_slash(follow_links(without_slash(path)));
}

/// Opens and locks a folder. Returns -1 if it cannot be opened or another process has locked it.
int lock_folder(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return -1;
  if (::flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return fd;
  ::close(fd);
  return -1;
}

/// Removes temporary folders of killed processes. Ignores errors, so folders that cannot be removed
/// are kept.
void remove_stale_folders(const fs::path& path) {
  const std::string name = path.filename().string();
  const fs::path folder = folder_of(path);
  for_each_name(folder, [&](const std::string& found) {
    if (target_of_temporary(found) != name) return;
    const int fd = lock_folder((folder / found).string());
    if (fd < 0) return;
    std::error_code ignored;
    fs::remove_all(folder / found, ignored);
    ::close(fd);
  });
}

void sync_folder(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) {
    if (errno == EACCES) return;  // a folder without read permission cannot be synced
    throw_folder_error("open the folder", path, errno);
  }
  const int result = ::fsync(fd);
  const int error = errno;
  ::close(fd);
  // Some file systems cannot sync folders.
  if (result != 0 && error != EINVAL) throw_folder_error("sync the folder", path, error);
}

/// Exchanges the names of two folders. If the file system does not support an exchange, uses two
/// renames; between them, readers find no folder.
void swap_names(const std::string& fresh, const std::string& old) {
  if (::renameat2(AT_FDCWD, fresh.c_str(), AT_FDCWD, old.c_str(), RENAME_EXCHANGE) == 0) return;
  if (errno != EINVAL && errno != ENOSYS) throw_folder_error("replace the folder", old, errno);
  // A folder with this name is not treated as a stale temporary folder, because for a moment it is
  // the only copy.
  const std::string aside = fmt::format("{}.old-{}", old, ::getpid());
  if (::rename(old.c_str(), aside.c_str()) != 0)
    throw_folder_error("replace the folder", old, errno);
  if (::rename(fresh.c_str(), old.c_str()) != 0) {
    const int error = errno;
    static_cast<void>(::rename(aside.c_str(), old.c_str()) == 0);
    throw_folder_error("rename to", old, error);
  }
  static_cast<void>(::rename(aside.c_str(), fresh.c_str()) == 0);
}

}  // namespace

AtomicFolder::AtomicFolder(const std::string& path) : path_(real_name(path)) {
  if (path_.empty()) throw_folder_error("write the folder", path, ENOENT);
  struct stat there {};
  if (::stat(path_.c_str(), &there) == 0 && !S_ISDIR(there.st_mode))
    throw_folder_error("write the folder", path_, ENOTDIR);
  remove_stale_folders(path_);
  for (int attempt = 0; attempt < 1000; ++attempt) {
    temporary_ = fmt::format("{}.tmp-{}-{}", path_, ::getpid(), attempt);
    if (::mkdir(temporary_.c_str(), 0777) != 0) {
      if (errno == EEXIST) continue;
      throw_folder_error("create the folder", temporary_, errno);
    }
    fd_ = lock_folder(temporary_);
    if (fd_ >= 0) return;
  }
  throw_folder_error("create the folder", temporary_, EEXIST);
}

AtomicFolder::~AtomicFolder() {
  if (fd_ < 0) return;
  std::error_code ignored;
  fs::remove_all(temporary_, ignored);
  ::close(fd_);
}

void AtomicFolder::write(const std::string& name, const std::string& bytes) const {
  const fs::path file = fs::path(temporary_) / name;
  std::error_code error;
  fs::create_directories(file.parent_path(), error);
  if (error) throw_folder_error("create the folder", file.parent_path().string(), error.value());
  AtomicFile out(file.string());
  out.write(bytes.data(), bytes.size());
  out.commit();
}

void AtomicFolder::commit() {
  sync_folder(temporary_);
  struct stat there {};
  const bool replaces = ::stat(path_.c_str(), &there) == 0;
  if (replaces) {
    // The new folder has the permissions of the old one.
    static_cast<void>(::chmod(temporary_.c_str(), there.st_mode & 07777) == 0);
    swap_names(temporary_, path_);
    std::error_code ignored;
    fs::remove_all(temporary_, ignored);
  } else if (::rename(temporary_.c_str(), path_.c_str()) != 0) {
    throw_folder_error("rename to", path_, errno);
  }
  ::close(std::exchange(fd_, -1));
  const fs::path folder = fs::path(path_).parent_path();
  sync_folder(folder.empty() ? "." : folder.string());
}

}  // namespace weft
