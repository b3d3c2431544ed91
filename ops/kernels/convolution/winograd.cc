#include "weft/ops/kernels/convolution/winograd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/ops/kernels/convolution/winograd.cc"
#include "hwy/foreach_target.h"
// foreach_target.h must be included before the header below.
#include "weft/ops/kernels/gemm/micro-inl.h"

HWY_BEFORE_NAMESPACE();
namespace weft {
namespace HWY_NAMESPACE {
namespace {

using kernels::ConvGeometry;
using kernels::WinogradBand;

int64_t slack() { return kPanelColumns<float>; }

#if HWY_TARGET != HWY_SCALAR

constexpr int64_t kLanes = kVectorLanes<float>, kPanel = kPanelColumns<float>;

void patches(const ConvGeometry& g, const WinogradBand& band, const float* image, int64_t distance,
             float* v) {
  const Full<float> d;
  // The rows of a patch after the vertical transform, with the padding on both sides. A row of
  // tiles reads at most 2 kPanel + 2 columns.
  constexpr int64_t kRow = 3 * kPanel + 16;
  HWY_ALIGN float rows[4][kRow] = {};
  for (int64_t c = 0; c < g.group_channels(); ++c, image += g.plane(), v += kPanel) {
    for (int64_t e = 0; e < 16; ++e) hn::StoreU(hn::Zero(d), d, v + e * distance + kLanes);
    for (int64_t r = 0; r < band.rows; ++r) {
      const int64_t top = 2 * (band.row + r) - g.padding_height;
      const auto row = [&](int64_t y, int64_t x, size_t count) HWY_ATTR {
        if (y < 0 || y >= g.height) return hn::Zero(d);
        const float* const from = image + y * g.width + x;
        return count == static_cast<size_t>(kLanes) ? hn::LoadU(d, from)
                                                    : load_part(d, from, count);
      };
      for (int64_t x = 0; x < g.width; x += kLanes) {
        const auto count = static_cast<size_t>(HWY_MIN(kLanes, g.width - x));
        const auto r0 = row(top, x, count), r1 = row(top + 1, x, count),
                   r2 = row(top + 2, x, count), r3 = row(top + 3, x, count);
        float* const to = rows[0] + g.padding_width + x;
        hn::StoreU(hn::Sub(r0, r2), d, to);
        hn::StoreU(hn::Add(r1, r2), d, to + kRow);
        hn::StoreU(hn::Sub(r2, r1), d, to + 2 * kRow);
        hn::StoreU(hn::Sub(r1, r3), d, to + 3 * kRow);
      }
      for (int64_t k = 0; k < 4; ++k) {
        for (int64_t t = 0; t < band.columns; t += kLanes) {
          const float* const from = rows[k] + 2 * t;
          const auto a = hn::LoadU(d, from), b = hn::LoadU(d, from + kLanes);
          const auto a2 = hn::LoadU(d, from + 2), b2 = hn::LoadU(d, from + kLanes + 2);
          const auto d0 = hn::ConcatEven(d, b, a), d1 = hn::ConcatOdd(d, b, a);
          const auto d2 = hn::ConcatEven(d, b2, a2), d3 = hn::ConcatOdd(d, b2, a2);
          // Lanes after the last tile are overwritten by the next row or channel.
          float* const to = v + 4 * k * distance + r * band.columns + t;
          hn::StoreU(hn::Sub(d0, d2), d, to);
          hn::StoreU(hn::Add(d1, d2), d, to + distance);
          hn::StoreU(hn::Sub(d2, d1), d, to + 2 * distance);
          hn::StoreU(hn::Sub(d1, d3), d, to + 3 * distance);
        }
      }
    }
  }
}

void result(const ConvGeometry& g, const WinogradBand& band, const float* m, int64_t distance,
            int64_t rows, float* out) {
  const Full<float> d;
  HWY_ALIGN float line[2 * kLanes];
  for (int64_t o = 0; o < rows; ++o, m += kPanel, out += g.positions()) {
    for (int64_t r = 0; r < band.rows; ++r) {
      const int64_t y = 2 * r, lines = HWY_MIN(int64_t{2}, g.out_height - 2 * (band.row + r));
      for (int64_t t = 0; t < band.columns; t += kLanes) {
        const float* const from = m + r * band.columns + t;
        const auto at = [&](int64_t e) HWY_ATTR { return hn::LoadU(d, from + e * distance); };
        const auto upper = [&](int64_t j)
                               HWY_ATTR { return hn::Add(hn::Add(at(j), at(4 + j)), at(8 + j)); };
        const auto lower = [&](int64_t j) HWY_ATTR {
          return hn::Sub(hn::Sub(at(4 + j), at(8 + j)), at(12 + j));
        };
        const int64_t count = HWY_MIN(2 * kLanes, g.out_width - 2 * t);
        const auto store = [&](int64_t i, hn::Vec<Full<float>> a0, hn::Vec<Full<float>> a1,
                               hn::Vec<Full<float>> a2, hn::Vec<Full<float>> a3) HWY_ATTR {
          hn::StoreInterleaved2(hn::Add(hn::Add(a0, a1), a2), hn::Sub(hn::Sub(a1, a2), a3), d,
                                line);
          float* const to = out + (y + i) * g.out_width + 2 * t;
          if (count > kLanes) {
            hn::StoreU(hn::Load(d, line), d, to);
            store_part(hn::Load(d, line + kLanes), d, to + kLanes,
                       static_cast<size_t>(count - kLanes));
          } else {
            store_part(hn::Load(d, line), d, to, static_cast<size_t>(count));
          }
        };
        store(0, upper(0), upper(1), upper(2), upper(3));
        if (lines == 2) store(1, lower(0), lower(1), lower(2), lower(3));
      }
    }
  }
}

#else

void patches(const ConvGeometry&, const WinogradBand&, const float*, int64_t, float*) {}
void result(const ConvGeometry&, const WinogradBand&, const float*, int64_t, int64_t, float*) {}

#endif

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace weft
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft {
namespace {
HWY_EXPORT(slack);
HWY_EXPORT(patches);
HWY_EXPORT(result);
}  // namespace

namespace kernels {

std::int64_t winograd_slack() { return HWY_DYNAMIC_DISPATCH(slack)(); }

void winograd_weights(const float* w, std::int64_t rows, std::int64_t channels, std::int64_t panel,
                      std::int64_t distance, float* u) {
  // The vertical and the horizontal transform of three elements, in double.
  const auto transform = [](double a, double b, double c, double* to, std::int64_t step) {
    to[0] = a;
    to[step] = (a + b + c) / 2;
    to[2 * step] = (a - b + c) / 2;
    to[3 * step] = c;
  };
  for (std::int64_t c = 0; c < channels; ++c, u += panel) {
    for (std::int64_t r = 0; r < panel; ++r) {
      double all[kWinogradElements] = {}, columns[12];
      if (r < rows) {
        const float* const k = w + (r * channels + c) * 9;
        for (std::int64_t j = 0; j < 3; ++j) transform(k[j], k[3 + j], k[6 + j], columns + j, 3);
        for (std::int64_t i = 0; i < 4; ++i)
          transform(columns[3 * i], columns[3 * i + 1], columns[3 * i + 2], all + 4 * i, 1);
      }
      for (std::int64_t e = 0; e < kWinogradElements; ++e)
        u[e * distance + r] = static_cast<float>(all[e]);
    }
  }
}

void winograd_patches(const ConvGeometry& g, const WinogradBand& band, const float* image,
                      std::int64_t distance, float* v) {
  HWY_DYNAMIC_DISPATCH(patches)(g, band, image, distance, v);
}
void winograd_result(const ConvGeometry& g, const WinogradBand& band, const float* m,
                     std::int64_t distance, std::int64_t rows, float* out) {
  HWY_DYNAMIC_DISPATCH(result)(g, band, m, distance, rows, out);
}

}  // namespace kernels
}  // namespace weft
#endif  // HWY_ONCE
