// Where the sums of a stage of shards lie in memory.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "weft/core/parallel.h"
#include "weft/core/tensor.h"
#include "weft/ops/op.h"

namespace WEFT_API weft {

/// Sums one behind the other in one block of memory, so that they are added and sent at once.
class SumLayout {
 public:
  /// Of sums of these types, with constant sizes. `ops` has "add".
  SumLayout(const std::vector<ValueType>& types, const OpSet& ops);

  std::size_t bytes() const { return bytes_; }
  /// Where a sum begins in a block.
  std::size_t offset(std::size_t i) const { return places_[i].offset; }
  DType dtype(std::size_t i) const { return places_[i].type.dtype; }
  Sizes sizes(std::size_t i) const { return places_[i].type.shape.constant(); }
  /// The bytes of one sum.
  std::size_t bytes(std::size_t i) const;
  /// The sums in a block of memory, by number.
  std::vector<Tensor> tensors(const std::shared_ptr<Buffer>& block) const;
  /// into += x, both from byte `begin` of a block on, a multiple of 64.
  void add(std::size_t begin, std::span<std::byte> into, std::span<const std::byte> x,
           Workers& workers) const;

 private:
  struct Place {
    ValueType type;
    std::size_t offset = 0;
  };
  /// Sums of one dtype; what fills the gaps between them is added, too.
  struct Region {
    DType dtype = DType::f32;
    std::size_t begin = 0, end = 0;
  };
  void add_region(const Region& part, std::byte* into, const std::byte* x, Workers& workers) const;

  const OpRecord& add_;
  std::vector<Place> places_;
  std::vector<Region> regions_;
  std::size_t bytes_ = 0;
};

}  // namespace weft
