// Selection of values to recompute within a memory budget, and correctness of plans with
// recomputation.
#include "weft/graph/plan/recompute.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <numeric>
#include <string>

#include "weft/core/error.h"
#include "weft/graph/plan/specialise.h"
#include "weft/graph/plan/verify.h"
#include "weft/graph/run/session.h"
#include "weft/tests/support/engine_ops.h"

namespace weft {
namespace {

using testing::engine_ops;
using Index = std::size_t;

// A forward and a backward pass. Steps 0..n-1 compute activations of 1024 bytes, each from the
// previous one; steps n..2n-1 each read the previous gradient and one activation. Step i < n costs
// `cost(i)`.
template <class Cost>
RecomputeProblem forward_and_backward(int n, Cost cost) {
  RecomputeProblem p;
  for (int i = 0; i < n; ++i) {
    RecomputeProblem::Step step;
    if (i > 0) step.reads = {ValueId(i - 1)};
    step.writes = {ValueId(i)};
    step.cost_ns = cost(i);
    step.can_rematerialise = true;
    p.steps.push_back(step);
  }
  for (int i = 0; i < n; ++i) {
    RecomputeProblem::Step step;
    const ValueId gradient(n + i);
    step.reads = {ValueId(n - 1 - i)};
    step.writes = {gradient};
    if (i > 0) {
      step.reads.push_back(gradient - 1);
      step.inplace = {{gradient, gradient - 1}};
    }
    step.cost_ns = 1000;
    p.steps.push_back(step);
  }
  p.bytes.assign(static_cast<Index>(2 * n), 1024);
  p.live_out.assign(p.bytes.size(), 0);
  p.live_out.back() = 1;
  return p;
}

Recomputed nothing(const RecomputeProblem& p) { return Recomputed(p.steps.size()); }

int second_runs(const Recomputed& recomputed) {
  return static_cast<int>(
      std::count_if(recomputed.begin(), recomputed.end(), [](StepId c) { return c.defined(); }));
}

// Checks that every operand of every execution exists when it is read.
void check_order(const RecomputeProblem& p, const Recomputed& recomputed) {
  IdVector<ValueId, StepId> producer(p.bytes.size());
  for (const StepId s : p.steps.ids()) {
    for (const ValueId v : p.steps[s].writes) producer[v] = s;
  }
  IdVector<StepId, int> runs(p.steps.size()), again(p.steps.size());
  StepId last;
  for (const StepRun& run : runs_of(p, recomputed)) {
    BOOST_TEST(run.before >= last);
    last = run.before;
    for (const ValueId v : p.steps[run.step].reads) {
      const StepId from = producer[v];
      if (!from.defined()) continue;
      const bool second = reads_rematerialised(recomputed, from, run.before);
      BOOST_TEST((second ? again : runs)[from] == 1);
    }
    ++(run.rematerialised ? again : runs)[run.step];
  }
  for (const StepId s : p.steps.ids()) {
    BOOST_TEST(runs[s] == 1);
    BOOST_TEST(again[s] == (recomputed[s].defined() ? 1 : 0));
  }
}

// A small network with layers of t_scale and t_add, a backward pass that reads all of them, and
// in-place updates.
struct Net {
  Graph g{engine_ops()};
  Program program{"net"};
  static Value apply(const char* op, const std::vector<Value>& x, const Attributes& a = {}) {
    return x[0].graph().apply(op, x, a).output(0);
  }
  explicit Net(int layers) {
    const Value x = g.input("x", DType::f32, {2048});
    std::vector<Value> kept;
    std::vector<Variable> weights;
    Value h = x;
    for (int i = 0; i < layers; ++i) {
      weights.push_back(g.variable("w" + std::to_string(i), DType::f32, {2048},
                                   {.initializer = Initializer::normal(1)}));
      h = apply("t_add", {apply("t_scale", {h}, {{"factor", 0.5}}), weights.back().value()});
      kept.push_back(h);
    }
    Value gradient = apply("t_scale", {h}, {{"factor", 2.0}});
    for (int i = layers - 1; i >= 0; --i) {
      const auto w = static_cast<Index>(i);
      gradient = apply("t_add", {gradient, kept[w]});
      program.update(weights[w], apply("t_scale", {weights[w].value()}, {{"factor", 0.75}}));
    }
    program.output("s", apply("t_sum", {gradient}));
  }
};

std::size_t needed(const Program& program, std::size_t guard = 0) {
  return specialise(compile(program, {}), {}, {.guard = guard})->arena_bytes;
}

// Returns the number after `words` in the message.
std::size_t number_after(const std::string& message, const std::string& words) {
  const std::size_t at = message.find(words);
  BOOST_REQUIRE_MESSAGE(at != std::string::npos, "'" << words << "' is missing in: " << message);
  return std::stoull(message.substr(at + words.size()));
}

std::size_t smallest_budget(const Program& program) {
  try {
    specialise(compile(program, {}), {}, {.memory_budget = 64});
  } catch (const ArgumentError& e) {
    return number_after(e.what(), "and at least ");
  }
  BOOST_FAIL("a plan within 64 bytes was found");
  return 0;
}

BOOST_AUTO_TEST_SUITE(recompute)

BOOST_AUTO_TEST_CASE(a_sufficient_budget_needs_no_recomputation) {
  const RecomputeProblem p = forward_and_backward(6, [](int) { return 100.0; });
  // The peak consists of six activations and a gradient.
  BOOST_TEST(peak_bytes(p, nothing(p)) == 7 * 1024u);
  const auto chosen = choose_recomputed(p, 7 * 1024);
  BOOST_REQUIRE(chosen.has_value());
  BOOST_TEST(second_runs(*chosen) == 0);
  check_order(p, *chosen);
}

BOOST_AUTO_TEST_CASE(a_chain_fits_into_a_fraction_of_its_memory) {
  const RecomputeProblem p = forward_and_backward(64, [](int) { return 100.0; });
  BOOST_TEST(peak_bytes(p, nothing(p)) == 65 * 1024u);
  int last = 0;
  for (const Index values : {60, 48, 32, 24, 20}) {
    const auto chosen = choose_recomputed(p, values * 1024);
    BOOST_REQUIRE_MESSAGE(chosen.has_value(), values);
    BOOST_TEST(peak_bytes(p, *chosen) <= values * 1024);
    check_order(p, *chosen);
    BOOST_TEST(second_runs(*chosen) >= last);
    last = second_runs(*chosen);
    BOOST_TEST(last < 64);
  }
  BOOST_TEST(!choose_recomputed(p, 2 * 1024).has_value());
}

BOOST_AUTO_TEST_CASE(cheap_steps_are_recomputed_first) {
  const RecomputeProblem p =
      forward_and_backward(16, [](int i) { return i % 2 == 0 ? 100.0 : 1e6; });
  const auto chosen = choose_recomputed(p, 13 * 1024);
  BOOST_REQUIRE(chosen.has_value());
  BOOST_TEST(second_runs(*chosen) > 0);
  for (const StepId s : chosen->ids()) {
    if ((*chosen)[s].defined()) BOOST_TEST(s.number() % 2 == 0);
  }
}

BOOST_AUTO_TEST_CASE(steps_whose_operands_change_are_not_recomputed) {
  RecomputeProblem p = forward_and_backward(12, [](int) { return 100.0; });
  for (int s = 0; s < 12; ++s) p.steps[StepId(s)].rematerialise_before = StepId(14);
  // Values can be recomputed only for the first steps of the backward pass, which saves almost no
  // memory.
  BOOST_TEST(!choose_recomputed(p, 6 * 1024).has_value());
  for (int s = 0; s < 12; ++s) p.steps[StepId(s)].rematerialise_before = StepId(24);
  BOOST_TEST(choose_recomputed(p, 9 * 1024).has_value());
}

BOOST_AUTO_TEST_CASE(plans_fit_the_budget_and_are_valid) {
  const Net net(24);
  const std::size_t whole = needed(net.program), least = smallest_budget(net.program);
  BOOST_TEST(least < whole * 6 / 10);
  for (const std::size_t budget : {whole, whole - 64, (whole + least) / 2, least}) {
    for (const std::size_t guard : {0u, 64u}) {
      if (guard > 0 && budget == least) continue;  // guards also need memory
      BOOST_TEST_CONTEXT("budget " << budget << " of " << whole << ", guard " << guard) {
        const auto plan = specialise(compile(net.program, {}), {},
                                     {.guard = guard, .memory_budget = budget + 32 * guard});
        verify(*plan);
        const MemoryReport memory = plan->memory();
        BOOST_TEST(plan->arena_bytes <= budget + 32 * guard);
        BOOST_TEST(memory.budget == budget + 32 * guard);
        if (guard == 0) BOOST_TEST((memory.recomputed_bytes > 0) == (budget < whole));
        // Repeating an in-place update would be wrong.
        for (const PlanUpdate& u : plan->updates) BOOST_TEST(u.direct);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(reports_list_recomputed_steps) {
  const Net net(24);
  const auto plan =
      specialise(compile(net.program, {}), {}, {.memory_budget = smallest_budget(net.program)});
  const MemoryReport memory = plan->memory();
  BOOST_REQUIRE(!memory.recomputed.empty());
  int steps = 0;
  std::size_t bytes = 0;
  double flops = 0;
  for (const auto& r : memory.recomputed) {
    steps += r.steps;
    bytes += r.bytes;
    flops += r.flops;
  }
  BOOST_TEST(bytes == memory.recomputed_bytes);
  BOOST_TEST(flops == memory.recomputed_flops);
  BOOST_TEST(steps == std::count_if(plan->steps.begin(), plan->steps.end(),
                                    [](const PlanStep& s) { return s.rematerialised; }));
  BOOST_TEST(memory.text().find(": recomputed ") != std::string::npos);
  BOOST_TEST(memory.text().find(" x t_") != std::string::npos);
  BOOST_TEST(plan->text().find("recomputed t_") != std::string::npos);
  const auto whole = specialise(compile(net.program, {}), {});
  BOOST_TEST(plan->cost().flops == whole->cost().flops + flops);
}

BOOST_AUTO_TEST_CASE(errors_for_small_budgets_name_the_smallest_possible_budget) {
  const Net net(24);
  const std::size_t least = smallest_budget(net.program);
  const auto compiled = compile(net.program, {});
  BOOST_TEST(specialise(compiled, {}, {.memory_budget = least})->arena_bytes == least);
  BOOST_CHECK_EXCEPTION(specialise(compiled, {}, {.memory_budget = least - 1}), ArgumentError,
                        [&](const ArgumentError& e) {
                          const std::string what = e.what();
                          return number_after(what, "memory_budget of ") == least - 1 &&
                                 number_after(what, "and at least ") == least &&
                                 number_after(what, "its arena needs ") == needed(net.program) &&
                                 what.find("program 'net' with no symbols") != std::string::npos;
                        });
}

BOOST_AUTO_TEST_CASE(recomputation_gives_the_same_bits) {
  Net net(24);
  const Tensor x = Tensor::full(DType::f32, {2048}, 0.37);
  const auto state_after = [&](const SessionOptions& options) {
    Session session(net.g, options);
    std::vector<Tensor> result;
    for (int i = 0; i < 3; ++i) result.push_back(session.run(net.program, {{"x", x}})["s"].clone());
    for (const Variable& v : net.g.variables()) result.push_back(session.value(v.name()));
    return result;
  };
  const auto expected = state_after({.threads = 1});
  const std::size_t budget = needed(net.program, 64) * 7 / 10;
  for (const bool poison : {false, true}) {
    const auto again =
        state_after({.threads = 2, .memory_budget = budget, .verify = true, .poison = poison});
    for (Index i = 0; i < expected.size(); ++i) BOOST_TEST(bitwise_equal(again[i], expected[i]));
  }
}

BOOST_AUTO_TEST_CASE(the_verifier_detects_invalid_recomputation) {
  const Net net(24);
  const auto good =
      specialise(compile(net.program, {}), {}, {.memory_budget = smallest_budget(net.program)});
  const auto check_broken = [&](const std::string& message, const auto& damage) {
    Plan plan = *good;
    damage(plan);
    BOOST_CHECK_EXCEPTION(verify(plan), StateError, [&](const StateError& e) {
      const bool found = std::string(e.what()).find(message) != std::string::npos;
      BOOST_TEST(found, "'" << message << "' is missing in: " << e.what());
      return found;
    });
  };
  const auto first_again = [](Plan& plan) {
    return std::find_if(plan.steps.begin(), plan.steps.end(),
                        [](const PlanStep& s) { return s.rematerialised; });
  };
  check_broken("but the program has value", [&](Plan& p) {
    PlanValue& v = p.values[first_again(p)->outputs[0]];
    v.source = v.source > ValueId(4) ? v.source - 2 : v.source + 2;
  });
  check_broken("occurs twice", [&](Plan& p) { first_again(p)->rematerialised = false; });
  check_broken("output 's' is a different value of the program", [](Plan& p) {
    const auto feed = std::find_if(p.buffers.begin(), p.buffers.end(),
                                   [](const PlanBuffer& b) { return b.space == Space::feed; });
    p.outputs[0] = {"s", feed->first_value, false};
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
