#include "weft/graph/functions/index.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <string>

#include "weft/autodiff/gradients.h"
#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/reduce.h"
#include "weft/ops/op.h"
#include "weft/tests/reference/evaluate_graph.h"
#include "weft/tests/reference/index.h"
#include "weft/tests/samples/sample_data.h"
#include "weft/tests/support/messages.h"
#include "weft/tests/support/numbers.h"

namespace weft::testing {
namespace {

using Doubles = std::vector<double>;

Tensor run(std::string_view op, const std::vector<Tensor>& inputs, const Attributes& a) {
  return evaluate_op(builtin_ops()->at(op), inputs, a)[0];
}

Tensor ids(std::initializer_list<std::int64_t> values) {
  return Tensor::of<std::int64_t>({static_cast<std::int64_t>(values.size())}, values);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(index_ops)

BOOST_AUTO_TEST_CASE(take_and_index_add_equal_the_scalar_model) {
  for (const std::int64_t inner : {1, 3, 64, 67, 200}) {
    for (const std::int64_t outer : {1, 2}) {
      for (const std::int64_t count : {0, 1, 5, 700}) {
        for (const DType dtype : {DType::f32, DType::f64, DType::i32, DType::u8}) {
          const Sizes sizes{outer, 37, inner};
          const Attributes axis{{"axis", std::int64_t{1}}};
          const Tensor x = sample_indices(sizes, 1, 5).to(dtype);
          const Tensor index = sample_indices({count}, 2, 37);
          const Tensor src = sample_indices({outer, count, inner}, 3, 2).to(dtype);
          BOOST_TEST(elements_of(run("take", {x, index.to(DType::i32)}, axis)) ==
                     take_reference(x, index, outer, 37, inner));
          BOOST_TEST(elements_of(run("index_add", {x, index, src}, axis)) ==
                     index_add_reference(x, index, src, outer, 37, inner));
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(many_indices_into_a_narrow_table_match_the_scalar_model) {
  const Tensor x = Tensor::zeros(DType::f64, {300}), index = sample_indices({50000}, 2, 300);
  const Tensor src = sample_uniform({50000}, 3).to(DType::f64);
  BOOST_TEST(elements_of(run("index_add", {x, index, src}, {})) ==
             index_add_reference(x, index, src, 1, 300, 1));
}

BOOST_AUTO_TEST_CASE(take_and_scatter_along_an_axis_match_the_scalar_model) {
  const Attributes axis{{"axis", std::int64_t{1}}};
  const Tensor x = sample_uniform({2, 5, 70}, 1).to(DType::f64);
  const Tensor index = sample_indices({2, 9, 70}, 2, 5), src = x.reshape({2, 5, 70});
  const Tensor out = run("take_along_axis", {x, index}, axis);
  const Tensor added = run("scatter_add", {src, index, out}, axis);
  Doubles wanted = elements_of(src);
  for (std::int64_t k = 0; k < out.numel(); ++k) {
    const std::int64_t o = k / (9 * 70), c = k % 70;
    const std::int64_t at = (o * 5 + static_cast<std::int64_t>(index.at(k))) * 70 + c;
    BOOST_REQUIRE(out.at(k) == x.at(at));
    wanted[static_cast<std::size_t>(at)] += out.at(k);
  }
  BOOST_TEST(elements_of(added) == wanted);
}

BOOST_AUTO_TEST_CASE(errors_name_out_of_range_indices) {
  const Tensor x = Tensor::zeros(DType::f32, {5, 3});
  const Attributes axis{{"axis", std::int64_t{0}}};
  const std::string message = "index 5 at position 1 is out of range: axis 0 of x has size 5";
  BOOST_CHECK_EXCEPTION(run("take", {x, ids({0, 5})}, axis), DataError, says(message));
  BOOST_CHECK_EXCEPTION(run("take", {x, ids({0, 1, -1})}, axis), DataError,
                        says("index -1 at position 2"));
  BOOST_CHECK_EXCEPTION(run("index_add", {x, ids({0, 5}), Tensor::zeros(DType::f32, {2, 3})}, axis),
                        DataError, says(message));
  for (const char* op : {"index_max", "index_min"}) {
    BOOST_CHECK_EXCEPTION(run(op, {x, ids({0, 5}), Tensor::zeros(DType::f32, {2, 3})}, axis),
                          DataError, says(message));
  }
  const Tensor one = Tensor::of<std::int64_t>({1, 3}, {0, 5, 0});
  for (const char* op : {"scatter_max", "scatter_min"}) {
    BOOST_CHECK_EXCEPTION(run(op, {x, one, Tensor::zeros(DType::f32, {1, 3})}, axis), DataError,
                          says(message));
  }
  BOOST_CHECK_EXCEPTION(run("take_along_axis", {x, one}, axis), DataError, says(message));
  BOOST_CHECK_EXCEPTION(run("scatter_add", {x, one, Tensor::zeros(DType::f32, {1, 3})}, axis),
                        DataError, says(message));
  BOOST_CHECK_EXCEPTION(run("one_hot", {ids({2, 3})}, {{"classes", Dim(3)}}), DataError,
                        says("index 3 at position 1 is out of range: the number of classes is 3"));
  BOOST_CHECK_EXCEPTION(run("dynamic_slice", {x, ids({3, 0})}, {{"sizes", Shape{3, 1}}}), DataError,
                        says("start 3 at position 0 is out of range: a block of 3 in axis 0"));
  BOOST_CHECK_EXCEPTION(
      run("dynamic_update_slice", {x, Tensor::zeros(DType::f32, {1, 2}), ids({0, 2})}, {}),
      DataError, says("start 2 at position 1 is out of range"));
}

BOOST_AUTO_TEST_CASE(dynamic_slices_are_read_and_updated) {
  const Tensor x = sample_uniform({4, 3}, 1);
  const Tensor part = run("dynamic_slice", {x, ids({1, 2})}, {{"sizes", Shape{2, 1}}});
  BOOST_TEST(elements_of(part) == (Doubles{x.at(5), x.at(8)}));
  Doubles wanted = elements_of(x);
  wanted[0] = part.at(0);
  wanted[3] = part.at(1);
  BOOST_TEST(elements_of(run("dynamic_update_slice", {x, part, ids({0, 0})}, {})) == wanted);
}

BOOST_AUTO_TEST_CASE(writes_to_rows_that_overlap_or_exceed_x_are_data_errors) {
  const Tensor x = Tensor::zeros(DType::f32, {3, 2, 6});
  const auto write = [&](const Tensor& start, const Tensor& rows, std::int64_t added = 2) {
    return run("tensor_scatter",
               {x, Tensor::full(DType::f32, {start.numel(), 2, added}, 1), start, rows},
               {{"axis", std::int64_t{2}}});
  };
  BOOST_CHECK_EXCEPTION(
      write(ids({0, 5}), ids({0, 1})), DataError,
      says("start[1] is 5: a block of 2 in axis 2 of size 6 can begin at 0 to 4"));
  BOOST_CHECK_EXCEPTION(write(ids({0, 1}), ids({0, 3})), DataError,
                        says("rows[1] is 3, but x has 3 rows: it must be in [0, 3)"));
  BOOST_CHECK_EXCEPTION(
      write(ids({3, 0, 2}), ids({1, 1, 1})), DataError,
      says("rows[2] and rows[0] are both 1, and their blocks of 2, which begin at 2 and 3, "
           "overlap"));
  BOOST_CHECK_THROW(write(ids({3, 3}), ids({1, 1})), DataError);
  BOOST_TEST(elements_of(write(ids({2, 4}), ids({1, 1})))[16] == 1);
  BOOST_CHECK_NO_THROW(write(ids({3, 3}), ids({1, 1}), 0));  // empty blocks do not overlap
}

BOOST_AUTO_TEST_CASE(blocks_are_written_across_the_rows_of_a_table) {
  const Tensor x = Tensor::of<float>({4, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  const Tensor update = Tensor::of<float>({2, 3}, {-1, -2, -3, -4, -5, -6});
  const auto write = [&](const Tensor& start, const std::vector<std::int64_t>& rows) {
    return run("tensor_scatter", {x, update, start, Tensor::of<std::int64_t>({2, 3}, rows)},
               {{"axis", std::int64_t{1}}});
  };
  // Row 3, then row 0; the last two entries of the other block are not written.
  const Tensor out = write(ids({1, 3}), {3, 0, 9, 8, 1, -1});
  BOOST_TEST(elements_of(out) == (Doubles{-2, -3, 3, -4, 5, 6, 7, -1}));
  BOOST_CHECK_EXCEPTION(
      write(ids({1, 4}), {3, 0, 9, 8, 1, -1}), DataError,
      says("start[1] is 4: a block of 3 in axis 1 of size 6 can begin at 0 to 3"));
  BOOST_CHECK_EXCEPTION(write(ids({2, 3}), {3, 0, 4, 8, 1, -1}), DataError,
                        says("rows[0, 2] is 4, but x has 4 rows: it must be in [0, 4)"));
  BOOST_CHECK_EXCEPTION(write(ids({2, 3}), {3, 0, -2, 8, 1, -1}), DataError,
                        says("rows[0, 2] is -2, but x has 4 rows: it must be in [0, 4)"));
  BOOST_CHECK_EXCEPTION(
      write(ids({0, 0}), {3, 0, 9, 1, 3, 9}), DataError,
      says("rows[0, 0] and rows[1, 1] are both 3, and their blocks of 3, which begin at 0 and 0, "
           "overlap"));
  BOOST_CHECK_NO_THROW(write(ids({1, 0}), {3, 0, 9, 1, 3, 9}));
}

BOOST_AUTO_TEST_CASE(each_row_is_written_at_its_own_position) {
  // The example of the ONNX operator: a cache of two rows with different lengths.
  const Tensor x = Tensor::of<float>({2, 4, 1}, {1, 2, 3, 4, 5, 6, 7, 8});
  const Tensor update = Tensor::of<float>({2, 1, 1}, {-1, -2});
  const Tensor out = run("tensor_scatter", {x, update, ids({1, 3})}, {{"axis", std::int64_t{1}}});
  BOOST_TEST(elements_of(out) == (Doubles{1, -1, 3, 4, 5, 6, 7, -2}));
}

BOOST_AUTO_TEST_CASE(circular_writes_continue_at_the_beginning_of_the_axis) {
  const Tensor x = Tensor::of<float>({2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  const Tensor update = Tensor::of<float>({2, 3}, {-1, -2, -3, -4, -5, -6});
  const Attributes circular{{"axis", std::int64_t{1}}, {"circular", true}};
  const Tensor out = run("tensor_scatter", {x, update, ids({3, 10})}, circular);
  BOOST_TEST(elements_of(out) == (Doubles{-2, -3, 3, -1, -6, 6, -4, -5}));
  const auto write = [&](const Tensor& start, const Tensor& rows) {
    return run("tensor_scatter", {x, update, start, rows}, circular);
  };
  BOOST_CHECK_EXCEPTION(write(ids({0, -1}), ids({0, 1})), DataError,
                        says("start[1] is -1: it must not be negative"));
  const Tensor small = Tensor::zeros(DType::f32, {2, 8});
  const auto two = [&](std::int64_t a, std::int64_t b) {
    return run("tensor_scatter", {small, update, ids({a, b}), ids({1, 1})}, circular);
  };
  BOOST_CHECK_NO_THROW(two(6, 1));
  BOOST_CHECK_EXCEPTION(two(7, 1), DataError,
                        says("rows[0] and rows[1] are both 1, and their blocks of 3, which begin "
                             "at 7 and 1, overlap"));
  BOOST_CHECK_THROW(two(16, 10), DataError);
}

BOOST_AUTO_TEST_CASE(index_add_may_overwrite_its_operand) {
  const Tensor x = sample_uniform({6, 3}, 1), index = ids({4, 4}), src = sample_uniform({2, 3}, 2);
  const Tensor wanted = run("index_add", {x, index, src}, {});
  Tensor memory = x.clone();
  const OperandSpec spec{DType::f32, {6, 3}};
  const Kernel kernel = builtin_ops()
                            ->at("index_add")
                            .kernel({{spec, {DType::i64, {2}}, {DType::f32, {2, 3}}},
                                     {spec},
                                     {{"axis", std::int64_t{0}}}});
  const void* in[] = {memory.raw(), index.raw(), src.raw()};
  void* out[] = {memory.mutable_raw()};
  for (const Phase& phase : kernel.phases) {
    for (std::int64_t c = 0; c < phase.chunks; ++c) phase.body({in, out, nullptr, nullptr}, c);
  }
  BOOST_TEST(bitwise_equal(memory, wanted));
}

BOOST_AUTO_TEST_CASE(maxima_and_minima_at_indices_are_nan_if_any_element_is_nan) {
  const double nan = std::nan("");
  const Tensor x = Tensor::of<double>({4}, {1, nan, 3, 4}), index = ids({0, 0, 1, 2, 3, 3, 3});
  const Tensor src = Tensor::of<double>({7}, {2, 0, 5, nan, 7, nan, 5});
  for (const std::string family : {"index_", "scatter_"}) {
    for (const bool largest : {false, true}) {
      const Attributes axis{{"axis", std::int64_t{0}}};
      const Tensor out = run(family + (largest ? "max" : "min"), {x, index, src}, axis);
      BOOST_TEST(out.at(0) == (largest ? 2 : 0));
      for (const int i : {1, 2, 3}) BOOST_TEST(std::isnan(out.at(i)));
    }
  }
}

BOOST_AUTO_TEST_CASE(equal_extremes_at_indices_share_the_gradient_with_x) {
  Graph g;
  const Value x = g.input("x", DType::f64, {3}), src = g.input("src", DType::f64, {5});
  const Value index = g.constant(ids({0, 0, 1, 1, 2}));
  const Feed feed{{x, Tensor::of<double>({3}, {2, 1, 9})},
                  {src, Tensor::of<double>({5}, {2, 2, 5, 4, 3})}};
  for (const auto function : {index_max, scatter_max}) {
    const auto d = gradients(sum(function(x, index, src, 0) * 6), {x, src});
    const auto r = evaluate_graph({d[0], d[1]}, feed);
    BOOST_TEST(elements_of(r[0]) == (Doubles{2, 0, 6}));
    BOOST_TEST(elements_of(r[1]) == (Doubles{2, 2, 6, 0, 0}));
  }
  // Numbers and 32-bit indices are accepted as for index_add().
  const Value far = g.constant(ids({2, 2, 0, 1, 2}).to(DType::i32));
  const auto r = evaluate_graph(
      {index_min(x, far, src), scatter_min(x, far, src, -1), index_min(x, 2, 4)}, feed);
  BOOST_TEST(elements_of(r[0]) == (Doubles{2, 1, 2}));
  BOOST_TEST(bitwise_equal(r[0], r[1]));
  BOOST_TEST(elements_of(r[2]) == (Doubles{2, 1, 4}));
}

BOOST_AUTO_TEST_CASE(index_functions_match_their_definitions) {
  Graph g;
  const Value w = g.input("w", DType::f64, {4, 2}), tokens = g.input("tokens", DType::i64, {3});
  const Value e = embedding(tokens, w, 1);
  const Value dw = gradient(sum(e), w);
  const Feed feed{{w, sample_uniform({4, 2}, 1).to(DType::f64)}, {tokens, ids({1, 3, 3})}};
  BOOST_TEST(elements_of(evaluate_graph({dw}, feed)[0]) == (Doubles{0, 0, 0, 0, 0, 0, 2, 2}));
  const Value mask = apply_binary("equal", w, w);
  BOOST_TEST(elements_of(evaluate_graph({masked_fill(w, mask, 3)}, feed)[0]) == Doubles(8, 3.0));
  BOOST_TEST(elements_of(evaluate_graph({one_hot(tokens, 4)}, feed)[0]) ==
             (Doubles{0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1}));
  BOOST_TEST((take(w, 2).shape() == Shape{2}));
  // In PyTorch, padding_idx -1 means the last row. Here, no token has the ID -1, and the padding
  // would silently have no effect. Therefore it is an error.
  for (const std::int64_t none : {-1, 9}) {
    BOOST_CHECK_EXCEPTION(embedding(tokens, w, none), ArgumentError,
                          says("padding_idx " + std::to_string(none) + " is not a row of weight"));
  }
  BOOST_CHECK_EXCEPTION(embedding(tokens, tokens), ShapeError,
                        says("weight must be [vocabulary, width], but is [3]"));
  BOOST_CHECK_EXCEPTION(take(w, w), DTypeError, says("index_test.cc"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace weft::testing
