// What a part of a batch adds to the rows of a large matrix: a sum for each row that it touches.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "weft/core/parallel.h"

namespace WEFT_API weft {

/// A matrix of float whose rows are filled up with zeros to kernels::padded_row() elements.
class RowMatrix {
 public:
  RowMatrix() = default;
  RowMatrix(std::int64_t rows, std::int64_t width);

  std::int64_t rows() const { return rows_; }
  std::int64_t width() const { return width_; }
  std::int64_t stride() const { return stride_; }
  float* row(std::int64_t i) { return data_.data() + i * stride_; }
  const float* row(std::int64_t i) const { return data_.data() + i * stride_; }

 private:
  std::int64_t rows_ = 0, width_ = 0, stride_ = 0;
  std::vector<float> data_;
};

/// Sums by row number, as many as are touched: memory and time do not grow with the matrix.
class RowSums {
 public:
  /// Workers that apply sums take the rows whose number is the same modulo this.
  static constexpr std::int32_t kParts = 8;

  explicit RowSums(std::int64_t width);

  /// Room for `more` rows: pointers to rows stay good until that many new ones were asked for.
  void reserve(std::int64_t more);
  /// The sum for a row: zeros if it is new. Valid until the next reserve().
  float* row(std::int32_t number);
  /// Adds to the sum of a row.
  void add(std::int32_t number, const float* values);
  /// Calls use(number, sum) for the touched rows of a part, in the order in which they were.
  template <class Use>
  void for_part(std::int32_t part, Use&& use) const {
    for (const std::int32_t slot : parts_[static_cast<std::size_t>(part)])
      use(numbers_[static_cast<std::size_t>(slot)], data_.data() + slot * stride_);
  }
  void clear();

 private:
  std::size_t place_of(std::int32_t number) const;
  void rebuild(std::size_t places);

  std::int64_t stride_;
  std::vector<std::int32_t> table_;    // open addressing: slot, or -1
  std::vector<std::int32_t> numbers_;  // of the slots
  std::vector<float> data_;
  std::array<std::vector<std::int32_t>, kParts> parts_;  // slots
};

}  // namespace weft
