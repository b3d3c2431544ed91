#include "weft/ops/kernels/stream_copy.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/ops/kernels/stream_copy.cc"
#include "hwy/cache_control.h"
#include "hwy/foreach_target.h"
#include "weft/ops/kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace weft {
namespace HWY_NAMESPACE {

void StreamCopy(const uint8_t* from, uint8_t* to, size_t bytes) {
  const Full<uint8_t> d;
  const size_t lanes = hn::Lanes(d);
  // Streaming stores require whole, aligned vectors.
  const size_t lead = (lanes - reinterpret_cast<uintptr_t>(to) % lanes) % lanes;
  if (bytes < lead + lanes) {
    memcpy(to, from, bytes);
    return;
  }
  memcpy(to, from, lead);
  size_t i = lead;
  for (; i + lanes <= bytes; i += lanes) hn::Stream(hn::LoadU(d, from + i), d, to + i);
  memcpy(to + i, from + i, bytes - i);
}

}  // namespace HWY_NAMESPACE
}  // namespace weft
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft {
HWY_EXPORT(StreamCopy);
namespace kernels {

void stream_copy(const void* from, void* to, std::size_t bytes) {
  HWY_DYNAMIC_DISPATCH(StreamCopy)
  (static_cast<const uint8_t*>(from), static_cast<uint8_t*>(to), bytes);
}

void stream_fence() { hwy::FlushStream(); }

}  // namespace kernels
}  // namespace weft
#endif  // HWY_ONCE
