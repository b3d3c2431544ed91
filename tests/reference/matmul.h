// matmul in double precision with plain loops.
#pragma once

#include <algorithm>
#include <vector>

#include "weft/core/tensor.h"

namespace weft::testing {

/// Returns the f64 result of matmul(a, b), with NumPy's broadcasting of the batch axes.
inline Tensor reference_matmul(const Tensor& a, const Tensor& b, bool transpose_a,
                               bool transpose_b) {
  const Sizes batch_a(a.sizes().begin(), a.sizes().end() - 2);
  const Sizes batch_b(b.sizes().begin(), b.sizes().end() - 2);
  const Sizes batch = broadcast_sizes(batch_a, batch_b);
  const std::int64_t m = a.size(transpose_a ? -1 : -2), k = a.size(transpose_a ? -2 : -1);
  const std::int64_t n = b.size(transpose_b ? -2 : -1);
  Sizes sizes = batch;
  sizes.push_back(m);
  sizes.push_back(n);
  Tensor out = Tensor::zeros(DType::f64, sizes);
  // Returns the number of the matrix that product p uses, in an operand with batch axes `own`.
  const auto matrix_of = [&](const Sizes& own, std::int64_t p) {
    std::int64_t index = 0, stride = 1;
    for (std::size_t back = 0; back < batch.size(); ++back) {
      const std::int64_t size = batch[batch.size() - 1 - back], i = p % size;
      p /= size;
      if (back >= own.size()) continue;
      const std::int64_t mine = own[own.size() - 1 - back];
      index += (mine == 1 ? 0 : i) * stride;
      stride *= mine;
    }
    return index;
  };
  for (std::int64_t p = 0; p < num_elements(batch); ++p) {
    const std::int64_t a0 = matrix_of(batch_a, p) * m * k, b0 = matrix_of(batch_b, p) * k * n;
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        double sum = 0;
        for (std::int64_t q = 0; q < k; ++q) {
          sum += a.at(a0 + (transpose_a ? q * m + i : i * k + q)) *
                 b.at(b0 + (transpose_b ? j * k + q : q * n + j));
        }
        out.mutable_data<double>()[(p * m + i) * n + j] = sum;
      }
    }
  }
  return out;
}

}  // namespace weft::testing
