// Tests of check_reference. It accepts programs that round, draw random numbers and loop, and
// reports faults in updates, in bodies and in custom operations.
#include "weft/testing/reference.h"

#include <boost/test/unit_test.hpp>
#include <cmath>

#include "weft/autodiff/optimizers/optimizers.h"
#include "weft/graph/control/call.h"
#include "weft/graph/control/cond.h"
#include "weft/graph/control/scan.h"
#include "weft/graph/functions.h"
#include "weft/ops/custom_op.h"
#include "weft/testing/random_tensors.h"

namespace weft::testing {
namespace {

void check_message(const Outcome& found, const std::vector<std::string>& parts) {
  BOOST_TEST(!found);
  for (const std::string& part : parts) {
    BOOST_TEST(found.message().find(part) != std::string::npos, part << " is missing in " << found);
  }
}

/// Doubles x, except for elements above `wrong_above`, which are not changed.
OpRecord twice_record(double wrong_above) {
  OpRecord r = elementwise_op(
      "twice", [wrong_above](auto x) { return static_cast<double>(x) > wrong_above ? x : x + x; });
  r.doc = "2 x.";
  r.definition = [](const Node&, const std::vector<Value>& in, Graph&) {
    return std::vector<Value>{in[0] * 2};
  };
  return r;
}

/// An optimizer step that smooths its update: w[i] - (g[i - 1] + g[i] + w[i - 1]) / 10. It may
/// overwrite w. If it runs from front to back, it overwrites elements that it has yet to read.
OpRecord smooth_step_record(bool from_the_front) {
  OpRecord r;
  r.name = "smooth_step";
  r.doc = "A step of an optimizer.";
  r.inputs = {{"w"}, {"g"}};
  r.inplace = {{0, 0}};
  r.infer = [](const InferContext& c) { return std::vector<ValueType>{c.input(0)}; };
  r.kernel = floating_kernel([from_the_front](auto zero, const KernelRequest& q) {
    using T = decltype(zero);
    return loop_kernel(1, 1e3, [n = q.outputs[0].numel(), from_the_front](auto& run, auto, auto) {
      const T *w = run.template in<T>(0), *g = run.template in<T>(1);
      for (std::int64_t k = 0; k < n; ++k) {
        const std::int64_t i = from_the_front ? k : n - 1 - k;
        const T before = i == 0 ? T(0) : g[i - 1] + w[i - 1];
        run.template out<T>(0)[i] = w[i] - (g[i] + before) / 10;
      }
    });
  });
  r.gradient = Gradient::none;
  r.no_gradient_reason = "tests only run it";
  return r;
}

struct Learner {
  explicit Learner(std::shared_ptr<const OpSet> ops = builtin_ops()) : g(std::move(ops)) {}
  Program train() {
    return Program("train")
        .output("loss", loss)
        .update(adamw(loss, g.parameters(), {.lr = 1e-2}).updates);
  }

