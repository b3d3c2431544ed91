// Memory layout of a stage's sums over shards.
#pragma once

#include <cstddef>
#include <span>
#include <unordered_map>
#include <vector>

#include "weft/core/parallel.h"
#include "weft/core/tensor.h"
#include "weft/graph/distributed/split_shards.h"
#include "weft/ops/op.h"

namespace WEFT_API weft {

/// Indices of sums.
using SumNumbers = std::vector<std::size_t>;

/// Layout of some of a stage's sums in one contiguous block of memory, so that they can be added
/// and sent together. `sum` is the index of a sum of the stage.
class SumLayout {
 public:
  SumLayout(const ShardedProgram::Stage& stage, SumNumbers sums);

  bool empty() const { return sums_.empty(); }
  const SumNumbers& sums() const { return sums_; }
  bool has(std::size_t sum) const { return places_.contains(sum); }
  /// Returns the size of a block in bytes.
  std::size_t bytes() const { return bytes_; }
  /// Returns the offset of a sum in a block, in bytes.
  std::size_t offset(std::size_t sum) const { return places_.at(sum).offset; }
  DType dtype(std::size_t sum) const { return places_.at(sum).type.dtype; }
  Sizes sizes(std::size_t sum) const { return places_.at(sum).type.shape.constant(); }
  /// Returns the size of one sum in bytes.
  std::size_t bytes(std::size_t sum) const { return bytes_of_sum(places_.at(sum).type); }
  /// Computes into += x. Both are parts of a block that start at byte `begin`, a multiple of 64.
  void add(std::size_t begin, std::span<std::byte> into, std::span<const std::byte> x,
           Workers& workers) const;

 private:
  struct Place {
    ValueType type;
    std::size_t offset = 0;
  };
  /// A range that contains the sums of one dtype. The padding between the sums is added too.
  struct Region {
    DType dtype = DType::f32;
    std::size_t begin = 0, end = 0;
  };
  void add_region(const Region& part, std::byte* into, const std::byte* x, Workers& workers) const;

  const OpRecord& add_;
  SumNumbers sums_;
  std::unordered_map<std::size_t, Place> places_;
  std::vector<Region> regions_;
  std::size_t bytes_ = 0;
};

}  // namespace weft
