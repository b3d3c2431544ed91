#include "weft/ops/broadcast_plan.h"

#include <fmt/format.h>

#include "weft/core/error.h"

namespace weft {
namespace {

/// Returns the strides of a dense operand along the axes of `out`. The stride is 0 for axes along
/// which the operand is repeated.
Sizes broadcast_strides(const Sizes& operand, const Sizes& out) {
  const auto refuse = [&](const char* why) -> void {
    throw ShapeError(
        fmt::format("{} does not broadcast to {}: {}", to_string(operand), to_string(out), why));
  };
  if (operand.size() > out.size()) refuse("it has more axes");
  const Sizes dense = row_major_strides(operand);
  const std::size_t lead = out.size() - operand.size();
  Sizes strides(out.size(), 0);
  for (std::size_t i = 0; i < operand.size(); ++i) {
    if (operand[i] == out[lead + i]) {
      strides[lead + i] = operand[i] == 1 ? 0 : dense[i];
    } else if (operand[i] != 1) {
      refuse("sizes must be equal or 1");
    }
  }
  return strides;
}

}  // namespace

BroadcastPlan::BroadcastPlan(const Sizes& out, const std::vector<Sizes>& operands)
    : numel_(num_elements(out)), strides_(operands.size()) {
  std::vector<Sizes> full;
  for (const Sizes& operand : operands) full.push_back(broadcast_strides(operand, out));
  for (std::size_t axis = 0; axis < out.size(); ++axis) {
    if (out[axis] == 1) continue;
    bool merge = !sizes_.empty();
    for (std::size_t i = 0; merge && i < full.size(); ++i) {
      merge = strides_[i].back() == full[i][axis] * out[axis];
    }
    if (merge) {
      sizes_.back() *= out[axis];
      for (std::size_t i = 0; i < full.size(); ++i) strides_[i].back() = full[i][axis];
    } else {
      sizes_.push_back(out[axis]);
      for (std::size_t i = 0; i < full.size(); ++i) strides_[i].push_back(full[i][axis]);
    }
  }
  if (sizes_.empty()) {
    sizes_.push_back(1);
    for (Sizes& s : strides_) s.push_back(1);
  }
}

void BroadcastPlan::locate(std::int64_t position, std::vector<std::int64_t>& index,
                           std::vector<std::int64_t>& offsets) const {
  for (std::size_t axis = sizes_.size(); axis-- > 0;) {
    index[axis] = position % sizes_[axis];
    position /= sizes_[axis];
    for (std::size_t i = 0; i < offsets.size(); ++i) offsets[i] += index[axis] * strides_[i][axis];
  }
}

void BroadcastPlan::next_row(std::vector<std::int64_t>& index,
                             std::vector<std::int64_t>& offsets) const {
  const auto move = [&](std::size_t axis, std::int64_t steps) {
    for (std::size_t i = 0; i < offsets.size(); ++i) offsets[i] += steps * strides_[i][axis];
  };
  std::size_t axis = sizes_.size() - 1;
  move(axis, -index[axis]);
  index[axis] = 0;
  while (axis-- > 0) {
    if (++index[axis] < sizes_[axis]) {
      move(axis, 1);
      return;
    }
    index[axis] = 0;
    move(axis, 1 - sizes_[axis]);
  }
}

}  // namespace weft
