#include "weft/models/vectors/row_sums.h"

#include <algorithm>

#include "weft/ops/kernels/linalg/row_products.h"

namespace weft {

RowMatrix::RowMatrix(std::int64_t rows, std::int64_t width)
    : rows_(rows),
      width_(width),
      stride_(kernels::padded_row(width)),
      data_(static_cast<std::size_t>(rows * stride_), 0.0f) {}

RowSums::RowSums(std::int64_t width) : stride_(kernels::padded_row(width)) { rebuild(64); }

std::size_t RowSums::place_of(std::int32_t number) const {
  const std::size_t mask = table_.size() - 1;
  std::size_t place = static_cast<std::uint32_t>(number) * 0x9E3779B1u & mask;
  while (table_[place] >= 0 && numbers_[static_cast<std::size_t>(table_[place])] != number)
    place = (place + 1) & mask;
  return place;
}

void RowSums::rebuild(std::size_t places) {
  table_.assign(places, -1);
  for (std::size_t slot = 0; slot < numbers_.size(); ++slot)
    table_[place_of(numbers_[slot])] = static_cast<std::int32_t>(slot);
}

void RowSums::reserve(std::int64_t more) {
  const std::size_t rows = numbers_.size() + static_cast<std::size_t>(more);
  if (const std::size_t size = rows * static_cast<std::size_t>(stride_); size > data_.size())
    data_.resize(std::max(size, 2 * data_.size()));
  if (2 * rows <= table_.size()) return;
  std::size_t places = table_.size();
  while (places < 2 * rows) places *= 2;
  rebuild(places);
}

float* RowSums::row(std::int32_t number) {
  const std::size_t place = place_of(number);
  if (table_[place] >= 0) return data_.data() + table_[place] * stride_;
  const auto slot = static_cast<std::int32_t>(numbers_.size());
  table_[place] = slot;
  numbers_.push_back(number);
  parts_[static_cast<std::size_t>(number % kParts)].push_back(slot);
  float* const sum = data_.data() + slot * stride_;
  std::fill_n(sum, stride_, 0.0f);
  return sum;
}

void RowSums::add(std::int32_t number, const float* values) {
  reserve(1);
  const float one = 1;
  float* const sum = row(number);
  kernels::add_row_sums(&sum, 1, &one, 0, 0, &values, 1, stride_);
}

void RowSums::clear() {
  if (8 * numbers_.size() < table_.size()) {
    // Clear in reverse order, because the probe sequence of a number passes slots that were
    // occupied before its own slot.
    for (std::size_t slot = numbers_.size(); slot-- > 0;) table_[place_of(numbers_[slot])] = -1;
  } else {
    std::fill(table_.begin(), table_.end(), -1);
  }
  numbers_.clear();
  for (auto& part : parts_) part.clear();
}

}  // namespace weft
