// Memory for tensors: allocated, borrowed and memory-mapped buffers.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "weft/core/error.h"
#include "weft/core/read_log.h"
#include "weft/core/sigbus_handler.h"
#include "weft/core/tensor.h"

namespace weft {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;
// Buffers of at least this size are allocated in a block of their own. The unused bytes at the end
// of such a block, and the small (slower) pages there, are negligible.
constexpr std::size_t kLarge = 8 * kHugePage;

// The data pointer of an empty mapping. It is not null, so callers may form a range from it.
constexpr std::byte kNothing[1] = {};

[[noreturn]] void throw_io(const char* what, const std::string& path, int error) {
  throw IoError(fmt::format("cannot {} \"{}\": {}", what, path, std::strerror(error)));
}

}  // namespace

std::shared_ptr<Buffer> Buffer::allocate(std::size_t bytes) {
  void* data = nullptr;
  const bool huge = bytes >= kHugePage;
  const bool addressable =
      bytes <= static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max()) - kHugePage;
  // posix_memalign is used because aligned_alloc requires the size to be rounded up to the
  // alignment, which would touch the rest of the last huge page.
  if (!addressable || posix_memalign(&data, huge ? kHugePage : kTensorAlignment,
                                     std::max(bytes, kTensorAlignment)) != 0) {
    throw StateError(fmt::format("out of memory: cannot allocate {} bytes", bytes));
  }
#ifdef MADV_HUGEPAGE
  // This is only a hint. If transparent huge pages are not available, the call fails harmlessly.
  if (huge) static_cast<void>(madvise(data, bytes / kHugePage * kHugePage, MADV_HUGEPAGE));
#endif
  std::shared_ptr<Buffer> buffer;
  try {
    buffer.reset(new Buffer());
  } catch (...) {
    std::free(data);
    throw;
  }
  buffer->data_ = static_cast<std::byte*>(data);
  buffer->bytes_ = bytes;
  buffer->owned_ = true;
  buffer->allocated_ = true;
  return buffer;
}

std::vector<std::shared_ptr<Buffer>> Buffer::allocate_together(std::span<const std::size_t> bytes) {
  constexpr std::size_t kPage = 4096;
  const auto place = [](std::size_t end, std::size_t size) {
    const std::size_t alignment = size < kPage ? kTensorAlignment : kPage;
    return (end + alignment - 1) / alignment * alignment;
  };
  std::size_t total = 0;
  for (const std::size_t size : bytes) {
    if (size < kLarge) total = place(total, size) + size;
  }
  std::shared_ptr<Buffer> block;
  std::size_t end = 0;
  std::vector<std::shared_ptr<Buffer>> result;
  result.reserve(bytes.size());
  for (const std::size_t size : bytes) {
    if (size >= kLarge) {
      result.push_back(allocate(size));
      continue;
    }
    if (block == nullptr) block = allocate(total);
    const std::size_t begin = place(end, size);
    result.push_back(borrow(block->data() + begin, size, block, true));
    result.back()->allocated_ = true;
    end = begin + size;
  }
  return result;
}

std::shared_ptr<Buffer> Buffer::borrow(void* data, std::size_t bytes,
                                       std::shared_ptr<const void> owner, bool writable) {
  if (data == nullptr && bytes > 0) {
    throw ArgumentError(fmt::format("cannot borrow {} bytes from a null pointer", bytes));
  }
  // Replaces the null pointer of an empty buffer and is never read or written. Kernels may add
  // offsets to the address (an operand without elements may still have rows or columns), which is
  // undefined behaviour for null pointers.
  alignas(kTensorAlignment) static std::byte nothing[kTensorAlignment];
  std::shared_ptr<Buffer> buffer(new Buffer());
  buffer->data_ = data == nullptr ? nothing : static_cast<std::byte*>(data);
  buffer->bytes_ = bytes;
  buffer->writable_ = writable;
  buffer->owner_ = std::move(owner);
  return buffer;
}

Buffer::~Buffer() {
  if (owned_) std::free(data_);
}

std::shared_ptr<MappedFile> MappedFile::open(const std::string& path) {
  std::shared_ptr<MappedFile> file(new MappedFile());
  file->path_ = path;
  file->data_ = kNothing;
  // Without O_NONBLOCK, opening a FIFO that has no writer would block forever.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) throw_io("open", path, errno);
  struct stat status {};
  if (::fstat(fd, &status) != 0) {
    const int error = errno;
    ::close(fd);
    throw_io("read the size of", path, error);
  }
  if (!S_ISREG(status.st_mode)) {
    ::close(fd);
    throw IoError(fmt::format("cannot map \"{}\": it is not a regular file", path));
  }
  ReadLog::record(fd, path);
  const auto bytes = static_cast<std::size_t>(status.st_size);
  if (bytes > 0) {
    void* data = ::mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, fd, 0);
    if (data == MAP_FAILED) {
      const int error = errno;
      ::close(fd);
      throw_io("map", path, error);
    }
    file->data_ = static_cast<const std::byte*>(data);
    file->bytes_ = bytes;
    register_mapping(data, bytes, file->path_.c_str());
  }
  ::close(fd);  // the mapping keeps the file open
  return file;
}

MappedFile::~MappedFile() {
  if (bytes_ == 0) return;
  unregister_mapping(data_);
  ::munmap(const_cast<std::byte*>(data_), bytes_);
}

}  // namespace weft
