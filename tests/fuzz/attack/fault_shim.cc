// Fault injection library for LD_PRELOAD. Makes calls to the C library fail. The environment
// variable WEFT_FAULT is "CALL:NUMBER:ERRNO". NUMBER is the index of the failing call, counted from
// 0; "NUMBER+" means this call and all later ones. If ERRNO is "kill", the process is killed during
// the call; if it is "stop", the process is stopped there, and the call succeeds after it is
// continued.
//
// For files with WEFT_FAULT_PATH in their path, CALL is
//   write, fsync, rename, open (for writing), fchmod, unlink, close,
//   short          write() writes only half of the bytes,
//   interrupted    write() fails with ERRNO (EINTR) and succeeds when retried,
//   read, open-to-read, mmap
// and for the whole process
//   memory         malloc and related functions, after main() has started,
//   pool           like memory, plus anonymous mmap, but only in calls from TBB,
//   thread         pthread_create.
//
// The file WEFT_FAULT_FIRED is created when the fault has occurred.
//
// Independently of faults, the absolute path of every file with WEFT_READS_PATH in its path that is
// opened for reading is appended to the file WEFT_READS, one per line.
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

std::atomic<bool> began{false};  // true after main() has started
std::atomic<int> calls{0};

/// Counts a call. If the call must fail, sets errno and returns true.
bool is_next(const char* call) {
  static const char* const fault = std::getenv("WEFT_FAULT");
  if (fault == nullptr) return false;
  const std::size_t length = std::strlen(call);
  if (std::strncmp(fault, call, length) != 0 || fault[length] != ':') return false;
  char* end = nullptr;
  const long number = std::strtol(fault + length + 1, &end, 10), now = calls++;
  if (*end == '+' ? now < number : now != number) return false;
  if (const char* fired = now == number ? std::getenv("WEFT_FAULT_FIRED") : nullptr) {
    const long fd = ::syscall(SYS_openat, AT_FDCWD, fired, O_WRONLY | O_CREAT, 0600);
    if (fd >= 0) ::syscall(SYS_close, fd);
  }
  const char* const error = std::strchr(end, ':') + 1;
  if (std::strcmp(error, "kill") == 0) ::raise(SIGKILL);
  if (std::strcmp(error, "stop") == 0) {
    if (now == number) ::kill(::getpid(), SIGSTOP);  // stops all threads
    return false;
  }
  errno = std::atoi(error);
  return true;
}

bool fails(const char* call, const char* path) {
  static const char* const below = std::getenv("WEFT_FAULT_PATH");
  return below != nullptr && path != nullptr && std::strstr(path, below) != nullptr &&
         is_next(call);
}

bool fails(const char* call, int fd) {
  char link[64], path[4096];
  std::snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
  const ssize_t size = ::readlink(link, path, sizeof(path) - 1);
  if (size < 0) return false;
  path[size] = 0;
  return fails(call, path);
}

bool is_fault(const char* call) {
  static const char* const fault = std::getenv("WEFT_FAULT");
  return fault != nullptr && std::strncmp(fault, call, std::strlen(call)) == 0;
}

bool out_of_memory(const void* caller) {
  if (!began.load(std::memory_order_relaxed)) return false;
  if (!is_fault("pool:")) return is_next("memory");
  Dl_info info{};
  return ::dladdr(caller, &info) != 0 && std::strstr(info.dli_fname, "libtbb") != nullptr &&
         is_next("pool");
}

template <class Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

int (*real_main)(int, char**, char**);

int main_after_start(int argc, char** argv, char** environment) {
  began = true;
  return real_main(argc, argv, environment);
}

void report_read(int fd) {
  static const char* const reads = std::getenv("WEFT_READS");
  static const char* const below = std::getenv("WEFT_READS_PATH");
  if (reads == nullptr || below == nullptr) return;
  char link[64], path[4096];
  std::snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
  ssize_t size = ::readlink(link, path, sizeof(path) - 1);
  if (size < 0) return;
  path[size] = 0;
  if (std::strstr(path, below) == nullptr) return;
  path[size++] = '\n';
  const int to =
      static_cast<int>(::syscall(SYS_openat, AT_FDCWD, reads, O_WRONLY | O_CREAT | O_APPEND, 0600));
  if (to < 0) return;
  static_cast<void>(::syscall(SYS_write, to, path, size));
  ::syscall(SYS_close, to);
}

