#include "weft/models/vectors/sparse_matrix.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "weft/core/error.h"
#include "weft/core/random.h"
#include "weft/models/vectors/row_sums.h"
#include "weft/ops/kernels/linalg/row_products.h"
#include "weft/ops/op.h"

namespace weft {
namespace {

constexpr std::int64_t kProductRows = 64;
// Number of elements of a row of `a` that are processed together.
constexpr std::int64_t kSumRows = 256;

std::vector<Tensor> apply(std::string_view op, const Tensor& x) {
  return evaluate_op(builtin_ops()->at(op), {x});
}

Tensor first_columns(const Tensor& x, std::int64_t count) {
  Tensor result = Tensor::empty(DType::f32, {x.size(0), count});
  for (std::int64_t r = 0; r < x.size(0); ++r)
    std::copy_n(x.data<float>() + r * x.size(1), count, result.mutable_data<float>() + r * count);
  return result;
}

Tensor normals(std::int64_t rows, std::int64_t columns, std::uint64_t seed) {
  Tensor t = Tensor::empty(DType::f32, {rows, columns});
  const RandomStream random{seed, 0, 0};
  for (std::int64_t i = 0; i < t.numel(); i += 4) {
    const PhiloxBlock block = random.block(static_cast<std::uint64_t>(i / 4));
    for (std::int64_t k = 0; k < std::min<std::int64_t>(4, t.numel() - i); k += 2) {
      const auto pair =
          normal_pair(block[static_cast<std::size_t>(k)], block[static_cast<std::size_t>(k + 1)]);
      t.mutable_data<float>()[i + k] = static_cast<float>(pair[0]);
      if (i + k + 1 < t.numel()) t.mutable_data<float>()[i + k + 1] = static_cast<float>(pair[1]);
    }
  }
  return t;
}

}  // namespace

SparseMatrix SparseMatrix::transposed() const {
  SparseMatrix t{columns, rows, std::vector<std::int64_t>(static_cast<std::size_t>(columns), 0),
                 std::vector<std::int32_t>(column.size()), std::vector<float>(value.size())};
  for (const std::int32_t c : column) ++t.ends[static_cast<std::size_t>(c)];
  std::int64_t sum = 0;
  // From here on, ends[r] is the position of the next element of row r; after the loops, it is the
  // end of the row.
  for (std::int64_t& end : t.ends) sum += std::exchange(end, sum);
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t i = begin(r); i < end(r); ++i) {
      const auto from = static_cast<std::size_t>(i);
      const auto to = static_cast<std::size_t>(t.ends[static_cast<std::size_t>(column[from])]++);
      t.column[to] = static_cast<std::int32_t>(r);
      t.value[to] = value[from];
    }
  }
  return t;
}

Tensor product(const SparseMatrix& a, const Tensor& x, Workers& workers) {
  const std::int64_t width = x.size(1);
  if (x.dtype() != DType::f32 || x.size(0) != a.columns) {
    throw ArgumentError(fmt::format("a matrix with {} columns cannot be multiplied by {}",
                                    a.columns, x.type_str()));
  }
  RowMatrix rows(x.size(0), width);
  for (std::int64_t r = 0; r < x.size(0); ++r)
    std::copy_n(x.data<float>() + r * width, width, rows.row(r));
  Tensor out = Tensor::empty(DType::f32, {a.rows, width});
  float* const result = out.mutable_data<float>();
  const std::int64_t chunks = (a.rows + kProductRows - 1) / kProductRows;
  workers.for_chunks(chunks, [&](std::int64_t chunk, int) {
    std::vector<float> sum(static_cast<std::size_t>(rows.stride()));
    std::vector<const float*> terms;
    for (std::int64_t r = chunk * kProductRows; r < std::min((chunk + 1) * kProductRows, a.rows);
         ++r) {
      std::fill(sum.begin(), sum.end(), 0.0f);
      float* const to = sum.data();
      for (std::int64_t begin = a.begin(r); begin < a.end(r); begin += kSumRows) {
        const std::int64_t end = std::min(begin + kSumRows, a.end(r));
        terms.clear();
        for (std::int64_t i = begin; i < end; ++i)
          terms.push_back(rows.row(a.column[static_cast<std::size_t>(i)]));
        kernels::add_row_sums(&to, 1, a.value.data() + begin, 0, 1, terms.data(), end - begin,
                              rows.stride());
      }
      std::copy_n(to, width, result + r * width);
    }
  });
  return out;
}

TruncatedSvd truncated_svd(const SparseMatrix& a, const TruncatedSvdOptions& options,
                           Workers& workers) {
  const std::int64_t most = std::min(a.rows, a.columns);
  if (options.rank < 1 || options.rank > most) {
    throw ArgumentError(
        fmt::format("a matrix with {} rows and {} columns allows ranks from 1 to {}, not {}",
                    a.rows, a.columns, most, options.rank));
  }
  const SparseMatrix across = a.transposed();
  const std::int64_t width = std::min(options.rank + options.oversampling, most);
  Tensor q = apply("qr", product(a, normals(a.columns, width, options.seed), workers))[0];
  for (int i = 0; i < options.iterations; ++i) {
    const Tensor z = apply("qr", product(across, q, workers))[0];
    q = apply("qr", product(a, z, workers))[0];
  }
  // a is approximately q (q^T a) = q (a^T q)^T.
  const auto parts = apply("svd", product(across, q, workers));
  const Tensor u =
      evaluate_op(builtin_ops()->at("matmul"), {q, parts[2]}, {{"transpose_b", true}})[0];
  const auto kept = static_cast<std::size_t>(options.rank);
  return {first_columns(u, options.rank),
          Tensor::of<float>({options.rank}, parts[1].span<float>().first(kept)),
          first_columns(parts[0], options.rank)};
}

}  // namespace weft
