// Sparse sums of row updates: one sum for each row of a large matrix that a shard of a batch
// updates.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// A float matrix whose rows are padded with zeros to kernels::padded_row() elements.
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

/// Sums by row number, stored for touched rows only: memory and time do not grow with the size of
/// the matrix.
class RowSums {
 public:
  /// Number of parts. A part consists of the rows with the same number modulo kParts, so that
  /// different workers can apply different parts.
  static constexpr std::int32_t kParts = 8;

  explicit RowSums(std::int64_t width);

  /// Reserves space for `more` new rows: pointers to rows stay valid until row() has created that
  /// many.
  void reserve(std::int64_t more);
  /// Returns the sum of a row, which is zero if the row is new. The pointer is valid until the next
  /// reserve().
  float* row(std::int32_t number);
  /// Adds `values` to the sum of a row.
  void add(std::int32_t number, const float* values);
  /// Calls use(number, sum) for the touched rows of a part, in the order in which they were first
  /// touched.
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
  std::vector<std::int32_t> numbers_;  // row number of each slot
  std::vector<float> data_;
  std::array<std::vector<std::int32_t>, kParts> parts_;  // slots of each part
};

}  // namespace weft
