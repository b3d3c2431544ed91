#include "weft/tests/support/cases/guarded_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "weft/core/error.h"

namespace weft::testing {
namespace {

constexpr int kPattern = 0xA5;

std::size_t page_size() {
  static const auto size = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return size;
}

Tensor tensor_over(const std::shared_ptr<GuardedMemory>& memory, DType dtype, const Sizes& sizes,
                   bool writable) {
  return Tensor::view(dtype, sizes,
                      Buffer::borrow(memory->data(), memory->bytes(), memory, writable));
}

}  // namespace

GuardedMemory::GuardedMemory(std::size_t bytes, Guard guard, std::size_t alignment)
    : bytes_(bytes) {
  const std::size_t page = page_size();
  room_ = (bytes + alignment - 1 + page - 1) / page * page;
  void* const mapped = mmap(nullptr, room_ + 2 * page, PROT_NONE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) throw StateError("out of memory: cannot map a guarded buffer");
  base_ = static_cast<std::byte*>(mapped) + page;
  if (room_ > 0 && mprotect(base_, room_, PROT_READ | PROT_WRITE) != 0) {
    throw StateError("cannot make a guarded buffer writable");
  }
  data_ = guard == Guard::before ? base_ : base_ + (room_ - bytes) / alignment * alignment;
  std::memset(base_, kPattern, room_);
}

GuardedMemory::~GuardedMemory() { munmap(base_ - page_size(), room_ + 2 * page_size()); }

void GuardedMemory::make_read_only() {
  if (room_ > 0 && mprotect(base_, room_, PROT_READ) != 0) {
    throw StateError("cannot make a guarded buffer read-only");
  }
}

bool GuardedMemory::pattern_intact() const {
  const auto is_pattern = [](std::byte b) { return b == static_cast<std::byte>(kPattern); };
  return std::all_of(base_, data_, is_pattern) &&
         std::all_of(data_ + bytes_, base_ + room_, is_pattern);
}

Tensor guarded_copy(const Tensor& tensor, Guard guard) {
  if (!tensor.defined()) return {};
  const auto memory =
      std::make_shared<GuardedMemory>(tensor.bytes(), guard, dtype_size(tensor.dtype()));
  if (tensor.bytes() > 0) std::memcpy(memory->data(), tensor.raw(), tensor.bytes());
  memory->make_read_only();
  return tensor_over(memory, tensor.dtype(), tensor.sizes(), false);
}

Tensor guarded_empty(DType dtype, const Sizes& sizes, Guard guard) {
  const std::size_t size = dtype_size(dtype);
  const auto memory = std::make_shared<GuardedMemory>(
      static_cast<std::size_t>(num_elements(sizes)) * size, guard, size);
  return tensor_over(memory, dtype, sizes, true);
}

}  // namespace weft::testing
