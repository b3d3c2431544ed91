// Offsets in the arena for blocks with lifetimes.
#pragma once

#include <cstddef>
#include <vector>

namespace weft {

/// A range of memory that lives from wave `begin` to wave `end`, both included.
struct MemoryBlock {
  std::size_t bytes = 0;
  int begin = 0;
  int end = 0;
  std::size_t offset = 0;  // the answer
};

/// Sets the offsets, multiples of 64 bytes, such that blocks which live at the same time do not
/// overlap, and returns the bytes needed. Takes the best of several: in order of time at the best
/// fitting hole; and at the lowest free place the largest block first (Pisarchyk and Lee,
/// "Efficient memory management for deep neural net inference", 2020), the one that lives longest,
/// or the one with most bytes times waves, left out where their quadratic time would show.
std::size_t assign_offsets(std::vector<MemoryBlock>& blocks);

/// Most bytes (each block rounded up to 64) that live at the same time: what no assignment can
/// beat.
std::size_t live_peak(const std::vector<MemoryBlock>& blocks);

}  // namespace weft
