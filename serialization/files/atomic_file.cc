#include "weft/serialization/files/atomic_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <utility>

#include "weft/core/error.h"
#include "weft/serialization/files/temporary_files.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

// File names have at most 255 bytes; the remaining bytes are for the suffix of temporary names.
constexpr std::size_t kMaxName = 200;

constexpr const char* kMark = ".tmp-";

[[noreturn]] void throw_io(std::string_view what, const std::string& path, int error) {
  throw IoError(fmt::format("cannot {} \"{}\": {}", what, path, std::strerror(error)));
}

/// Returns the name prefix of the temporary files for `path`, such as "model.weft.tmp-".
std::string temporary_prefix(const fs::path& path) {
  return path.filename().string().substr(0, kMaxName) + kMark;
}

/// Locks a file that was just created. Returns false if another process mistook it for a stale
/// temporary file.
bool lock(int fd) {
  // If the file system does not support locks, other processes do not remove the file either.
  if (::flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) return false;
  struct stat status {};
  return ::fstat(fd, &status) != 0 || status.st_nlink > 0;
}

}  // namespace

std::string follow_links(const std::string& path) {
  constexpr int kMaxLinks = 40;
  fs::path at = path;
  std::error_code error;
  for (int i = 0; fs::is_symlink(at, error); ++i) {
    if (i == kMaxLinks) throw_io("follow the link", path, ELOOP);
    const fs::path to = fs::read_symlink(at, error);
    if (error) throw_io("follow the link", path, error.value());
    at = to.is_absolute() ? to : at.parent_path() / to;
  }
  return at.string();
}

fs::path folder_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

bool for_each_name(const fs::path& folder,
                   const std::function<void(const std::string& name)>& use) {
  const auto close = [](DIR* open) { ::closedir(open); };
  const std::unique_ptr<DIR, decltype(close)> entries(::opendir(folder.c_str()), close);
  if (entries == nullptr) return false;
  for (;;) {
    errno = 0;
    const dirent* entry = ::readdir(entries.get());
    if (entry == nullptr) return errno == 0;
    const std::string name = entry->d_name;
    if (name != "." && name != "..") use(name);
  }
}

std::optional<std::string> target_of_temporary(std::string_view name) {
  const std::size_t at = name.rfind(kMark);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view end = name.substr(at + std::string_view(kMark).size());
  const std::size_t dash = end.find('-');
  const auto digits = [](std::string_view part) {
    return !part.empty() &&
           std::all_of(part.begin(), part.end(), [](char c) { return c >= '0' && c <= '9'; });
  };
  if (dash == std::string_view::npos || !digits(end.substr(0, dash)) ||
      !digits(end.substr(dash + 1)))
    return std::nullopt;
  return std::string(name.substr(0, at));
}

bool is_temporary_file(const std::string& file, const std::string& path) {
  const fs::path at(file);
  const auto target = target_of_temporary(at.filename().string());
  std::error_code error;
  return target && *target + kMark == temporary_prefix(path) &&
         fs::equivalent(folder_of(at), folder_of(path), error);
}

// The process that writes a temporary file holds a lock on it. The lock is released when the
// process ends, even on another machine that shares the disk, where its process id would be
// meaningless.
void remove_stale_files(const std::string& path) {
  const std::string prefix = temporary_prefix(path);
  const fs::path folder = folder_of(path);
  for_each_name(folder, [&](const std::string& name) {
    const auto target = target_of_temporary(name);
    if (!target || *target + kMark != prefix) return;
    const fs::path file = folder / name;
    const int fd = ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    if (fd < 0) return;
    struct stat status {};
    const bool ours =
        ::fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && ::flock(fd, LOCK_EX | LOCK_NB) == 0;
    // By now, another process may have created a file with this name.
    struct stat named {};
    if (ours && ::lstat(file.c_str(), &named) == 0 && named.st_ino == status.st_ino)
      ::unlink(file.c_str());
    ::close(fd);
  });
}

AtomicFile::AtomicFile(const std::string& path) : AtomicFile(path, path) {}

