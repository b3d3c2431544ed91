// A scalar model of all ops that move elements.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "weft/core/tensor.h"

namespace weft::testing {

/// Returns the elements of a tensor of sizes `sizes`, as doubles. The element at `index` is x at
/// from(index), or `otherwise` if from(index) is nullopt.
inline std::vector<double> moved(const Tensor& x, const Sizes& sizes,
                                 const std::function<std::optional<Sizes>(const Sizes&)>& from,
                                 double otherwise = 0) {
  const Sizes out_strides = row_major_strides(sizes), strides = row_major_strides(x.sizes());
  std::vector<double> out;
  for (std::int64_t flat = 0; flat < num_elements(sizes); ++flat) {
    Sizes index;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      index.push_back(flat / out_strides[i] % sizes[i]);
    }
    const auto source = from(index);
    std::int64_t at = 0;
    for (std::size_t i = 0; source && i < strides.size(); ++i) at += (*source)[i] * strides[i];
    out.push_back(source ? x.at(at) : otherwise);
  }
  return out;
}

}  // namespace weft::testing
