#include <algorithm>
#include <cmath>

#include "weft/ops/kernels/linalg/factorise.h"
#include "weft/ops/kernels/linalg/vectors.h"

namespace weft::kernels {
namespace {

// The number of rows that are updated together, and the number of preceding rows that are applied
// at a time. The preceding rows stay in the L2 cache during the update.
constexpr std::int64_t kPanel = 32;
constexpr std::int64_t kBlock = 64;

// Subtracts the products of rows [begin, end) of U from row i, starting at the diagonal element.
void subtract_products(double* u, std::int64_t n, std::int64_t i, std::int64_t begin,
                       std::int64_t end, double* factors) {
  for (std::int64_t k = begin; k < end; ++k) factors[k - begin] = -u[k * n + i];
  add_rows(u + i * n + i, n - i, u + begin * n + i, n, factors, end - begin);
}

}  // namespace

std::int64_t cholesky(double* u, std::int64_t n, double* scratch) {
  for (std::int64_t panel = 0; panel < n; panel += kPanel) {
    const std::int64_t end = std::min(panel + kPanel, n);
    for (std::int64_t block = 0; block < panel; block += kBlock) {
      const std::int64_t block_end = std::min(block + kBlock, panel);
      for (std::int64_t i = panel; i < end; ++i)
        subtract_products(u, n, i, block, block_end, scratch);
    }
    for (std::int64_t i = panel; i < end; ++i) {
      subtract_products(u, n, i, panel, i, scratch);
      const double pivot = u[i * n + i];
      if (!(pivot > 0) || !std::isfinite(pivot)) return i;
      const double root = std::sqrt(pivot);
      for (std::int64_t j = i; j < n; ++j) u[i * n + j] /= root;
      u[i * n + i] = root;
    }
  }
  return -1;
}

}  // namespace weft::kernels
