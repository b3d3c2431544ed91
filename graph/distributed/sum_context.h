// Resources for the sums over the shards of a step.
#pragma once

#include <bit>
#include <cstddef>
#include <memory>

#include "weft/core/parallel.h"
#include "weft/core/world/world.h"
#include "weft/graph/engine/output_pool.h"

namespace weft {

/// Memory for sums over shards, which is reused by the next step.
class SumPool {
 public:
  /// Must be called before a step with this number of shards.
  void begin_step(int shards) {
    levels_ = static_cast<std::size_t>(std::bit_width(static_cast<unsigned>(shards)));
  }
  /// Returns memory of exactly `bytes` bytes that has no other owner.
  std::shared_ptr<Buffer> operator()(std::size_t bytes) {
    // One block of sums per level of the tree, plus some slack due to rounding up.
    pool_.begin_run(bytes * levels_);
    return pool_.take(bytes);
  }
  std::size_t bytes() const { return pool_.bytes(); }

 private:
  OutputPool pool_;
  std::size_t levels_ = 1;
};

/// The step for which sums are accumulated. Everything that is referenced must outlive the sums.
struct SumContext {
  const World& world;
  Workers& workers;
  SumPool& memory;
  int shards;                // of all ranks
  bool owned;                // GradientSums::owned is in effect
  bool overlap;              // SessionOptions::overlap
  std::size_t bucket_bytes;  // SessionOptions::bucket_bytes
};

}  // namespace weft
