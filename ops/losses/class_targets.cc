#include "weft/ops/losses/class_targets.h"

#include <fmt/format.h>

#include "weft/core/error.h"

namespace weft {
namespace {

/// Formats a flat position as an index, for example "[2, 3]".
std::string position_text(std::int64_t position, const Sizes& sizes) {
  Sizes index(sizes.size());
  for (std::size_t i = sizes.size(); i-- > 0;) {
    index[i] = position % sizes[i];
    position /= sizes[i];
  }
  return to_string(index);
}

}  // namespace

std::function<void(const KernelRun&)> check_targets(const ClassTargets& targets, const Sizes& sizes,
                                                    std::size_t operand) {
  return [=](const KernelRun& run) {
    const std::int64_t positions = num_elements(sizes);
    for (std::int64_t p = 0; p < positions; ++p) {
      const std::int64_t t = targets.at(run.inputs[operand], p);
      if ((t < 0 || t >= targets.classes) && targets.counts(t)) {
        throw DataError(fmt::format(
            "targets{} is {}, but there are {} classes: it must be in [0, {}) or ignore_index {}",
            position_text(p, sizes), t, targets.classes, targets.classes, targets.ignore_index));
      }
    }
  };
}

}  // namespace weft
