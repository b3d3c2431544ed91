// Memory next to a page that nobody may touch: a kernel that reads or writes one byte beyond what
// it was given crashes at that instruction, instead of reading a neighbour by luck.
#pragma once

#include <cstddef>

#include "weft/core/tensor.h"

namespace weft::testing {

/// On which side of the memory the page lies.
enum class Guard {
  behind,  // right behind the last byte
  before,  // right in front of the first byte
};

/// A block of bytes with an inaccessible page on both sides; `guard` says which of them touches the
/// block. What lies between the block and the other page is filled with a pattern.
class GuardedMemory {
 public:
  /// The address is a multiple of `alignment` (a power of two up to 4096). Guard::behind rounds the
  /// address down to it, so that up to alignment - 1 bytes of pattern lie between the end and the
  /// page.
  GuardedMemory(std::size_t bytes, Guard guard, std::size_t alignment = 1);
  ~GuardedMemory();
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;

  std::byte* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  /// From here on a write crashes too.
  void make_read_only();
  /// False if somebody wrote between the block and the pages.
  bool pattern_intact() const;

 private:
  std::byte* base_ = nullptr;  // of the accessible pages
  std::size_t room_ = 0;       // bytes of the accessible pages
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

/// A copy of `tensor` in guarded memory of its own, aligned to its element only, as a caller's
/// tensor may be, and read-only. Undefined stays undefined.
Tensor guarded_copy(const Tensor& tensor, Guard guard);
/// The same for a tensor to write into; every byte is 0xA5.
Tensor guarded_empty(DType dtype, const Sizes& sizes, Guard guard);

}  // namespace weft::testing
