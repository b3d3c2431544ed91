// Comparisons of tensors, within a tolerance or bit for bit.
#pragma once

#include "weft/core/tensor.h"
#include "weft/testing/outcome.h"

namespace WEFT_API weft {
namespace testing {

/// An element is close if |actual - expected| <= absolute + relative |expected|, or if the error is
/// at most `ulps` units in the last place of the expected element in the expected dtype. An
/// infinity is close only to itself.
struct Tolerance {
  double absolute = 0;
  double relative = 0;
  double ulps = 0;
  bool nan_is_close_to_nan = false;

  /// The usual tolerance for results of a dtype, as in torch.testing.assert_close: f64 1e-7
  /// absolute and 1e-7 relative, f32 1e-5 and 1.3e-6, f16 1e-5 and 1e-3, bf16 1e-5 and 1.6e-2.
  /// Integers and bool must be equal.
  static Tolerance of(DType dtype);
};

/// Checks that both tensors have the same sizes and that their elements are close. Their dtypes may
/// differ. The failure message contains the number of elements that are not close, the first of
/// them, the elements with the largest absolute and relative errors (with index and both values),
/// and a histogram of the errors.
Outcome expect_close(const Tensor& actual, const Tensor& expected, const Tolerance& tolerance);
/// As above, with the usual tolerance of the expected tensor's dtype.
Outcome expect_close(const Tensor& actual, const Tensor& expected);

/// Checks that both tensors have the same dtype, sizes and bits. The failure message shows the
/// first element that differs, with its bits in hexadecimal.
Outcome expect_same_bits(const Tensor& actual, const Tensor& expected);

}  // namespace testing
}  // namespace weft
