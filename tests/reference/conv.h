// Convolution and its adjoints in double precision, computed term by term.
#pragma once

#include <functional>

#include "weft/core/tensor.h"

namespace weft::testing {

struct ConvOptions {
  std::int64_t stride[2], padding[2], dilation[2], groups;
};

/// Calls fn(x index, w index, out index) for every product of a 2-D cross-correlation.
inline void for_conv_terms(
    const Sizes& x, const Sizes& w, const Sizes& out, const ConvOptions& o,
    const std::function<void(std::int64_t, std::int64_t, std::int64_t)>& fn) {
  const std::int64_t group_out = w[0] / o.groups;
  for (std::int64_t n = 0; n < out[0]; ++n) {
    for (std::int64_t oc = 0; oc < out[1]; ++oc) {
      for (std::int64_t p = 0; p < out[2] * out[3]; ++p) {
        for (std::int64_t tap = 0; tap < w[1] * w[2] * w[3]; ++tap) {
          const std::int64_t c = tap / (w[2] * w[3]), i = tap / w[3] % w[2], j = tap % w[3];
          const std::int64_t y = p / out[3] * o.stride[0] + i * o.dilation[0] - o.padding[0];
          const std::int64_t z = p % out[3] * o.stride[1] + j * o.dilation[1] - o.padding[1];
          if (y < 0 || y >= x[2] || z < 0 || z >= x[3]) continue;
          const std::int64_t channel = oc / group_out * w[1] + c;
          fn(((n * x[1] + channel) * x[2] + y) * x[3] + z, oc * w[1] * w[2] * w[3] + tap,
             (n * out[1] + oc) * out[2] * out[3] + p);
        }
      }
    }
  }
}

}  // namespace weft::testing
