// Tensors that should be equal, or nearly.
#pragma once

#include "weft/core/tensor.h"
#include "weft/testing/outcome.h"

namespace WEFT_API weft {
namespace testing {

/// An element is close where |actual - expected| <= absolute + relative |expected|, or where at
/// most `ulps` floating-point numbers of the expected dtype lie between the two. Infinities are
/// close to themselves only.
struct Tolerance {
  double absolute = 0;
  double relative = 0;
  double ulps = 0;
  bool nan_is_close_to_nan = false;

  /// What is usual for results of a dtype: f64 1e-7 of both, f32 1e-5 and 1.3e-6, f16 1e-5 and
  /// 1e-3, bf16 1e-5 and 1.6e-2 (as torch.testing.assert_close); exact for integers and bool.
  static Tolerance of(DType dtype);
};

/// Same sizes and close elements; dtypes may differ. The message says how many elements are not
/// close, the worst ones with index and both values, and a histogram of the errors.
Outcome expect_close(const Tensor& actual, const Tensor& expected, const Tolerance& tolerance);
/// With the tolerance of the expected tensor's dtype.
Outcome expect_close(const Tensor& actual, const Tensor& expected);

/// Same dtype, sizes and bits. The message shows the first element that differs, in hexadecimal
/// too.
Outcome expect_same_bits(const Tensor& actual, const Tensor& expected);

}  // namespace testing
}  // namespace weft
