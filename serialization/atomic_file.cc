#include "weft/serialization/atomic_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "weft/core/error.h"

namespace weft {
namespace {

[[noreturn]] void throw_io(std::string_view what, const std::string& path, int error) {
  throw IoError(fmt::format("cannot {} \"{}\": {}", what, path, std::strerror(error)));
}

}  // namespace

AtomicFile::AtomicFile(const std::string& path) : path_(path) {
  // A link is followed: the file behind it is replaced, not the link.
  std::error_code ignored;
  if (std::filesystem::is_symlink(path, ignored)) {
    const auto target = std::filesystem::weakly_canonical(path, ignored);
    if (!ignored) path_ = target.string();
  }
  for (int attempt = 0; attempt < 1000 && fd_ < 0; ++attempt) {
    temporary_ = fmt::format("{}.tmp-{}-{}", path_, ::getpid(), attempt);
    fd_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd_ < 0 && errno != EEXIST) break;
  }
  if (fd_ < 0) throw_io("create", temporary_, errno);
}

AtomicFile::~AtomicFile() {
  if (fd_ < 0) return;
  ::close(fd_);
  ::unlink(temporary_.c_str());
}

void AtomicFile::write(const void* data, std::size_t bytes) {
  const auto* p = static_cast<const char*>(data);
  while (bytes > 0) {
    // One call writes at most about 2 GiB.
    const ssize_t n = ::write(fd_, p, std::min(bytes, std::size_t{1} << 30));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw_io("write", path_, errno);
    p += n;
    bytes -= static_cast<std::size_t>(n);
    written_ += static_cast<std::uint64_t>(n);
  }
}

void AtomicFile::commit() {
  if (::fsync(fd_) != 0) throw_io("sync", path_, errno);
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) throw_io("rename to", path_, errno);
  ::close(fd_);
  fd_ = -1;
  std::filesystem::path parent = std::filesystem::path(path_).parent_path();
  if (parent.empty()) parent = std::filesystem::current_path();
  const std::string folder = parent.string();
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) throw_io("open the folder", folder, errno);
  // Some file systems cannot sync folders; the file itself is safe then too.
  const int result = ::fsync(fd);
  const int error = errno;
  ::close(fd);
  if (result != 0 && error != EINVAL) throw_io("sync the folder", folder, error);
}

}  // namespace weft
