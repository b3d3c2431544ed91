// Loops with a memory budget: values that are read only by the loop's derivatives are recomputed in
// segments.
#include <fmt/format.h>

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <string>

#include "weft/autodiff/gradients.h"
#include "weft/core/error.h"
#include "weft/graph/functions.h"
#include "weft/graph/run/session.h"
#include "weft/tests/control/random_step.h"

namespace weft {
namespace {

using testing::RandomStep;

using testing::check_same;
using testing::with_gradients;

/// Returns the smallest budget for a program, as stated in the error message.
std::size_t least_bytes(Graph& g, SessionOptions options, const Program& program,
                        const NamedTensors& feeds) {
  options.memory_budget = 1;
  try {
    Session(g, options).run(program, feeds);
  } catch (const ArgumentError& e) {
    const std::string text = e.what(), before = "at least ";
    return std::stoull(text.substr(text.find(before) + before.size()));
  }
  return 0;  // the program needs no arena
}

Tensor waves(const Sizes& sizes, double step) {
  Tensor t = Tensor::empty(DType::f32, sizes);
  float* data = t.mutable_data<float>();
  for (std::int64_t i = 0; i < t.numel(); ++i) {
    data[i] = static_cast<float>(0.4 * std::sin(step * static_cast<double>(i + 1)));
  }
  return t;
}

bool in_segments(const Plan& plan) {
  return plan.text().find(" in segments of ") != std::string::npos;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(loop_budget)

BOOST_AUTO_TEST_CASE(random_loops_have_the_same_bits_with_the_smallest_budget) {
  int segmented = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      Graph g;
      RandomStep step(seed);
      const std::int64_t length = 41;
      step.declare(g, Dim(length));
      const Program loop =
          with_gradients("loop", step, step.as_scan(g, {.length = AxisSize(Dim(length))}));
      const NamedTensors feeds = step.feeds(length);
      const Results results = Session(g, {.threads = 1}).run(loop, feeds);
      for (const bool poison : {false, true}) {
        SessionOptions options{.threads = 2, .verify = true, .poison = poison};
        options.memory_budget = least_bytes(g, options, loop, feeds);
        Session tight(g, options);
        check_same(results, tight.run(loop, feeds), fmt::format("poison {}", poison));
        check_same(results, tight.run(loop, feeds), fmt::format("again, poison {}", poison));
        segmented += in_segments(*tight.plan(loop, sizes_of(feeds)));
      }
    }
  }
  BOOST_TEST(segmented > 20);
}

BOOST_AUTO_TEST_CASE(a_long_loop_runs_with_a_fraction_of_its_memory) {
  Graph g;
  const std::int64_t length = 1024;
  const Value key = g.key("noise");
  const Value x = g.input("x", DType::f32, {length, 4, 16});
  const Value w = g.input("w", DType::f32, {16, 16});
  const Value h = g.input("h", DType::f32, {4, 16});
  const ScanResult r = scan(g, {h}, {x}, {w, key}, [](Graph&, const ScanElements& in) {
    Value next = in.carries[0];
    for (int i = 0; i < 4; ++i) {
      next = tanh(matmul(dropout(next, 0.1, in.operands[1]), in.operands[0])) + in.elements[0];
    }
    return ScanStep{{next}};
  });
  const Value loss = sum(square(r.carries[0]));
  Program program("train");
  program.output("loss", loss).output("dw", gradient(loss, w)).output("dx", gradient(loss, x));
  const NamedTensors feeds = {
      {"x", waves({length, 4, 16}, 0.7)}, {"w", waves({16, 16}, 1.9)}, {"h", waves({4, 16}, 1.1)}};
  Session whole(g, {.seed = 5, .threads = 1});
  // Half of the stacked values are read after the loop, by the product that computes the gradient
  // of w.
  const std::size_t arena = whole.plan(program, sizes_of(feeds))->arena_bytes;
  const std::size_t budget = arena * 9 / 16;
  const Results results = whole.run(program, feeds);
  Session tight(g, {.seed = 5, .threads = 2, .memory_budget = budget, .verify = true});
  const auto plan = tight.plan(program, sizes_of(feeds));
  BOOST_TEST(plan->arena_bytes <= budget);
  BOOST_TEST(in_segments(*plan));
  BOOST_TEST(plan->memory().text().find(": 1 x scan") != std::string::npos, plan->memory().text());
  BOOST_TEST(plan->cost().flops > whole.plan(program, sizes_of(feeds))->cost().flops);
  check_same(results, tight.run(program, feeds), "in segments");
}

// The last carry of the second loop is written to the variable that the first loop reads. When the
// first loop is replayed, it reads the variable again.
BOOST_AUTO_TEST_CASE(a_loop_does_not_overwrite_values_needed_to_replay_another) {
  Graph g;
  const std::int64_t length = 64;
  const Value x = g.input("x", DType::f32, {length, 16});
  const Value h = g.input("h", DType::f32, {16});
  const Variable w = g.variable("w", DType::f32, {16}, {.initializer = Initializer::constant(0.5)});
  const ScanResult there = scan(g, {h}, {x}, {w.value()}, [](Graph&, const ScanElements& in) {
    const Value next = tanh(in.carries[0] * in.operands[0] + in.elements[0]);
    return ScanStep{{next}, {next * 2.0, next + 1.0}};
  });
  const ScanResult back =
      scan(g, {w.value()}, there.outputs, {},
           [](Graph&, const ScanElements& in) {
             return ScanStep{{in.carries[0] - 0.1 * sin(in.elements[0]) * in.elements[1]}};
           },
           {.reverse = true});
  Program program("p");
  program.output("sum", sum(back.carries[0])).update(w, back.carries[0]);
  const NamedTensors feeds = {{"x", waves({length, 16}, 0.7)}, {"h", waves({16}, 1.1)}};
  Session whole(g, {.threads = 1});
  SessionOptions options{.threads = 1, .verify = true};
  options.memory_budget = least_bytes(g, options, program, feeds);
  Session tight(g, options);
  BOOST_TEST(in_segments(*tight.plan(program, sizes_of(feeds))));
  for (int run = 0; run < 2; ++run) {
    check_same(whole.run(program, feeds), tight.run(program, feeds), "in segments");
    BOOST_TEST(bitwise_equal(whole.value("w"), tight.value("w")));
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace weft
