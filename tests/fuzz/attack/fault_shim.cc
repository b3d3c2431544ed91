// A library for LD_PRELOAD: one call of the C library that touches a file below WEFT_FAULT_PATH
// fails. WEFT_FAULT is "CALL:NUMBER:ERRNO"; CALL is write, short (half of what was asked is
// written), fsync, rename, open, fchmod or unlink, NUMBER counts the calls from 0. The file
// WEFT_FAULT_FIRED is made when it has happened.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

std::atomic<int> calls{0};

/// True where this call is the one to fail; errno is set.
bool fails(const char* call, const char* path) {
  const char* fault = std::getenv("WEFT_FAULT");
  const char* below = std::getenv("WEFT_FAULT_PATH");
  if (fault == nullptr || below == nullptr || path == nullptr ||
      std::strstr(path, below) == nullptr)
    return false;
  const std::size_t length = std::strlen(call);
  if (std::strncmp(fault, call, length) != 0 || fault[length] != ':') return false;
  const char* number = fault + length + 1;
  if (calls++ != std::atoi(number)) return false;
  if (const char* fired = std::getenv("WEFT_FAULT_FIRED")) {
    const long fd = ::syscall(SYS_openat, AT_FDCWD, fired, O_WRONLY | O_CREAT, 0600);
    if (fd >= 0) ::syscall(SYS_close, fd);
  }
  errno = std::atoi(std::strchr(number, ':') + 1);
  return true;
}

bool fails(const char* call, int fd) {
  char link[64], path[4096];
  std::snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
  const ssize_t size = ::readlink(link, path, sizeof(path) - 1);
  if (size < 0) return false;
  path[size] = 0;
  return fails(call, path);
}

template <class Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

ssize_t write(int fd, const void* data, size_t bytes) {
  static const auto real = next<ssize_t (*)(int, const void*, size_t)>("write");
  if (fails("write", fd)) return -1;
  if (bytes > 1 && fails("short", fd)) bytes /= 2;
  return real(fd, data, bytes);
}

ssize_t writev(int fd, const iovec* parts, int count) {
  static const auto real = next<ssize_t (*)(int, const iovec*, int)>("writev");
  if (fails("write", fd)) return -1;
  return real(fd, parts, count);
}

int fsync(int fd) {
  static const auto real = next<int (*)(int)>("fsync");
  return fails("fsync", fd) ? -1 : real(fd);
}

int rename(const char* from, const char* to) {
  static const auto real = next<int (*)(const char*, const char*)>("rename");
  return fails("rename", to) ? -1 : real(from, to);
}

int unlink(const char* path) {
  static const auto real = next<int (*)(const char*)>("unlink");
  return fails("unlink", path) ? -1 : real(path);
}

int fchmod(int fd, mode_t mode) {
  static const auto real = next<int (*)(int, mode_t)>("fchmod");
  return fails("fchmod", fd) ? -1 : real(fd, mode);
}

int open(const char* path, int flags, ...) {
  static const auto real = next<int (*)(const char*, int, ...)>("open");
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  if ((flags & O_CREAT) != 0 && fails("open", path)) return -1;
  return real(path, flags, mode);
}

int open64(const char* path, int flags, ...) {
  static const auto real = next<int (*)(const char*, int, ...)>("open64");
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  if ((flags & O_CREAT) != 0 && fails("open", path)) return -1;
  return real(path, flags, mode);
}

}  // extern "C"
