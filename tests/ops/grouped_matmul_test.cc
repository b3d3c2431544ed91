#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstring>

#include "weft/core/error.h"
#include "weft/core/parallel.h"
#include "weft/ops/kernels/gemm/bf16_split/choose.h"
#include "weft/testing/simd_targets.h"
#include "weft/tests/ops/evaluate_at.h"
#include "weft/tests/reference/matmul.h"
#include "weft/tests/samples/sample_data.h"
#include "weft/tests/support/more_threads.h"
#include "weft/tests/support/numbers.h"

namespace weft::testing {
namespace {

const std::vector<Precision> kAllPrecisions = {Precision::highest, Precision::high,
                                               Precision::medium};

Tensor group_sizes_of(const Ints& sizes) {
  return Tensor::of({static_cast<std::int64_t>(sizes.size())}, sizes);
}

Tensor grouped_product(const Tensor& x, const Tensor& w, const Ints& sizes, bool transposed = false,
                       Precision precision = Precision::highest, int constant = -1) {
  return evaluate_at(precision, "grouped_matmul", {x, w, group_sizes_of(sizes)},
                     {{"transpose_w", transposed}}, constant)[0];
}
Tensor outer_product(const Tensor& a, const Tensor& b, const Ints& sizes,
                     Precision precision = Precision::highest) {
  return evaluate_at(precision, "grouped_outer", {a, b, group_sizes_of(sizes)}, {})[0];
}
Tensor dense_product(const Tensor& a, const Tensor& b, bool ta = false, bool tb = false,
                     Precision precision = Precision::highest) {
  return evaluate_at(precision, "matmul", {a, b}, {{"transpose_a", ta}, {"transpose_b", tb}})[0];
}

/// Copies `count` slices along the first axis, starting with slice `begin`.
Tensor rows_from(const Tensor& t, std::int64_t begin, std::int64_t count) {
  Sizes sizes = t.sizes();
  sizes[0] = count;
  Tensor copy = Tensor::empty(t.dtype(), sizes);
  const std::size_t bytes = t.size(0) == 0 ? 0 : t.bytes() / static_cast<std::size_t>(t.size(0));
  std::memcpy(copy.mutable_raw(),
              static_cast<const std::byte*>(t.raw()) + static_cast<std::size_t>(begin) * bytes,
              copy.bytes());
  return copy;
}
Tensor matrix_at(const Tensor& w, std::int64_t e) {
  return rows_from(w, e, 1).reshape({w.size(1), w.size(2)});
}

bool equal_bits(const Tensor& a, const Tensor& b) {
  return a.sizes() == b.sizes() && a.dtype() == b.dtype() &&
         std::memcmp(a.raw(), b.raw(), a.bytes()) == 0;
}

/// The sizes of groups, and the numbers of columns.
struct GroupCase {
  Ints sizes;
  std::int64_t n, k, m;
};

// Few and many rows per group; groups that are empty, have one row, or have more rows than a panel
// or a tile; rows without a group.
std::vector<GroupCase> group_cases() {
  return {
      {{1}, 1, 1, 1},
      {{3, 0, 1, 4}, 8, 5, 7},
      {{0, 0, 9}, 12, 33, 17},
      {{20, 2, 0, 1}, 25, 3, 4},
      {{9, 13}, 22, 17, 31},
      {{0, 40, 0, 1, 7}, 50, 67, 33},
      {{33, 0, 31}, 70, 16, 65},
      {{600, 0, 3}, 610, 5, 9},
      {{0, 0}, 30, 4, 5},
      {{2, 2}, 4, 400, 70},
      {{30, 30}, 60, 400, 20},
      {{}, 3, 2, 2},
      {{64}, 64, 1, 130},
      {{5, 5, 5, 5, 5}, 25, 20, 520},
  };
}

double error_limit(DType dtype, std::int64_t terms) {
  return (dtype == DType::f32 ? 4e-7 : 1e-15) * (static_cast<double>(terms) + 2);
}

void check_groups(const GroupCase& one, DType dtype) {
  const auto groups = static_cast<std::int64_t>(one.sizes.size());
  const Tensor x = sample_uniform({one.n, one.k}, 1).to(dtype);
  const Tensor w = sample_uniform({groups, one.k, one.m}, 2).to(dtype);
  const Tensor wt = sample_uniform({groups, one.m, one.k}, 3).to(dtype);
  const Tensor g = sample_uniform({one.n, one.m}, 4).to(dtype);
  const Tensor y = grouped_product(x, w, one.sizes), yt = grouped_product(x, wt, one.sizes, true);
  const Tensor dw = outer_product(x, g, one.sizes);
  std::int64_t row = 0;
  for (std::int64_t e = 0; e < groups; ++e) {
    const std::int64_t size = one.sizes[static_cast<std::size_t>(e)];
    const Tensor rows = rows_from(x, row, size), g_rows = rows_from(g, row, size);
    const double limit = error_limit(dtype, one.k);
    BOOST_REQUIRE_SMALL(max_difference(rows_from(y, row, size),
                                       reference_matmul(rows, matrix_at(w, e), false, false)),
                        limit);
    BOOST_REQUIRE_SMALL(max_difference(rows_from(yt, row, size),
                                       reference_matmul(rows, matrix_at(wt, e), false, true)),
                        limit);
    BOOST_REQUIRE_SMALL(
        max_difference(matrix_at(dw, e), reference_matmul(rows, g_rows, true, false)),
        error_limit(dtype, size));
    row += size;
  }
  const Tensor rest = Tensor::zeros(dtype, {one.n - row, one.m});
  BOOST_TEST(equal_bits(rows_from(y, row, one.n - row), rest));
  BOOST_TEST(equal_bits(rows_from(yt, row, one.n - row), rest));
}

/// Calls body() with each matrix unit that this machine can run or emulate, and without one.
template <class Body>
void for_each_unit(const Body& body) {
  for (const auto unit : {kernels::Bf16Unit::emulated_amx, kernels::Bf16Unit::emulated_dot}) {
    const kernels::ForcedBf16Unit forced(unit);
    body();
  }
  const kernels::ForcedBf16Unit fma(std::nullopt);
  body();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(grouped_matmul_op)

BOOST_AUTO_TEST_CASE(every_group_is_multiplied_by_its_matrix_on_every_simd_target) {
  for_each_simd_target([](const char* target) {
    for (const GroupCase& one : group_cases()) {
      BOOST_TEST_CONTEXT(target << ", " << to_string(one.sizes)) {
        for (const DType dtype : {DType::f32, DType::f64}) check_groups(one, dtype);
      }
    }
  });
}

BOOST_AUTO_TEST_CASE(rows_have_the_bits_of_the_product_of_their_group) {
  // The groups have the mean number of rows, so that matmul uses the same engine.
  const Ints sizes = {70, 70, 70};
  const Tensor x = sample_uniform({210, 90}, 1), w = sample_uniform({3, 90, 80}, 2);
  const Tensor wt = sample_uniform({3, 80, 90}, 3), g = sample_uniform({210, 80}, 4);
  for_each_unit([&] {
    for (const Precision p : kAllPrecisions) {
      const Tensor y = grouped_product(x, w, sizes, false, p),
                   yt = grouped_product(x, wt, sizes, true, p);
      const Tensor dw = outer_product(x, g, sizes, p);
      for (std::int64_t e = 0; e < 3; ++e) {
        const Tensor rows = rows_from(x, 70 * e, 70), g_rows = rows_from(g, 70 * e, 70);
        BOOST_TEST(equal_bits(rows_from(y, 70 * e, 70),
                              dense_product(rows, matrix_at(w, e), false, false, p)));
        BOOST_TEST(equal_bits(rows_from(yt, 70 * e, 70),
                              dense_product(rows, matrix_at(wt, e), false, true, p)));
        BOOST_TEST(equal_bits(matrix_at(dw, e), dense_product(rows, g_rows, true, false, p)));
      }
    }
  });
}

BOOST_AUTO_TEST_CASE(bits_of_a_row_do_not_depend_on_other_rows_and_groups) {
  for (const std::int64_t n : {14, 120}) {  // read directly, and packed
    const Tensor x = sample_uniform({n, 500}, 1), w = sample_uniform({4, 500, 70}, 2);
    const Tensor g = sample_uniform({n, 70}, 3);
    // Row 5 is in group 2 in all divisions, first alone and then with other rows.
    const Tensor wanted = rows_from(grouped_product(x, w, {5, 0, 1, 2}), 5, 1);
    for (const Ints& sizes : {Ints{1, 4, n - 5, 0}, Ints{0, 3, 5, 1}, Ints{0, 0, n, 0}}) {
      BOOST_TEST(equal_bits(rows_from(grouped_product(x, w, sizes), 5, 1), wanted));
    }
    // Rows 3 to 6 are one group.
    const Tensor dw = rows_from(outer_product(x, g, {3, 4, 0, 2}), 1, 1);
    for (const Ints& sizes : {Ints{3, 4, n - 7, 0}, Ints{3, 4, 0, 0}}) {
      BOOST_TEST(equal_bits(rows_from(outer_product(x, g, sizes), 1, 1), dw));
    }
  }
}

BOOST_AUTO_TEST_CASE(operands_that_are_packed_in_several_ranges_give_the_same_bits) {
  // The packed rows of a tile have about 5 MB: several ranges of the depth.
  const Tensor x = sample_uniform({600, 2500}, 1), w = sample_uniform({2, 2500, 3}, 2);
  const kernels::ForcedBf16Unit fma(std::nullopt);
  const Tensor y = grouped_product(x, w, {280, 290});
  BOOST_TEST(equal_bits(rows_from(y, 0, 280),
                        grouped_product(rows_from(x, 0, 280), rows_from(w, 0, 1), {280})));
  BOOST_CHECK_SMALL(
      max_difference(rows_from(y, 0, 280),
                     reference_matmul(rows_from(x, 0, 280), matrix_at(w, 0), false, false)),
      1e-3);
  const Tensor last_rows = grouped_product(rows_from(x, 500, 70), rows_from(w, 1, 1), {70});
  BOOST_TEST(equal_bits(rows_from(y, 500, 70), last_rows));
  BOOST_TEST(equal_bits(rows_from(y, 570, 30), Tensor::zeros(DType::f32, {30, 3})));

  // 21 MB of packed rows in two stages. Group 2 has rows in both, and group 4 is in the second.
  const Tensor a = sample_uniform({9000, 500}, 3), b = sample_uniform({9000, 80}, 4);
  const Ints parts = {0, 4000, 4500, 0, 400};
  const Tensor dw = outer_product(a, b, parts);
  std::int64_t row = 0;
  for (std::int64_t e = 0; e < 5; ++e) {
    const std::int64_t size = parts[static_cast<std::size_t>(e)];
    const Tensor alone = outer_product(rows_from(a, row, size), rows_from(b, row, size), {size});
    BOOST_TEST(equal_bits(matrix_at(dw, e), matrix_at(alone, 0)), "group " << e);
    row += size;
  }
  const Tensor last =
      reference_matmul(rows_from(a, 8500, 400), rows_from(b, 8500, 400), true, false);
  BOOST_CHECK_SMALL(max_difference(matrix_at(dw, 4), last), 1e-3);
}

BOOST_AUTO_TEST_CASE(constant_matrices_are_packed_once_with_the_same_bits) {
  for_each_unit([] {
    for (const Precision p : kAllPrecisions) {
      for (const bool transposed : {false, true}) {
        const Tensor x = sample_uniform({80, 450}, 1);
        const Tensor w = sample_uniform(transposed ? Sizes{3, 70, 450} : Sizes{3, 450, 70}, 2);
        const Ints sizes = {20, 0, 50};
        BOOST_TEST(equal_bits(grouped_product(x, w, sizes, transposed, p, 1),
                              grouped_product(x, w, sizes, transposed, p)));
        // With few rows, matrices are not packed.
        const Ints few = {1, 0, 3};
        BOOST_TEST(equal_bits(grouped_product(rows_from(x, 0, 4), w, few, transposed, p, 1),
                              grouped_product(rows_from(x, 0, 4), w, few, transposed, p)));
      }
    }
  });
}

BOOST_AUTO_TEST_CASE(narrow_operands_give_the_bits_of_widened_operands) {
  for (const DType narrow : {DType::bf16, DType::f16}) {
    for (const DType wide : {DType::f32, DType::f64}) {
      for (const std::int64_t n : {10, 60}) {
        const Ints sizes = {n / 2, 0, n / 3};
        const Tensor x = sample_uniform({n, 45}, 1).to(narrow);
        const Tensor w = sample_uniform({3, 45, 37}, 2).to(narrow);
        const Tensor g = sample_uniform({n, 37}, 3).to(wide);
        BOOST_TEST(equal_bits(grouped_product(x.to(wide), w, sizes),
                              grouped_product(x.to(wide), w.to(wide), sizes)));
        BOOST_TEST(equal_bits(grouped_product(x, w.to(wide), sizes),
                              grouped_product(x.to(wide), w.to(wide), sizes)));
        BOOST_TEST(equal_bits(outer_product(x, g, sizes), outer_product(x.to(wide), g, sizes)));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(all_threads_share_the_work_of_one_large_group) {
  const MoreThreads more;
  const Tensor x = sample_uniform({1100, 300}, 1), w = sample_uniform({8, 300, 260}, 2);
  const Tensor g = sample_uniform({1100, 260}, 3);
  for (const Ints& sizes : {Ints{0, 0, 1100, 0, 0, 0, 0, 0}, Ints{3, 1, 900, 0, 7, 2, 1, 1}}) {
    for (const bool is_outer : {false, true}) {
      const OpRecord& op = builtin_ops()->at(is_outer ? "grouped_outer" : "grouped_matmul");
      const Tensor second = is_outer ? g : w, groups = group_sizes_of(sizes);
      Tensor out = Tensor::full(DType::f32, is_outer ? Sizes{8, 300, 260} : Sizes{1100, 260}, NAN);
      KernelRequest request;
      request.inputs = {{x.dtype(), x.sizes()},
                        {second.dtype(), second.sizes()},
                        {groups.dtype(), groups.sizes()}};
      request.outputs = {{out.dtype(), out.sizes()}};
      request.attributes = op.complete({});
      const Kernel kernel = op.kernel(request);
      Workers workers({.threads = 5, .shuffle_seed = 3});
      const void* in[] = {x.raw(), second.raw(), groups.raw()};
      void* result[] = {out.mutable_raw()};
      const auto shared = Buffer::allocate(kernel.shared_scratch);
      std::vector<std::shared_ptr<Buffer>> slots;
      for (int i = 0; i < workers.slots(); ++i) {
        slots.push_back(Buffer::allocate(kernel.slot_scratch));
      }
      for (const Phase& phase : kernel.phases) {
        workers.for_chunks(phase.chunks, [&](std::int64_t chunk, int slot) {
          phase.body({in, result, shared->data(), slots[static_cast<std::size_t>(slot)]->data()},
                     chunk);
        });
      }
      BOOST_TEST(kernel.phases.back().chunks > 8);
      BOOST_TEST(
          equal_bits(out, is_outer ? outer_product(x, g, sizes) : grouped_product(x, w, sizes)));
    }
  }
}

BOOST_AUTO_TEST_CASE(wrong_group_sizes_are_data_errors) {
  const Tensor x = sample_uniform({7, 2}, 1), w = sample_uniform({3, 2, 4}, 2);
  const Tensor g = sample_uniform({7, 4}, 3);
  const auto message = [&](std::string_view op, const Tensor& second, const Ints& sizes,
                           DType dtype) -> std::string {
    try {
      evaluate_op(builtin_ops()->at(op), {x, second, group_sizes_of(sizes).to(dtype)});
    } catch (const DataError& e) {
      return e.what();
    }
    return "";
  };
  for (const DType dtype : {DType::i32, DType::i64}) {
    for (const auto& [op, second] : {std::pair{"grouped_matmul", w}, {"grouped_outer", g}}) {
      BOOST_TEST(message(op, second, {3, 4, 0}, dtype) == "");
      BOOST_TEST(message(op, second, {3, -1, 2}, dtype)
                     .find("the size of group 1 is -1, but must not be negative") !=
                 std::string::npos);
      BOOST_TEST(
          message(op, second, {3, 2, 3}, dtype)
              .find("the groups have more rows than there are: group 2 has size 3, but only 2 of "
                    "7 rows are left; reduce the sizes") != std::string::npos);
    }
  }
  // The sum of the sizes overflows.
  const std::int64_t large = std::numeric_limits<std::int64_t>::max();
  BOOST_TEST(message("grouped_matmul", w, {1, large, large}, DType::i64).find("group 1 has size") !=
             std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace weft::testing
