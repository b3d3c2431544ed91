// Nodes, steps, memory and memory traffic for gradients must grow linearly with the program.
#include <boost/test/unit_test.hpp>

#include "count.h"
#include "weft/autodiff/gradient_advice.h"
#include "weft/autodiff/optimizers/optimizers.h"
#include "weft/graph/control/call.h"
#include "weft/graph/functions.h"

namespace weft::scaling {
namespace {

// Returns the counts for computing the gradient of `loss` with respect to `wrt`, and for a program
// that computes both.
Counts gradient_counts(Graph& g, const Value& loss, const std::vector<Value>& wrt,
                       const NamedSizes& feeds) {
  std::int64_t steps = 0;
  GradientAdvice advice;
  advice.steps = &steps;
  const auto before = static_cast<double>(g.node_count());
  std::vector<Value> gradients;
  const double bytes =
      bytes_of([&] { gradients = gradients_for(advice, loss, wrt, {}, SourceLocation{}); });
  Program p("p");
  p.output("loss", loss);
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    p.output("gradient" + std::to_string(i), gradients[i]);
  }
  Counts counts = plan_counts(g, p, feeds);
  counts.merge(pass_counts(p));
  counts["steps of differentiation"] = static_cast<double>(steps);
  counts["bytes allocated by differentiation"] = bytes;
  counts["nodes of the gradient"] = static_cast<double>(g.node_count()) - before;
  return counts;
}

Value total(const std::vector<Value>& parts) {
  Value sum = parts[0];
  for (std::size_t i = 1; i < parts.size(); ++i) sum = sum + parts[i];
  return sum;
}

BOOST_AUTO_TEST_SUITE(gradients_grow_linearly)

BOOST_AUTO_TEST_CASE(work_is_linear_in_the_number_of_slices_of_one_tensor) {
  using Parts = std::function<std::vector<Value>(Value x, int size)>;
  const auto sliced = [](const Parts& parts_of) {
    return [parts_of](int size) {
      Graph g;
      const Value x = g.input("x", DType::f32, {size, 16});
      std::vector<Value> parts;
      for (const Value& part : parts_of(x, size)) parts.push_back(sum(tanh(part)));
      return gradient_counts(g, total(parts), {x}, {{"x", {size, 16}}});
    };
  };
  const auto each = [](const std::function<Value(Value x, int t)>& part) {
    return [part](Value x, int size) {
      std::vector<Value> parts;
      for (int t = 0; t < size; ++t) parts.push_back(part(x, t));
      return parts;
    };
  };
  const auto constant = [](Graph& g, std::vector<std::int64_t> v) {
    return g.constant(Tensor::of<std::int64_t>({static_cast<std::int64_t>(v.size())}, v));
  };
  check_linear(sliced(each([](Value x, int t) { return select(x, 0, t); })), 128);
  check_linear(sliced(each([](Value x, int t) { return slice(x, 0, {t, t + 1}); })), 128);
  check_linear(sliced([](Value x, int size) { return split_equal(x, size); }), 128);
  check_linear(sliced(each([&](Value x, int t) {
                 return dynamic_slice(x, constant(x.graph(), {t, 0}), Shape{1, 16});
               })),
               128);
  check_linear(sliced(each([&](Value x, int t) { return take(x, constant(x.graph(), {t})); })),
               128);
}

BOOST_AUTO_TEST_CASE(work_is_linear_in_the_length_of_a_recurrence) {
  check_linear(
      [](int size) {
        Graph g;
        const Value x = g.input("x", DType::f32, {size, 4, 8});
        const Variable w = g.variable("w", DType::f32, {8, 8}),
                       u = g.variable("u", DType::f32, {8, 8});
        Value h = select(x, 0, 0);
        for (int t = 1; t < size; ++t) h = tanh(matmul(h, w) + matmul(select(x, 0, t), u));
        return gradient_counts(g, sum(h), {w, u, x}, {{"x", {size, 4, 8}}});
      },
      64);
}

BOOST_AUTO_TEST_CASE(work_is_linear_in_the_length_of_a_chain) {
  check_linear(
      [](int size) {
        Graph g;
        const Value x = g.input("x", DType::f32, {64});
        Value h = x;
        for (int t = 0; t < size; ++t) h = sin(h) * 1.5f;
        return gradient_counts(g, sum(h), {x}, {{"x", {64}}});
      },
      256);
}

BOOST_AUTO_TEST_CASE(work_is_linear_in_the_number_of_users_of_one_value) {
  check_linear(
      [](int size) {
        Graph g;
        const Value x = g.input("x", DType::f32, {64});
        const Value shared = exp(x);
        std::vector<Value> parts;
        for (int t = 0; t < size; ++t) parts.push_back(sum(sin(shared * (1.0 + t))));
        return gradient_counts(g, total(parts), {x}, {{"x", {64}}});
      },
      256);
}

BOOST_AUTO_TEST_CASE(work_is_linear_in_the_number_of_calls_and_composite_ops) {
  check_linear(
      [](int size) {
        Graph g;
        define_function(g, "block", {{"x", DType::f32, {"n", 8}}, {"key", DType::i64, {2}}},
                        [](Graph& body, const std::vector<Value>& in) {
                          body.require(body.dim("n") == body.dim("n") + 0);
                          const Value h = softmax(in[0] * 0.5f, -1);
                          return std::vector<Value>{dropout(h, 0.1, in[1]) + in[0]};
                        });
        const Value x = g.input("x", DType::f32, {"rows", 8});
        const Variable key = g.key("dropout");
        Value h = x;
        for (int t = 0; t < size; ++t) h = rms_norm(call(g, "block", {h, key})[0]);
        return gradient_counts(g, sum(h), {x}, {{"x", {5, 8}}});
      },
      16);
}

BOOST_AUTO_TEST_CASE(work_is_linear_in_the_size_of_a_product_over_an_axis) {
  for (const bool symbolic : {true, false}) {
    check_linear(
        [&](int size) {
          Graph g;
          const Value x = g.input("x", DType::f32, {3, symbolic ? AxisSize("n") : AxisSize(size)});
          return gradient_counts(g, sum(prod(x, 1)), {x}, {{"x", {3, size}}});
        },
        512);
  }
}

BOOST_AUTO_TEST_CASE(work_is_linear_in_the_number_of_parameters_of_a_step) {
  check_linear(
      [](int size) {
        Graph g;
        const Value x = g.input("x", DType::f32, {4, 8});
        Value h = x;
        for (int t = 0; t < size; ++t) {
          h = tanh(matmul(h, g.variable("w" + std::to_string(t), DType::f32, {8, 8})));
        }
        Program p("train");
        Counts counts;
        counts["bytes allocated by building"] = bytes_of([&] {
          p.output("loss", sum(h))
              .update(adamw(sum(h), g.parameters(), {.step = {.clip_norm = 1}}));
        });
        counts.merge(plan_counts(g, p, {{"x", {4, 8}}}));
        counts.merge(pass_counts(p));
        return counts;
      },
      16);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft::scaling
