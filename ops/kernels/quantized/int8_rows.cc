#include "weft/ops/kernels/quantized/int8_rows.h"

#include <stdint.h>
#include <string.h>

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

// Returns the largest magnitude of a row, or NaN if the row contains a number that is not finite.
float largest_of(const float* x, int64_t size) {
  const Full<float> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  auto largest = hn::Zero(d), check = hn::Zero(d);  // x - x is 0 or NaN
  int64_t i = 0;
  for (; i + lanes <= size; i += lanes) {
    const auto v = hn::LoadU(d, x + i);
    largest = hn::Max(largest, hn::Abs(v));
    check = hn::Add(check, hn::Sub(v, v));
  }
  if (i < size) {
    const auto v = load_part(d, x + i, static_cast<size_t>(size - i));
    largest = hn::Max(largest, hn::Abs(v));
    check = hn::Add(check, hn::Sub(v, v));
  }
  const float sum = sum_lanes(d, check);
  return sum == 0 ? max_lanes(d, largest) : sum;
}

void pack_row(const float* x, int64_t size, int8_t* out) {
  const Full<float> d;
  const hn::Rebind<int8_t, Full<float>> bytes;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const float scale = largest_of(x, size) / 127;
  memcpy(out + size, &scale, sizeof(scale));
  // The smallest numbers have no scale, because it would be less than any float.
  if (!(scale > 0)) return static_cast<void>(memset(out, 0, static_cast<size_t>(size)));
  const auto divisor = hn::Set(d, scale), most = hn::Set(d, 127.0f), least = hn::Set(d, -127.0f);
  // The scale of very small numbers is rounded coarsely, so that the quotient may exceed 127.
  const auto levels = [&](auto v) HWY_ATTR {
    return hn::DemoteTo(bytes, hn::NearestInt(hn::Max(least, hn::Min(hn::Div(v, divisor), most))));
  };
  int64_t i = 0;
  for (; i + lanes <= size; i += lanes) hn::StoreU(levels(hn::LoadU(d, x + i)), bytes, out + i);
  if (i == size) return;
  HWY_ALIGN int8_t rest[hn::MaxLanes(d)];
  hn::StoreU(levels(load_part(d, x + i, static_cast<size_t>(size - i))), bytes, rest);
  memcpy(out + i, rest, static_cast<size_t>(size - i));
}

void pack(const float* x, int64_t rows, int64_t size, int8_t* out) {
  for (int64_t r = 0; r < rows; ++r) pack_row(x + r * size, size, out + r * int8_row_bytes(size));
}

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
HWY_EXPORT(pack);
HWY_EXPORT(unpack);
}  // namespace

void pack_int8_rows(const float* x, std::int64_t rows, std::int64_t size, std::int8_t* out) {
  HWY_DYNAMIC_DISPATCH(pack)(x, rows, size, out);
}
void unpack_int8_rows(const std::int8_t* packed, std::int64_t rows, std::int64_t size, float* out) {
  HWY_DYNAMIC_DISPATCH(unpack)(packed, rows, size, out);
}

}  // namespace weft::kernels
#endif  // HWY_ONCE
