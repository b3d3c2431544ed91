// Memory layout of a stage's sums over shards.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "weft/core/parallel.h"
#include "weft/core/tensor.h"
#include "weft/ops/op.h"

namespace WEFT_API weft {

/// Layout of sums in one contiguous block of memory, so that they can be added and sent together.
class SumLayout {
 public:
  /// `types` are the types of the sums, with constant sizes. `ops` must contain "add".
  SumLayout(const std::vector<ValueType>& types, const OpSet& ops);

  std::size_t bytes() const { return bytes_; }
  /// Returns the offset of a sum in a block, in bytes.
  std::size_t offset(std::size_t i) const { return places_[i].offset; }
  DType dtype(std::size_t i) const { return places_[i].type.dtype; }
  Sizes sizes(std::size_t i) const { return places_[i].type.shape.constant(); }
  /// Returns the size of one sum in bytes.
  std::size_t bytes(std::size_t i) const;
  /// Returns views of the sums in a block of memory, in layout order.
  std::vector<Tensor> tensors(const std::shared_ptr<Buffer>& block) const;
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
  std::vector<Place> places_;
  std::vector<Region> regions_;
  std::size_t bytes_ = 0;
};

}  // namespace weft
