#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <numeric>

#include "weft/ops/op.h"
#include "weft/tests/samples/sample_data.h"

namespace weft::testing {
namespace {

using Ints = std::vector<std::int64_t>;

std::vector<Tensor> sorted(const Tensor& x, std::int64_t axis, bool descending) {
  return evaluate_op(builtin_ops()->at("sort"), {x}, {{"axis", axis}, {"descending", descending}});
}
std::vector<Tensor> top(const Tensor& x, std::int64_t k, std::int64_t axis, bool largest) {
  return evaluate_op(builtin_ops()->at("topk"), {x},
                     {{"k", k}, {"axis", axis}, {"largest", largest}});
}

}  // namespace

BOOST_AUTO_TEST_SUITE(sort_ops)

BOOST_AUTO_TEST_CASE(sorting_is_stable_along_any_axis) {
  for (const DType dtype : {DType::f32, DType::f64, DType::i64, DType::i32, DType::i8, DType::u8}) {
    for (const std::int64_t n : {0, 1, 2, 17, 101}) {
      for (const bool descending : {false, true}) {
        const Tensor x = sample_indices({2, n, 3}, 1, 7).to(dtype);  // many ties
        const auto out = sorted(x, 1, descending);
        const auto best = top(x, (n + 1) / 2, 1, descending);
        for (std::int64_t line = 0; line < 6; ++line) {
          const auto at = [&](std::int64_t i, std::int64_t length) {
            return line / 3 * length * 3 + i * 3 + line % 3;
          };
          Ints order(static_cast<std::size_t>(n));
          std::iota(order.begin(), order.end(), 0);
          std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
            const double u = x.at(at(a, n)), v = x.at(at(b, n));
            return descending ? u > v : u < v;
          });
          for (std::int64_t i = 0; i < n; ++i) {
            const std::int64_t wanted = order[static_cast<std::size_t>(i)];
            BOOST_REQUIRE(out[1].at(at(i, n)) == static_cast<double>(wanted));
            BOOST_REQUIRE(out[0].at(at(i, n)) == x.at(at(wanted, n)));
            if (i >= (n + 1) / 2) continue;
            BOOST_REQUIRE(best[1].at(at(i, (n + 1) / 2)) == static_cast<double>(wanted));
          }
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(nans_are_sorted_as_the_largest_values) {
  const Tensor x = Tensor::of<float>({5}, {NAN, 1, INFINITY, NAN, -2});
  BOOST_TEST(sorted(x, 0, false)[1].to_vector<std::int64_t>() == (Ints{4, 1, 2, 0, 3}));
  BOOST_TEST(sorted(x, 0, true)[1].to_vector<std::int64_t>() == (Ints{0, 3, 2, 1, 4}));
  BOOST_TEST(top(x, 3, 0, true)[1].to_vector<std::int64_t>() == (Ints{0, 3, 2}));
}

BOOST_AUTO_TEST_CASE(topk_checks_k_as_soon_as_sizes_are_known) {
  const KernelRequest request{
      {{DType::f32, {3}}},
      {{DType::f32, {4}}, {DType::i64, {4}}},
      {{"k", std::int64_t{4}}, {"axis", std::int64_t{0}}, {"largest", true}}};
  BOOST_CHECK_EXCEPTION(builtin_ops()->at("topk").kernel(request), ShapeError,
                        [](const ShapeError& e) {
                          return std::string_view(e.what()) ==
                                 "cannot select the top 4 elements of axis 0, which has size 3";
                        });
}

BOOST_AUTO_TEST_CASE(an_unused_output_needs_no_scratch_memory) {
  const auto request = [](bool values, bool indices, std::int64_t inner) {
    return KernelRequest{{{DType::f32, {50, inner}}},
                         {{DType::f32, {40, inner}, values}, {DType::i64, {40, inner}, indices}},
                         {{"k", std::int64_t{40}}, {"axis", std::int64_t{0}}, {"largest", true}}};
  };
  const OpRecord& op = builtin_ops()->at("topk");
  const std::size_t line = op.kernel(request(true, true, 1)).slot_scratch;
  for (const std::int64_t inner : {1, 1000}) {
    BOOST_TEST(op.kernel(request(true, false, inner)).slot_scratch == line);
    BOOST_TEST(op.kernel(request(false, true, inner)).slot_scratch == line);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace weft::testing
