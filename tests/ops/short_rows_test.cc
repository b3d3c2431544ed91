// Reductions of short rows are computed for a vector of rows at a time. The bits of a row must be
// those of the same row alone, for every SIMD target, dtype and size.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "weft/ops/op.h"
#include "weft/testing/simd_targets.h"
#include "weft/tests/samples/sample_data.h"

namespace weft {
namespace {

/// An op that handles rows along the last axis, with x [rows, n] as its first operand.
struct RowOp {
  const char* name;
  Attributes attributes;
  bool has_parameters = false;  // gain [n] and bias [n]
};

std::vector<RowOp> row_ops() {
  std::vector<RowOp> ops;
  for (const char* name : {"sum", "mean", "max", "min", "prod", "logsumexp"}) {
    ops.push_back({name, {{"axes", std::vector<std::int64_t>{1}}}});
  }
  for (const char* name : {"softmax", "log_softmax", "argmax", "argmin"}) {
    ops.push_back({name, {{"axis", std::int64_t{1}}}});
  }
  ops.push_back({"layer_norm", {{"axes", std::int64_t{1}}, {"eps", 1e-5}}});
  ops.push_back({"layer_norm", {{"axes", std::int64_t{1}}, {"eps", 1e-5}}, true});
  ops.push_back({"rms_norm", {{"eps", 1e-5}}});
  return ops;
}

std::vector<Tensor> evaluate(const RowOp& op, const Tensor& x) {
  std::vector<Tensor> inputs = {x};
  if (op.has_parameters) {
    inputs.push_back(sample_uniform({x.size(1)}, 2).to(x.dtype()));
    inputs.push_back(sample_uniform({x.size(1)}, 3).to(x.dtype()));
  }
  return evaluate_op(builtin_ops()->at(op.name), inputs, op.attributes);
}

Tensor row_of(const Tensor& x, std::int64_t r) {
  Tensor row = Tensor::empty(x.dtype(), {1, x.size(1)});
  const std::size_t bytes = dtype_size(x.dtype()) * static_cast<std::size_t>(x.size(1));
  std::memcpy(row.mutable_raw(), x.raw() + static_cast<std::size_t>(r) * bytes, bytes);
  return row;
}

/// Random numbers. Some rows contain zeros of both signs, infinities, NaN, equal elements, or have
/// a large mean.
Tensor rows_with_special_values(std::int64_t rows, std::int64_t n, DType dtype) {
  Tensor x = sample_uniform({rows, n}, 1, -3, 3).to(DType::f64);
  const double inf = std::numeric_limits<double>::infinity();
  const double special[] = {-0.0, 0.0, inf, -inf, std::nan(""), 1, 1e6};
  double* p = x.mutable_data<double>();
  for (std::int64_t r = 0; r < rows; ++r) {
    const auto kind = static_cast<std::size_t>(r % 11);
    if (kind >= std::size(special)) continue;
    for (std::int64_t i = 0; i < n; ++i) {
      if (kind == 6) p[r * n + i] += special[6];
      if (kind < 6 && (kind < 2 || (i + r) % 3 == 0)) p[r * n + i] = special[kind];
    }
  }
  return x.to(dtype);
}

bool is_nan(const Tensor& t, std::int64_t i) {
  return is_floating(t.dtype()) && std::isnan(t.at(i));
}

BOOST_AUTO_TEST_SUITE(short_rows)

BOOST_AUTO_TEST_CASE(the_bits_of_a_short_row_do_not_depend_on_other_rows) {
  testing::for_each_simd_target([](const char* target) {
    for (const DType dtype : {DType::f32, DType::f64}) {
      for (const RowOp& op : row_ops()) {
        for (std::int64_t n = 1; n <= 18; ++n) {
          const std::int64_t rows = 16 * 2 + n;
          const Tensor x = rows_with_special_values(rows, n, dtype);
          const std::vector<Tensor> all = evaluate(op, x);
          for (std::int64_t r = 0; r < rows; ++r) {
            const std::vector<Tensor> alone = evaluate(op, row_of(x, r));
            for (std::size_t o = 0; o < all.size(); ++o) {
              const std::int64_t width = alone[o].numel();
              for (std::int64_t i = 0; i < width; ++i) {
                const std::int64_t at = r * width + i;
                const std::size_t bytes = dtype_size(all[o].dtype());
                const bool same =
                    std::memcmp(all[o].raw() + static_cast<std::size_t>(at) * bytes,
                                alone[o].raw() + static_cast<std::size_t>(i) * bytes, bytes) == 0;
                // The bits of a NaN are unspecified.
                if (same || (is_nan(all[o], at) && is_nan(alone[o], i))) continue;
                BOOST_ERROR(std::string(target) + ", " + op.name + " of " +
                            std::string(dtype_name(dtype)) + ", n = " + std::to_string(n) +
                            ", row " + std::to_string(r) + ": " + std::to_string(all[o].at(at)) +
                            " but alone " + std::to_string(alone[o].at(i)));
                return;
              }
            }
          }
        }
      }
    }
  });
}

// Without special values, sums over short rows are correct to the last digits.
BOOST_AUTO_TEST_CASE(sums_of_short_rows_are_accurate) {
  testing::for_each_simd_target([](const char*) {
    for (std::int64_t n = 1; n <= 18; ++n) {
      const Tensor x = sample_uniform({50, n}, 1);
      const Tensor total = evaluate({"sum", {{"axes", std::vector<std::int64_t>{1}}}}, x)[0];
      for (std::int64_t r = 0; r < 50; ++r) {
        double expected = 0, size = 0;
        for (std::int64_t i = 0; i < n; ++i) {
          expected += x.at(r * n + i);
          size += std::abs(x.at(r * n + i));
        }
        BOOST_REQUIRE_SMALL(total.at(r) - expected, 4 * 0x1p-24 * size);
      }
    }
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
