// Segment functions: values against plain loops, gradients, empty segments, error messages, and a
// graph network that is built from them. test_golden compares them with PyTorch.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <map>
#include <vector>

#include "weft/autodiff/check_gradients.h"
#include "weft/autodiff/gradients.h"
#include "weft/core/error.h"
#include "weft/graph/functions.h"
#include "weft/graph/run/session.h"
#include "weft/tests/reference/evaluate_graph.h"
#include "weft/tests/samples/sample_data.h"
#include "weft/tests/support/messages.h"
#include "weft/tests/support/numbers.h"

namespace weft::testing {
namespace {

using SegmentFunction = Value (*)(Arg, Arg, const Dim&);
const std::map<std::string, SegmentFunction> kSegmentFunctions = {{"sum", segment_sum},
                                                                  {"mean", segment_mean},
                                                                  {"max", segment_max},
                                                                  {"min", segment_min},
                                                                  {"softmax", segment_softmax}};

Tensor segment_ids(std::initializer_list<std::int64_t> ids) {
  return Tensor::of<std::int64_t>({static_cast<std::int64_t>(ids.size())}, ids);
}

/// The reduction of one column of a segment.
double reduced(const std::string& name, const std::vector<double>& rows, DType dtype) {
  const bool largest = name == "max";
  double total = 0, extreme = largest ? -INFINITY : INFINITY;
  if (dtype == DType::i32) {
    using Limits = std::numeric_limits<std::int32_t>;
    extreme = largest ? Limits::lowest() : Limits::max();
  } else if (dtype == DType::u8) {
    extreme = largest ? 0 : 255;
  }
  for (const double x : rows) {
    total += x;
    extreme = largest ? std::max(extreme, x) : std::min(extreme, x);
  }
  if (name == "sum") return dtype == DType::u8 ? std::fmod(total, 256) : total;
  if (name == "mean") return rows.empty() ? 0 : total / static_cast<double>(rows.size());
  return extreme;
}

/// The results of a segment function by loops over the segments and columns.
std::vector<double> by_loops(const std::string& name, const Tensor& data, const Tensor& ids,
                             std::int64_t segments) {
  const std::int64_t n = ids.numel();
  std::int64_t width = 1;
  for (int i = 1; i < data.rank(); ++i) width *= data.size(i);
  std::vector<double> out(static_cast<std::size_t>((name == "softmax" ? n : segments) * width));
  for (std::int64_t s = 0; s < segments; ++s) {
    for (std::int64_t c = 0; c < width; ++c) {
      std::vector<double> rows;
      std::vector<std::size_t> places;
      for (std::int64_t i = 0; i < n; ++i) {
        if (static_cast<std::int64_t>(ids.at(i)) != s) continue;
        rows.push_back(data.at(i * width + c));
        places.push_back(static_cast<std::size_t>(i * width + c));
      }
      if (name != "softmax") {
        out[static_cast<std::size_t>(s * width + c)] = reduced(name, rows, data.dtype());
        continue;
      }
      double total = 0;
      const double top = rows.empty() ? 0 : *std::max_element(rows.begin(), rows.end());
      for (const double x : rows) total += std::exp(x - top);
      for (std::size_t i = 0; i < rows.size(); ++i)
        out[places[i]] = std::exp(rows[i] - top) / total;
    }
  }
  return out;
}

/// Runs a segment function in a Session with symbolic sizes.
Tensor run_segments(SegmentFunction function, const Tensor& data, const Tensor& ids,
                    std::int64_t segments, int threads = 2) {
  Graph g;
  std::vector<Dim> sizes = {g.dim("rows")};
  for (int i = 1; i < data.rank(); ++i) sizes.emplace_back(data.size(i));
  const Value x = g.input("data", {data.dtype(), Shape(sizes)});
  const Value i = g.input("ids", ids.dtype(), {"rows"});
  const Value like = g.input("like", DType::f32, {"segments"});
  Program program = Program("p").output("out", function(x, i, like.size(0))).output("like", like);
  return Session(g, {.threads = threads})
      .run(program,
           {{"data", data}, {"ids", ids}, {"like", Tensor::zeros(DType::f32, {segments})}})["out"]
      .clone();
}

BOOST_AUTO_TEST_SUITE(segments)

BOOST_AUTO_TEST_CASE(segment_functions_match_loops_over_the_segments) {
  for (const auto& [name, function] : kSegmentFunctions) {
    for (const DType dtype : {DType::f64, DType::f32, DType::i32, DType::u8}) {
      if (!is_floating(dtype) && (name == "mean" || name == "softmax")) continue;
      for (const Sizes& tail : {Sizes{}, {3}, {2, 65}, {0}}) {
        for (const std::int64_t n : {0, 1, 7, 300}) {
          for (const std::int64_t segments : {1, 5, 40}) {
            Sizes sizes = {n};
            sizes.insert(sizes.end(), tail.begin(), tail.end());
            const Tensor data = is_floating(dtype) ? sample_uniform(sizes, 1, -4, 4).to(dtype)
                                                   : sample_indices(sizes, 1, 3).to(dtype);
            const Tensor ids =
                sample_indices({n}, 2, segments).to(n == 7 ? DType::i32 : DType::i64);
            const Tensor got = run_segments(function, data, ids, segments);
            const std::vector<double> want = by_loops(name, data, ids, segments);
            BOOST_TEST_CONTEXT(name << " of " << data.type_str() << ", " << segments
                                    << " segments") {
              BOOST_REQUIRE(got.dtype() == dtype);
              BOOST_REQUIRE(got.numel() == static_cast<std::int64_t>(want.size()));
              const double tolerance = dtype == DType::f64 ? 1e-13 : dtype == DType::f32 ? 1e-4 : 0;
              for (std::size_t k = 0; k < want.size(); ++k) {
                const double x = got.at(static_cast<std::int64_t>(k));
                const bool close = x == want[k] || std::abs(x - want[k]) <= tolerance;
                if (!close) BOOST_REQUIRE_EQUAL(x, want[k]);
              }
            }
          }
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(segment_ids_follow_from_the_offsets_of_consecutive_segments) {
  const auto ids = [](const Tensor& offsets, std::int64_t n) {
    Graph g;
    const Value given = g.input("offsets", offsets.dtype(), {"ends"});
    const Value rows = g.input("rows", DType::f32, {"rows"});
    const Program program =
        Program("p").output("ids", weft::segment_ids(given, rows.size(0))).output("rows", rows);
    return elements_of(Session(g).run(
        program, {{"offsets", offsets}, {"rows", Tensor::zeros(DType::f32, {n})}})["ids"]);
  };
  using Ids = std::vector<double>;
  BOOST_TEST(ids(segment_ids({0, 2, 2, 3, 7}), 7) == (Ids{0, 0, 2, 3, 3, 3, 3}));
  BOOST_TEST(ids(segment_ids({0, 2, 3}).to(DType::i32), 3) == (Ids{0, 0, 1}));
  BOOST_TEST(ids(segment_ids({0, 0, 1, 1}), 1) == (Ids{1}));
  BOOST_TEST(ids(segment_ids({0}), 0) == Ids{});
  BOOST_TEST(ids(segment_ids({0, 0}), 0) == Ids{});
  BOOST_CHECK_THROW(ids(segment_ids({0, 4}), 3), DataError);
  Graph g;
  check_error<ShapeError>([&] { weft::segment_ids(g.input("x", DType::f32, {3}), 2); },
                          {"offsets must be i32 or i64 [num_segments + 1], but are f32[3]"});
}

BOOST_AUTO_TEST_CASE(zero_segments_without_rows_are_valid) {
  for (const auto& [name, function] : kSegmentFunctions) {
    const Tensor out = run_segments(function, Tensor::zeros(DType::f32, {0, 3}),
                                    Tensor::zeros(DType::i64, {0}), 0);
    BOOST_TEST(out.type_str() == "f32[0, 3]", name);
  }
}

// 64-bit limits are not representable as double.
BOOST_AUTO_TEST_CASE(empty_segments_give_the_neutral_element) {
  const Tensor ids = segment_ids({1}), data = Tensor::of<std::int64_t>({1}, {7});
  using Limits = std::numeric_limits<std::int64_t>;
  BOOST_TEST(run_segments(segment_max, data, ids, 2).data<std::int64_t>()[0] == Limits::min());
  BOOST_TEST(run_segments(segment_min, data, ids, 2).data<std::int64_t>()[0] == Limits::max());
  const Tensor floats = data.to(DType::f32);
  BOOST_TEST(run_segments(segment_max, floats, ids, 2).at(0) == -INFINITY);
  BOOST_TEST(run_segments(segment_min, floats, ids, 2).at(0) == INFINITY);
  BOOST_TEST(run_segments(segment_sum, floats, ids, 2).at(0) == 0);
  BOOST_TEST(run_segments(segment_mean, floats, ids, 2).at(0) == 0);
}

BOOST_AUTO_TEST_CASE(replacing_the_maximum_of_empty_segments_keeps_gradients_finite) {
  Graph g;
  const Value x = g.input("x", DType::f64, {3});
  const Value m = segment_max(x, g.constant(segment_ids({0, 2, 2})), 4);
  const Value y = square(where(isfinite(m), m, 0));
  const auto r =
      evaluate_graph({y, gradient(sum(y), x)}, {{x, Tensor::of<double>({3}, {3, 1, 2})}});
  BOOST_TEST(elements_of(r[0]) == (std::vector<double>{9, 0, 4, 0}));
  BOOST_TEST(elements_of(r[1]) == (std::vector<double>{6, 0, 4}));
}

BOOST_AUTO_TEST_CASE(equal_extremes_share_the_gradient_and_nan_propagates) {
  Graph g;
  const Value x = g.input("x", DType::f64, {5}), ids = g.constant(segment_ids({1, 0, 1, 1, 0}));
  const Value largest = segment_max(x, ids, 2), smallest = segment_min(x, ids, 2);
  const auto r = evaluate_graph({gradient(sum(largest * 6), x), gradient(sum(smallest), x)},
                                {{x, Tensor::of<double>({5}, {4, 1, 4, 4, 2})}});
  BOOST_TEST(elements_of(r[0]) == (std::vector<double>{2, 0, 2, 2, 6}));
  const double third = 1.0 / 3;
  BOOST_TEST(elements_of(r[1]) == (std::vector<double>{third, 1, third, third, 0}));
  for (const int at : {0, 2, 3}) {
    Tensor with_nan = Tensor::of<double>({5}, {4, 1, 4, 4, 2});
    with_nan.mutable_data<double>()[at] = NAN;
    for (const Tensor& out : evaluate_graph({largest, smallest}, {{x, with_nan}})) {
      BOOST_TEST(std::isnan(out.at(1)));
      BOOST_TEST(!std::isnan(out.at(0)));
    }
  }
}

BOOST_AUTO_TEST_CASE(gradients_of_both_orders_match_finite_differences) {
  for (const auto& [name, function] : kSegmentFunctions) {
    for (const Sizes& sizes : {Sizes{9}, {9, 3}, {9, 2, 2}, {1, 5}}) {
      Graph g;
      const Value x = g.input("x", {DType::f64, Shape(sizes)});
      const Value ids = g.constant(sample_indices({sizes[0]}, 3, 4));
      Value y = function(x, ids, 5);
      // Empty segments have no finite value.
      if (name == "max" || name == "min") y = where(isfinite(y), y, 0);
      BOOST_TEST(
          check_gradients(square(y), {x},
                          {.feeds = {{"x", sample_distinct(sizes, 4)}}, .second_order = true}),
          name);
    }
  }
}

BOOST_AUTO_TEST_CASE(softmax_of_extreme_scores_is_a_distribution_over_each_segment) {
  const Tensor ids = segment_ids({0, 1, 0, 1, 2, 3, 3});
  const float inf = INFINITY;
  const Tensor scores = Tensor::of<float>({7}, {1e30F, -3e38F, 0, -3e38F, -88, -inf, -inf});
  const Tensor p = run_segments(segment_softmax, scores, ids, 4);
  BOOST_TEST(p.at(0) == 1);
  BOOST_TEST(p.at(2) == 0);
  BOOST_TEST(p.at(1) == 0.5);
  BOOST_TEST(p.at(3) == 0.5);
  BOOST_TEST(p.at(4) == 1);
  BOOST_TEST(std::isnan(p.at(5)));  // like softmax() of a slice without finite elements
  BOOST_TEST(std::isnan(p.at(6)));
}

BOOST_AUTO_TEST_CASE(softmax_of_one_segment_equals_softmax) {
  const Tensor data = sample_uniform({37, 3}, 1, -5, 5).to(DType::f64);
  const Tensor one = run_segments(segment_softmax, data, Tensor::zeros(DType::i32, {37}), 1);
  Graph g;
  const Value x = g.input("x", DType::f64, {37, 3});
  BOOST_TEST(max_difference(one, evaluate_graph({softmax(x, 0)}, {{x, data}})[0]) < 1e-15);
}

BOOST_AUTO_TEST_CASE(results_do_not_depend_on_the_number_of_threads) {
  for (const auto& [name, function] : kSegmentFunctions) {
    for (const Sizes& sizes : {Sizes{70000}, {5000, 70}}) {
      const Tensor data = sample_uniform(sizes, 1), ids = sample_indices({sizes[0]}, 2, 900);
      const Tensor one = run_segments(function, data, ids, 900, 1);
      BOOST_TEST(bitwise_equal(one, run_segments(function, data, ids, 900, 4)), name);
    }
  }
}

BOOST_AUTO_TEST_CASE(errors_name_the_operand_and_the_line_of_the_call) {
  Graph g;
  const Value x = g.input("x", DType::f32, {"n", 3}), ids = g.input("ids", DType::i64, {"n"});
  const Value others = g.input("others", DType::i64, {"m"}),
              flag = g.input("b", DType::boolean, {"n"});
  const Value whole = g.input("whole", DType::i32, {"n"}),
              half = g.input("half", DType::bf16, {"n"});
  const Value scalar = g.input("scalar", DType::f32, {});
  for (const auto& [name, function] : kSegmentFunctions) {
    const std::string place = "segments_test.cc", full = "segment_" + name;
    // clang 14 cannot capture structured bindings implicitly.
    const auto error = [&, &reduce = function](Value data, Value segment, const Dim& count,
                                               std::string text) {
      BOOST_CHECK_EXCEPTION(reduce(data, segment, count), Error,
                            message_contains({full, std::move(text), place}));
    };
    error(x, others, 4, "segment_ids must be [n], one id for each row of data [n, 3], but are [m]");
    error(x, x, 4, "segment_ids must be i32 or i64, but are f32");
    error(ids, unsqueeze(ids, 1), 4,
          name == "mean" || name == "softmax" ? "data must be f32 or f64, but is i64"
                                              : "segment_ids must be [n], one id for each row");
    error(scalar, ids, 4, "data must be [n, ...], but is a scalar");
    error(x, ids, -1, "num_segments must not be negative, but is -1");
    error(flag, ids, 4, "data must be f32");
    error(half, ids, 4, "but is bf16");
  }
  BOOST_CHECK_EXCEPTION(segment_mean(whole, ids, 2), DTypeError,
                        message_contains({"data must be f32 or f64, but is i32"}));
}

BOOST_AUTO_TEST_CASE(ids_out_of_range_are_found_before_variables_are_written) {
  for (const auto& [name, function] : kSegmentFunctions) {
    for (const std::int64_t bad : {std::int64_t{4}, std::int64_t{-1}}) {
      Graph g;
      const Value x = g.input("x", DType::f32, {3}), ids = g.input("ids", DType::i64, {3});
      const Variable count = g.variable("count", DType::f32, {});
      const Program step =
          Program("step").output("y", function(x, ids, 4)).update(count, count.value() + 1);
      Session session(g);
      session.set_value("count", Tensor::scalar(DType::f32, 5));
      BOOST_CHECK_EXCEPTION(
          session.run(step,
                      {{"x", Tensor::zeros(DType::f32, {3})}, {"ids", segment_ids({0, 3, bad})}}),
          DataError,
          message_contains({"index " + std::to_string(bad) + " at position 2 is out of range",
                            "segment_" + name, "segments_test.cc"}));
      BOOST_TEST(session.value("count").at(0) == 5);
    }
  }
}

// A layer of message passing over edges (from, to), and attention over the incoming edges of each
// node, equal the same computations with dense adjacency matrices, also for nodes without edges.
BOOST_AUTO_TEST_CASE(message_passing_equals_products_with_the_adjacency_matrix) {
  constexpr std::int64_t kNodes = 6, kWidth = 3;
  const Tensor from = segment_ids({0, 1, 2, 2, 4, 5, 1}), to = segment_ids({1, 0, 1, 3, 3, 0, 3});
  Graph g;
  const Value h = g.input("h", DType::f64, {kNodes, kWidth});
  const Value w = g.input("w", DType::f64, {kWidth, kWidth});
  const Value source = g.constant(from), target = g.constant(to);
  const Value messages = matmul(take(h, source), w);
  const Value passed = segment_sum(messages, target, kNodes);
  const Value scores = sum(take(h, target) * take(h, source), 1);
  const Value attended =
      segment_sum(unsqueeze(segment_softmax(scores, target, kNodes), 1) * messages, target, kNodes);

  Tensor adjacency = Tensor::zeros(DType::f64, {kNodes, kNodes});
  for (std::int64_t e = 0; e < from.numel(); ++e) {
    adjacency.mutable_data<double>()[static_cast<std::int64_t>(to.at(e)) * kNodes +
                                     static_cast<std::int64_t>(from.at(e))] = 1;
  }
  const Value dense = g.constant(adjacency);
  const Value dense_scores = matmul(h, h, {.transpose_b = true});
  const Value dense_attended = matmul(masked_softmax(dense_scores, dense > 0), matmul(h, w));
  const Feed feed = {{h, sample_uniform({kNodes, kWidth}, 1).to(DType::f64)},
                     {w, sample_uniform({kWidth, kWidth}, 2).to(DType::f64)}};
  const auto gradients_of = [&](const Value& y) { return gradients(sum(square(y)), {h, w}); };
  const std::vector<std::pair<Value, Value>> pairs = {{passed, matmul(dense, matmul(h, w))},
                                                      {attended, dense_attended}};
  for (const auto& [sparse, matrix] : pairs) {
    const auto a = gradients_of(sparse), b = gradients_of(matrix);
    const auto r = evaluate_graph({sparse, a[0], a[1], matrix, b[0], b[1]}, feed);
    for (std::size_t i = 0; i < 3; ++i) BOOST_TEST(max_difference(r[i], r[i + 3]) < 1e-13);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft::testing
