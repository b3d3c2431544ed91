// Scalar models of take and index_add along the axis of a tensor viewed as [outer, length, inner].
#pragma once

#include <vector>

#include "weft/core/tensor.h"

namespace weft::testing {

inline std::vector<double> take_reference(const Tensor& x, const Tensor& index, std::int64_t outer,
                                          std::int64_t length, std::int64_t inner) {
  std::vector<double> out;
  for (std::int64_t o = 0; o < outer; ++o) {
    for (std::int64_t j = 0; j < index.numel(); ++j) {
      const auto row = static_cast<std::int64_t>(index.at(j));
      for (std::int64_t i = 0; i < inner; ++i) {
        out.push_back(x.at((o * length + row) * inner + i));
      }
    }
  }
  return out;
}

inline std::vector<double> index_add_reference(const Tensor& x, const Tensor& index,
                                               const Tensor& src, std::int64_t outer,
                                               std::int64_t length, std::int64_t inner) {
  std::vector<double> out;
  for (std::int64_t k = 0; k < x.numel(); ++k) out.push_back(x.at(k));
  for (std::int64_t o = 0; o < outer; ++o) {
    for (std::int64_t j = 0; j < index.numel(); ++j) {
      const auto row = static_cast<std::int64_t>(index.at(j));
      for (std::int64_t i = 0; i < inner; ++i) {
        out[static_cast<std::size_t>((o * length + row) * inner + i)] +=
            src.at((o * index.numel() + j) * inner + i);
      }
    }
  }
  return out;
}

}  // namespace weft::testing
