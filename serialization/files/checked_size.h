// Overflow-checked arithmetic on numbers from files.
#pragma once

#include <cstdint>
#include <string>

#include "weft/core/dtype.h"
#include "weft/core/error.h"
#include "weft/core/shape.h"
#include "weft/core/tensor.h"

namespace WEFT_API weft {

/// A size or offset from a file. Sums and products that do not fit in 64 bits are FormatErrors, so
/// that no bound is ever checked against a value that wrapped around.
class CheckedSize {
 public:
  CheckedSize(std::uint64_t value) : value_(value) {}  // NOLINT(google-explicit-constructor)

  std::uint64_t value() const { return value_; }
  friend CheckedSize operator+(CheckedSize a, CheckedSize b) {
    std::uint64_t sum;
    if (__builtin_add_overflow(a.value_, b.value_, &sum)) overflow(a, "+", b);
    return sum;
  }
  friend CheckedSize operator*(CheckedSize a, CheckedSize b) {
    std::uint64_t product;
    if (__builtin_mul_overflow(a.value_, b.value_, &product)) overflow(a, "*", b);
    return product;
  }
  friend auto operator<=>(CheckedSize, CheckedSize) = default;

 private:
  [[noreturn]] static void overflow(CheckedSize a, const char* op, CheckedSize b) {
    throw FormatError("a size in the file is too large: " + std::to_string(a.value_) + " " + op +
                      " " + std::to_string(b.value_) + " does not fit in 64 bits");
  }
  std::uint64_t value_;
};

/// Returns tensor_bytes(dtype, sizes). Throws FormatError if no tensor can have these sizes.
inline std::uint64_t checked_tensor_bytes(DType dtype, const Sizes& sizes) {
  try {
    return tensor_bytes(dtype, sizes);
  } catch (const ShapeError& e) {
    throw FormatError(e.what());
  }
}

}  // namespace weft