int open_or_fail(const char* name, const char* path, int flags, mode_t mode) {
  const bool writes = (flags & O_ACCMODE) != O_RDONLY;
  if (fails(writes ? "open" : "open-to-read", path)) return -1;
  const int fd = next<int (*)(const char*, int, ...)>(name)(path, flags, mode);
  if (fd >= 0 && !writes) report_read(fd);
  return fd;
}

void* map_or_fail(const char* name, void* at, size_t bytes, int protection, int flags, int fd,
                  off_t offset, const void* caller) {
  if (fd >= 0 ? fails("mmap", fd) : is_fault("pool:") && out_of_memory(caller)) return MAP_FAILED;
  return next<void* (*)(void*, size_t, int, int, int, off_t)>(name)(at, bytes, protection, flags,
                                                                    fd, offset);
}

}  // namespace

// Internal names of malloc and related functions in the C library. Looking them up needs no
// dlsym(), which itself allocates memory.
extern "C" {

void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);

void* malloc(size_t bytes) {
  return out_of_memory(__builtin_return_address(0)) ? nullptr : __libc_malloc(bytes);
}
void* calloc(size_t count, size_t bytes) {
  return out_of_memory(__builtin_return_address(0)) ? nullptr : __libc_calloc(count, bytes);
}
void* realloc(void* old, size_t bytes) {
  return out_of_memory(__builtin_return_address(0)) ? nullptr : __libc_realloc(old, bytes);
}
void* aligned_alloc(size_t alignment, size_t bytes) {
  return out_of_memory(__builtin_return_address(0)) ? nullptr : __libc_memalign(alignment, bytes);
}
int posix_memalign(void** to, size_t alignment, size_t bytes) {
  void* const memory =
      out_of_memory(__builtin_return_address(0)) ? nullptr : __libc_memalign(alignment, bytes);
  if (memory == nullptr) return ENOMEM;
  *to = memory;
  return 0;
}

int __libc_start_main(int (*main)(int, char**, char**), int argc, char** argv, void (*init)(),
                      void (*fini)(), void (*rtld_fini)(), void* stack_end) {
  real_main = main;
  using Start =
      int (*)(int (*)(int, char**, char**), int, char**, void (*)(), void (*)(), void (*)(), void*);
  return next<Start>("__libc_start_main")(main_after_start, argc, argv, init, fini, rtld_fini,
                                          stack_end);
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*body)(void*),
                   void* argument) {
  if (is_next("thread")) return errno;
  return next<int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*)>(
      "pthread_create")(thread, attributes, body, argument);
}

ssize_t write(int fd, const void* data, size_t bytes) {
  static const auto real = next<ssize_t (*)(int, const void*, size_t)>("write");
  if (fails("write", fd) || fails("interrupted", fd)) return -1;
  if (bytes > 1 && fails("short", fd)) bytes /= 2;
  return real(fd, data, bytes);
}

ssize_t writev(int fd, const iovec* parts, int count) {
  static const auto real = next<ssize_t (*)(int, const iovec*, int)>("writev");
  if (fails("write", fd)) return -1;
  return real(fd, parts, count);
}

ssize_t read(int fd, void* data, size_t bytes) {
  static const auto real = next<ssize_t (*)(int, void*, size_t)>("read");
  if (fails("read", fd)) return -1;
  return real(fd, data, bytes);
}

int close(int fd) {
  static const auto real = next<int (*)(int)>("close");
  const bool failed = fails("close", fd);
  const int error = errno, result = real(fd);
  if (!failed) return result;
  errno = error;
  return -1;
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
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return open_or_fail("open", path, flags, mode);
}

int open64(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return open_or_fail("open64", path, flags, mode);
}

void* mmap(void* at, size_t bytes, int protection, int flags, int fd, off_t offset) {
  return map_or_fail("mmap", at, bytes, protection, flags, fd, offset, __builtin_return_address(0));
}

void* mmap64(void* at, size_t bytes, int protection, int flags, int fd, off_t offset) {
  return map_or_fail("mmap64", at, bytes, protection, flags, fd, offset,
                     __builtin_return_address(0));
}

}  // extern "C"