  Graph g;
  Value x = g.input("x", DType::f32, {"batch", 24});
  Value t = g.input("t", DType::f32, {"batch", 4});
  Variable w1 = g.variable("w1", DType::f32, {24, 32}, {.initializer = Initializer::normal(0.3)});
  // Has no influence on the loss: its gradient consists of the rounding errors of sums that cancel.
  Variable shift = g.variable("shift", DType::f32, {1});
  Variable w2 = g.variable("w2", DType::f32, {32, 4}, {.initializer = Initializer::normal(0.3)});
  Value scores = matmul(x, w1) + shift;
  Value h = softmax(scores) + tanh(matmul(x, w1)) + gelu(matmul(x, w1));
  Value y = matmul(h, w2);
  Value loss = mean(square(y - t));
  RunSetup setup{.feeds = {{"x", normal_tensor({16, 24}, 1)}, {"t", normal_tensor({16, 4}, 2)}}};
};

BOOST_AUTO_TEST_SUITE(references)

// The size of Adam's step is the learning rate for a gradient of any size, even for a gradient that
// consists of rounding errors only or that changes sign at lower precisions.
BOOST_AUTO_TEST_CASE(training_programs_pass_at_every_precision) {
  for (const auto& precision : {std::optional<Precision>(), std::optional(Precision::highest),
                                std::optional(Precision::high), std::optional(Precision::medium)}) {
    Learner n;
    const Program train = n.train().precision(precision);
    BOOST_TEST(check_reference(n.g, train, n.setup));
  }
}

BOOST_AUTO_TEST_CASE(nodes_may_override_the_precision) {
  Graph g;
  const Value x = g.input("x", DType::f32, {"batch", 24});
  const Variable w = g.variable("w", DType::f32, {24, 8}, {.initializer = Initializer::normal(1)});
  const Value y = matmul(x, w, {.precision = Precision::medium});
  const Program program = Program("p").output("y", gelu(y) + matmul(x, w));
  BOOST_TEST(check_reference(g, program, {.feeds = {{"x", normal_tensor({16, 24}, 1)}}}));
}

BOOST_AUTO_TEST_CASE(an_update_that_overwrites_its_input_too_early_is_detected) {
  for (const Precision precision : {Precision::highest, Precision::medium}) {
    const auto outcome = [&](bool wrong) {
      Learner n(with_ops({smooth_step_record(wrong)}));
      const Value step = apply_op("smooth_step", {n.w1.value(), gradients(n.loss, {n.w1})[0]});
      const Program train = Program("train").output("loss", n.loss).update(n.w1, step);
      return check_reference(n.g, Program(train).precision(precision), n.setup);
    };
    BOOST_TEST(outcome(false));
    check_message(outcome(true), {"variable 'w1' of a Session", "nodes that write in place:",
                                  "smooth_step, ", "reference_test.cc:"});
  }
}

// As above, for a loop that carries the weights.
BOOST_AUTO_TEST_CASE(an_overwriting_step_in_a_loop_is_detected) {
  const auto outcome = [](bool wrong) {
    Graph g(with_ops({smooth_step_record(wrong)}));
    const Value w = g.input("w", DType::f32, {40}), gs = g.input("gs", DType::f32, {"steps", 40});
    const Value last =
        scan(g, {w}, {gs}, {}, [](Graph&, const ScanElements& in) {
          const Value next = apply_op("smooth_step", {sin(in.carries[0]), in.elements[0]});
          return ScanStep{{next}, {}};
        }).carries[0];
    const Program program = Program("p").output("w", last);
    return check_reference(
        g, program, {.feeds = {{"w", normal_tensor({40}, 1)}, {"gs", normal_tensor({5, 40}, 2)}}});
  };
  BOOST_TEST(outcome(false));
  check_message(outcome(true),
                {"output 'w' of a Session", "nodes that write in place:", "smooth_step, "});
}

BOOST_AUTO_TEST_CASE(custom_operations_are_compared_with_their_definitions) {
  const auto outcome = [](double wrong_above) {
    Graph g(with_ops({twice_record(wrong_above)}));
    const Value x = g.input("x", DType::f32, {"n"});
    const Program program = Program("p").output("y", exp(apply_op("twice", {x})));
    const Tensor at = Tensor::of<float>({4}, {1, -1, 0.5f, 3});
    return check_reference(g, program, {.feeds = {{"x", at}}});
  };
  BOOST_TEST(outcome(100));
  check_message(outcome(2), {"twice: output 0: element 3 of 4 is 3, but 6 by its definition",
                             "reference_test.cc:"});
}

// A fault inside a body is reported for the faulty node, with the loop step.
BOOST_AUTO_TEST_CASE(bodies_are_compared_node_by_node) {
  const auto ops = with_ops({twice_record(3)});
  const auto outcome = [&](const std::function<Value(Graph&, Value)>& build) {
    Graph g(ops);
    const Value x = g.input("x", DType::f32, {2});
    const Program program = Program("p").output("y", build(g, x));
    return check_reference(g, program, {.feeds = {{"x", Tensor::of<float>({2}, {0.5f, 1})}}});
  };
  const auto loop = [](std::int64_t steps) {
    return [steps](Graph& g, Value x) {
      return scan(g, {x}, {}, {},
                  [](Graph&, const ScanElements& in) {
                    return ScanStep{{apply_op("twice", {in.carries[0]})}, {}};
                  },
                  {.length = AxisSize(steps)})
          .carries[0];
    };
  };
  BOOST_TEST(outcome(loop(2)));
  check_message(outcome(loop(5)), {"twice: output 0: element 1 of 2 is 4, but 8 by its definition",
                                   "\n  in step 2 of scan, ", "reference_test.cc:"});

  const FunctionBuilder doubled = [](Graph&, const std::vector<Value>& in) {
    return std::vector<Value>{apply_op("twice", {in[0] * 4})};
  };
  check_message(outcome([&](Graph& g, Value x) {
                  define_function(g, "layer", {{"x", DType::f32, {2}}}, doubled);
                  return call(g, "layer", {x})[0];
                }),
                {"element 1 of 2", "in function layer, called at ", "reference_test.cc:"});
  const FunctionBuilder same = [](Graph&, const std::vector<Value>& in) { return in; };
  check_message(outcome([&](Graph&, Value x) { return cond(sum(x) > 1.0, {x}, doubled, same)[0]; }),
                {"element 1 of 2", "in branch 'then' of cond, ", "reference_test.cc:"});
  BOOST_TEST(outcome([&](Graph&, Value x) { return cond(sum(x) > 2.0, {x}, doubled, same)[0]; }));
  check_message(outcome([&](Graph& g, Value x) {
                  const FunctionBuilder small = [](Graph&, const std::vector<Value>& in) {
                    return std::vector<Value>{max(in[0]) < 10.0};
                  };
                  return while_loop(g, {x}, small, doubled, 9)[0];
                }),
                {"element 1 of 2", "in step 0 of while_loop, ", "reference_test.cc:"});
}

BOOST_AUTO_TEST_CASE(random_numbers_are_compared) {
  Graph g;
  const Value x = g.input("x", DType::f32, {"n", 8});
  const Variable key = g.key("noise");
  const Value heads = reshape(x, {Dim(1), Dim(2), g.dim("n"), Dim(4)});
  const Value attended =
      attention(heads, heads, heads, {.causal = true, .dropout = 0.3, .key = key});
  const Program program = Program("p")
                              .output("normal", normal(key, {g.dim("n"), Dim(8)}) + x)
                              .output("uniform", uniform(key, {g.dim("n"), Dim(8)}) * x)
                              .output("dropped", dropout(x, 0.4, key))
                              .output("attended", attended);
  BOOST_TEST(check_reference(g, program, {.feeds = {{"x", normal_tensor({6, 8}, 3)}}}));
}

BOOST_AUTO_TEST_CASE(integers_are_compared_exactly) {
  Graph g;
  const Value ids = g.input("ids", DType::i64, {"n"});
  const Variable count = g.variable("count", DType::i64, {}, {.kind = VariableKind::buffer});
  const Value total = count + sum(ids);
  const Program program = Program("p").output("order", argsort(ids)).update(count, total);
  BOOST_TEST(check_reference(
      g, program, {.feeds = {{"ids", Tensor::of<std::int64_t>({3}, {9'000'000, 7, 8})}}}));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft::testing
