// Memory next to an inaccessible page. A kernel that reads or writes one byte beyond its memory
// crashes at that instruction instead of silently accessing adjacent data.
#pragma once

#include <cstddef>

#include "weft/core/tensor.h"

namespace weft::testing {

/// Selects the end of the memory that touches the inaccessible page.
enum class Guard {
  after,   // directly after the last byte
  before,  // directly before the first byte
};

/// A block of bytes between two inaccessible pages. `guard` selects the page that touches the
/// block. The space between the block and the other page is filled with a pattern.
class GuardedMemory {
 public:
  /// The address is a multiple of `alignment` (a power of two up to 4096). Guard::after rounds the
  /// address down to a multiple, so up to alignment - 1 pattern bytes may lie between the end of
  /// the block and the guard page.
  GuardedMemory(std::size_t bytes, Guard guard, std::size_t alignment = 1);
  ~GuardedMemory();
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;

  std::byte* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  /// After this call, writes crash as well.
  void make_read_only();
  /// Returns false if anything was written between the block and the inaccessible pages.
  bool pattern_intact() const;

 private:
  std::byte* base_ = nullptr;  // first byte of the accessible pages
  std::size_t room_ = 0;       // size of the accessible pages in bytes
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

/// Returns a read-only copy of `tensor` in guarded memory of its own. Like a caller's tensor, the
/// copy may be aligned only to its element size. An undefined tensor stays undefined.
Tensor guarded_copy(const Tensor& tensor, Guard guard);
/// As above, but returns a writable tensor whose bytes are all 0xA5.
Tensor guarded_empty(DType dtype, const Sizes& sizes, Guard guard);

}  // namespace weft::testing
