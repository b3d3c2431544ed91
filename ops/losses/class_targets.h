// Targets of classification losses: class indices, some of which may be ignored.
#pragma once

#include <cstdint>
#include <functional>

#include "weft/ops/kernel.h"

namespace weft {

/// Reads and validates elements of a target operand (i32 or i64).
struct ClassTargets {
  DType dtype = DType::i64;
  std::int64_t classes = 0;
  std::int64_t ignore_index = 0;

  std::int64_t at(const void* targets, std::int64_t position) const {
    return dtype == DType::i64 ? static_cast<const std::int64_t*>(targets)[position]
                               : static_cast<const std::int32_t*>(targets)[position];
  }
  bool counts(std::int64_t target) const { return target != ignore_index; }
};

/// Returns a Kernel::check for targets with these sizes in operand `operand`. The check throws
/// DataError, naming the first invalid target, if a target is neither a class nor ignore_index.
std::function<void(const KernelRun&)> check_targets(const ClassTargets& targets, const Sizes& sizes,
                                                    std::size_t operand);

}  // namespace weft