AtomicFile::AtomicFile(const std::string& path, const std::string& like)
    : path_(follow_links(path)) {
  if (!fs::path(path_).has_filename()) throw_io("write", path_, ENOENT);
  struct stat old {};
  const bool replaces = ::stat(path_.c_str(), &old) == 0;
  if (replaces && S_ISDIR(old.st_mode)) throw_io("write", path_, EISDIR);
  if (replaces && !S_ISREG(old.st_mode))
    throw IoError(fmt::format("cannot write \"{}\": it exists and is not a regular file", path_));
  if (replaces && ((old.st_mode & 0222) == 0 || ::access(path_.c_str(), W_OK) != 0))
    throw IoError(fmt::format("cannot write \"{}\": it is read-only", path_));
  remove_stale_files(path_);
  struct stat model {};
  const bool resembles = ::stat(like.c_str(), &model) == 0 && S_ISREG(model.st_mode);
  // Until the mode is set, the new file must not be more readable than the file that it replaces.
  create(resembles ? 0600 : 0666);
  if (!resembles) return;
  // Only root may change the owner. The mode is set afterwards, because changing the owner clears
  // parts of it.
  if (model.st_uid != ::geteuid() || model.st_gid != ::getegid())
    static_cast<void>(::fchown(fd_, model.st_uid, model.st_gid) == 0);
  // Some file systems do not support file modes.
  static_cast<void>(::fchmod(fd_, model.st_mode & 07777) == 0);
}

void AtomicFile::create(int mode) {
  const std::string prefix = (folder_of(path_) / temporary_prefix(path_)).string();
  for (int attempt = 0; attempt < 1000; ++attempt) {
    temporary_ = fmt::format("{}{}-{}", prefix, ::getpid(), attempt);
    fd_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (fd_ < 0 && errno == EEXIST) continue;
    if (fd_ < 0) break;
    if (lock(fd_)) return;
    ::close(fd_);
    fd_ = -1;
    errno = EEXIST;
  }
  throw_io("create", temporary_, errno);
}

AtomicFile::~AtomicFile() {
  if (fd_ < 0) return;
  ::unlink(temporary_.c_str());
  ::close(fd_);
}

void AtomicFile::write(const void* data, std::size_t bytes) {
  const auto* p = static_cast<const char*>(data);
  while (bytes > 0) {
    // A single call writes at most about 2 GiB.
    const ssize_t n = ::write(fd_, p, std::min(bytes, std::size_t{1} << 30));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw_io("write", path_, errno);
    p += n;
    bytes -= static_cast<std::size_t>(n);
    written_ += static_cast<std::uint64_t>(n);
  }
}

void AtomicFile::rewrite(std::uint64_t offset, const void* data, std::size_t bytes) {
  if (offset > written_ || bytes > written_ - offset) {
    throw ArgumentError(
        fmt::format("cannot overwrite bytes {} to {} of \"{}\": only {} bytes were written", offset,
                    offset + bytes, path_, written_));
  }
  const auto* p = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t n = ::pwrite(fd_, p, bytes, static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw_io("write", path_, errno);
    p += n;
    offset += static_cast<std::uint64_t>(n);
    bytes -= static_cast<std::size_t>(n);
  }
}

void AtomicFile::commit() {
  // Open the folder before the rename: if this fails, the old file still exists. A folder without
  // read permission cannot be synced, but the contents of the file are synced even then.
  const std::string folder = folder_of(path_).string();
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0 && errno != EACCES) throw_io("open the folder", folder, errno);
  try {
    take_name();
  } catch (...) {
    if (fd >= 0) ::close(fd);
    throw;
  }
  if (fd < 0) return;
  const int result = ::fsync(fd);
  const int error = errno;
  ::close(fd);
  // Some file systems cannot sync folders.
  if (result != 0 && error != EINVAL) throw_io("sync the folder", folder, error);
}

void AtomicFile::take_name() {
  if (::fsync(fd_) != 0) throw_io("sync", path_, errno);
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) throw_io("rename to", path_, errno);
  // fsync() has already reported disk errors.
  ::close(std::exchange(fd_, -1));
}

}  // namespace weft
