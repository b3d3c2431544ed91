#include "weft/ops/kernels/quantized/int8_rows.h"

#include <stdint.h>
#include <string.h>

#include "weft/ops/kernels/quantized/quantize_rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/ops/kernels/quantized/int8_rows.cc"
#include "hwy/foreach_target.h"
// foreach_target.h must be included before the headers below.
#include "weft/ops/kernels/quantized/int8_rows-inl.h"
#include "weft/ops/kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace weft {
namespace HWY_NAMESPACE {
namespace {

void unpack(const int8_t* packed, int64_t rows, int64_t size, float* out) {
  for (int64_t r = 0; r < rows; ++r)
    widen_int8_row(packed + r * int8_row_bytes(size), size, out + r * size);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace weft
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft::kernels {
namespace {
HWY_EXPORT(unpack);
}  // namespace

void pack_int8_rows(const float* x, std::int64_t rows, std::int64_t size, std::int8_t* out) {
  for (std::int64_t r = 0; r < rows; ++r, x += size, out += size + kRowScaleBytes) {
    float scale;
    quantize_rows(x, 1, size, nullptr, out, &scale);
    memcpy(out + size, &scale, sizeof(scale));
  }
}
void unpack_int8_rows(const std::int8_t* packed, std::int64_t rows, std::int64_t size, float* out) {
  HWY_DYNAMIC_DISPATCH(unpack)(packed, rows, size, out);
}

}  // namespace weft::kernels
#endif  // HWY_ONCE
