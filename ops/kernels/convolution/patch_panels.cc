#include "weft/ops/kernels/convolution/patch_panels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/ops/kernels/convolution/patch_panels.cc"
#include "hwy/foreach_target.h"
// foreach_target.h must be included before the headers below.
#include "weft/ops/kernels/gemm/micro-inl.h"
#include "weft/ops/kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace weft {
namespace HWY_NAMESPACE {
namespace {

using kernels::ConvGeometry;

// Consecutive lanes of a panel whose positions are in the same row of the output.
struct PatchRun {
  int64_t lane, count, y, x;
};

// Consecutive lanes that read elements of the same row of the image at a distance of one stride.
struct PatchSegment {
  int64_t lane, count, offset;  // offset of the first element in the plane
};

// The rows of one tap in a panel: the channels of an image from `in` on, and the rows from `out`
// on.
template <class T>
struct TapRows {
  const T* in;
  int64_t plane;  // distance of the channels
  T* out;
  int64_t out_step;
  int64_t channels;
};

template <class T>
void pack_elements(const PatchSegment* segments, int count, int64_t stride, TapRows<T> rows) {
  for (; rows.channels > 0; --rows.channels, rows.out += rows.out_step, rows.in += rows.plane) {
    for (int64_t i = 0; i < kPanelColumns<T>; ++i) rows.out[i] = T(0);
    for (int i = 0; i < count; ++i) {
      const PatchSegment& s = segments[i];
      for (int64_t k = 0; k < s.count; ++k) rows.out[s.lane + k] = rows.in[s.offset + k * stride];
    }
  }
}

#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2

// The lanes of a segment in one vector. With stride 2, they are the even lanes of two vectors.
template <class T>
struct SegmentLoad {
  hn::Mask<Full<T>> low, high;
  int64_t offset;  // of lane 0, which may be before the plane
};

template <class T>
SegmentLoad<T> segment_load(int64_t stride, const PatchSegment& s) {
  const Full<T> d;
  constexpr int64_t lanes = kVectorLanes<T>;
  const auto before = [&](int64_t n) HWY_ATTR {
    return hn::FirstN(d, static_cast<size_t>(HWY_MAX(int64_t{0}, HWY_MIN(n, lanes))));
  };
  const int64_t first = s.lane * stride, last = (s.lane + s.count - 1) * stride + 1;
  return {hn::AndNot(before(first), before(last)),
          hn::AndNot(before(first - lanes), before(last - lanes)), s.offset - first};
}

// Packs vectors that consist of kLow and kHigh segments at stride 1. Their masks are in registers.
template <int kLow, int kHigh, class T>
void pack_segments(const SegmentLoad<T>* low, const SegmentLoad<T>* high, TapRows<T> rows) {
  const Full<T> d;
  const auto gathered = [&](const auto& load, const auto& more, bool two) HWY_ATTR {
    const auto first = hn::MaskedLoad(load.low, d, rows.in + load.offset);
    return two ? hn::Or(first, hn::MaskedLoad(more.low, d, rows.in + more.offset)) : first;
  };
  const SegmentLoad<T> low0 = low[0], low1 = low[kLow - 1], high0 = high[0],
                       high1 = high[kHigh - 1];
  for (; rows.channels > 0; --rows.channels, rows.out += rows.out_step, rows.in += rows.plane) {
    hn::Store(gathered(low0, low1, kLow == 2), d, rows.out);
    hn::Store(gathered(high0, high1, kHigh == 2), d, rows.out + kVectorLanes<T>);
  }
}

// As above, for strides of 1 and 2.
template <int kStride, class T>
void pack_vectors(const PatchSegment* segments, int count, TapRows<T> rows) {
  const Full<T> d;
  constexpr int64_t lanes = kVectorLanes<T>;
  SegmentLoad<T> loads[2][2 * lanes];
  int counts[2] = {0, 0};
  for (int i = 0; i < count; ++i) {
    const PatchSegment& s = segments[i];
    for (int v = 0; v < 2; ++v) {
      const int64_t from = HWY_MAX(s.lane, v * lanes),
                    to = HWY_MIN(s.lane + s.count, (v + 1) * lanes);
      if (from >= to) continue;
      loads[v][counts[v]++] = segment_load<T>(
          kStride, {from - v * lanes, to - from, s.offset + (from - s.lane) * kStride});
    }
  }
  if constexpr (kStride == 1) {
    const auto is = [&](int low, int high) { return counts[0] == low && counts[1] == high; };
    if (is(1, 1)) return pack_segments<1, 1>(loads[0], loads[1], rows);
    if (is(1, 2)) return pack_segments<1, 2>(loads[0], loads[1], rows);
    if (is(2, 1)) return pack_segments<2, 1>(loads[0], loads[1], rows);
    if (is(2, 2)) return pack_segments<2, 2>(loads[0], loads[1], rows);
  }
  for (; rows.channels > 0; --rows.channels, rows.out += rows.out_step, rows.in += rows.plane) {
    for (int v = 0; v < 2; ++v) {
      auto all = hn::Zero(d);
      for (int i = 0; i < counts[v]; ++i) {
        const SegmentLoad<T>& load = loads[v][i];
        const T* const from = rows.in + load.offset;
        auto lane = hn::MaskedLoad(load.low, d, from);
        if (kStride == 2)
          lane = hn::ConcatEven(d, hn::MaskedLoad(load.high, d, from + lanes), lane);
        all = hn::Or(all, lane);
      }
      hn::Store(all, d, rows.out + v * lanes);
    }
  }
}

template <class T>
void pack_tap(const PatchSegment* segments, int count, int64_t stride, const TapRows<T>& rows) {
  if (stride == 1) return pack_vectors<1>(segments, count, rows);
  if (stride == 2) return pack_vectors<2>(segments, count, rows);
  pack_elements(segments, count, stride, rows);
}

#else

template <class T>
void pack_tap(const PatchSegment* segments, int count, int64_t stride, const TapRows<T>& rows) {
  pack_elements(segments, count, stride, rows);
}

#endif

template <class T>
void pack_panel_of_patches(const ConvGeometry& g, const T* image, int64_t row, int64_t depth,
                           int64_t begin, int64_t end, T* panel) {
  constexpr int64_t width = kPanelColumns<T>;
  PatchRun runs[width];
  int run_count = 0;
  for (int64_t p = begin; p < end; ++run_count) {
    const int64_t y = p / g.out_width, x = p % g.out_width;
    runs[run_count] = {p - begin, HWY_MIN(end - p, g.out_width - x), y, x};
    p += runs[run_count].count;
  }
  const int64_t taps = g.taps();
  for (int64_t tap = 0; tap < taps; ++tap) {
    // The channels whose rows are packed.
    const int64_t channel = row <= tap ? 0 : (row - tap + taps - 1) / taps;
    const int64_t channel_end = (row + depth - tap + taps - 1) / taps;
    if (channel >= channel_end) continue;
    // The output columns [first, limit) read elements of the image.
    const int64_t shift = tap % g.kernel_width * g.dilation_width - g.padding_width;
    const int64_t first = shift >= 0 ? 0 : (-shift + g.stride_width - 1) / g.stride_width;
    const int64_t limit = shift >= g.width ? 0 : (g.width - 1 - shift) / g.stride_width + 1;
    const int64_t top = tap / g.kernel_width * g.dilation_height - g.padding_height;
    PatchSegment segments[width];
    int count = 0;
    for (int i = 0; i < run_count; ++i) {
      const PatchRun& r = runs[i];
      const int64_t y = r.y * g.stride_height + top;
      const int64_t from = HWY_MAX(r.x, first), to = HWY_MIN(r.x + r.count, limit);
      if (y < 0 || y >= g.height || from >= to) continue;
      segments[count++] = {r.lane + from - r.x, to - from,
                           y * g.width + from * g.stride_width + shift};
    }
    pack_tap<T>(
        segments, count, g.stride_width,
        {image + channel * g.plane(), g.plane(), panel + (channel * taps + tap - row) * width,
         taps * width, channel_end - channel});
  }
}

template <class T>
void pack_positions(const ConvGeometry& g, const T* image, int64_t row, int64_t depth,
                    int64_t begin, int64_t end, size_t panel_bytes, std::byte* panels) {
  for (; begin < end; begin += kPanelColumns<T>, panels += panel_bytes) {
    pack_panel_of_patches(g, image, row, depth, begin, HWY_MIN(begin + kPanelColumns<T>, end),
                          reinterpret_cast<T*>(panels));
  }
}

void pack_patches_f32(const ConvGeometry& g, const float* image, int64_t row, int64_t depth,
                      int64_t begin, int64_t end, size_t panel_bytes, std::byte* panels) {
  pack_positions(g, image, row, depth, begin, end, panel_bytes, panels);
}
void pack_patches_f64(const ConvGeometry& g, const double* image, int64_t row, int64_t depth,
                      int64_t begin, int64_t end, size_t panel_bytes, std::byte* panels) {
  pack_positions(g, image, row, depth, begin, end, panel_bytes, panels);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace weft
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft {
namespace {
HWY_EXPORT(pack_patches_f32);
HWY_EXPORT(pack_patches_f64);
}  // namespace

namespace kernels {
void pack_patches(const ConvGeometry& g, const float* image, std::int64_t row, std::int64_t depth,
                  std::int64_t begin, std::int64_t end, std::size_t panel_bytes,
                  std::byte* panels) {
  HWY_DYNAMIC_DISPATCH(pack_patches_f32)(g, image, row, depth, begin, end, panel_bytes, panels);
}
void pack_patches(const ConvGeometry& g, const double* image, std::int64_t row, std::int64_t depth,
                  std::int64_t begin, std::int64_t end, std::size_t panel_bytes,
                  std::byte* panels) {
  HWY_DYNAMIC_DISPATCH(pack_patches_f64)(g, image, row, depth, begin, end, panel_bytes, panels);
}
}  // namespace kernels
}  // namespace weft
#endif  // HWY_ONCE
