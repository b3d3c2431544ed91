// Plans: placement of values, reports, and detection of invalid plans by the verifier.
#include "weft/graph/plan/plan.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <functional>

#include "weft/core/error.h"
#include "weft/graph/plan/specialise.h"
#include "weft/graph/plan/verify.h"
#include "weft/tests/support/engine_ops.h"

namespace weft {
namespace {

using testing::engine_ops;

Value add(Value a, Value b) { return a.graph().apply("t_add", {a, b}).output(0); }
Value scale(Value x, double f) {
  return x.graph().apply("t_scale", {x}, {{"factor", f}}).output(0);
}
Value sum(Value x) { return x.graph().apply("t_sum", {x}).output(0); }
Value pick(Value x, Value i) { return x.graph().apply("t_pick", {x, i}).output(0); }

Plan plan_of(const Program& program, const Bindings& bindings = {}) {
  const auto plan = specialise(compile(program, {}, {.passes = false}), bindings);
  verify(*plan);
  return *plan;
}

StepId step_of(const Plan& plan, const std::string& op, int which = 0) {
  for (const StepId s : plan.steps.ids()) {
    const Node* node = plan.steps[s].node;
    if (node != nullptr && node->op().name == op && which-- == 0) return s;
  }
  BOOST_FAIL("no step " << op);
  return {};
}

// A small training step: two sums of long-lived activations, one in-place update and one data
// check.
struct Example {
  Graph g{engine_ops()};
  Value x = g.input("x", DType::f32, {256});
  Value index = g.input("index", DType::i64, std::initializer_list<AxisSize>{});
  Variable w = g.variable("w", DType::f32, {256});
  Program program{"example"};
  Example() {
    const Value h = add(x, w);
    const Value k = scale(h, 2);
    program.output("s", sum(k)).output("p", pick(h, index));
    program.update(w, scale(w, 0.5));
  }
};

void check_broken(const std::function<void(Plan&)>& damage, const std::string& message) {
  Example e;
  Plan plan = plan_of(e.program);
  damage(plan);
  BOOST_CHECK_EXCEPTION(verify(plan), StateError, [&](const StateError& error) {
    const bool found = std::string(error.what()).find(message) != std::string::npos;
    BOOST_CHECK_MESSAGE(found, "'" << message << "' is missing in: " << error.what());
    return found;
  });
}

BOOST_AUTO_TEST_SUITE(plans)

BOOST_AUTO_TEST_CASE(updates_are_in_place_after_all_other_readers) {
  Example e;
  const Plan plan = plan_of(e.program);
  BOOST_REQUIRE_EQUAL(plan.updates.size(), 1u);
  BOOST_TEST(plan.updates[UpdateId(0)].direct);
  const StepId reader = step_of(plan, "t_add");
  for (const PlanStep& step : plan.steps) {
    if (step.outputs[0].defined() && plan.buffer_of(step.outputs[0]).space == Space::variable) {
      BOOST_TEST(step.wave > plan.steps[reader].wave);
      BOOST_TEST(plan.first_write == step.wave);
    }
  }
  // Everything else needs one buffer of 1 KiB for h, another one for k, and scratch for the sum.
  BOOST_TEST(plan.arena_bytes <= 2 * 1024 + 64u);
}

// The chain from either variable to the value could be computed in place, but not both of them.
BOOST_AUTO_TEST_CASE(two_variables_updated_with_one_value_do_not_share_memory) {
  Graph g;
  const Variable a = g.variable("a", DType::f32, {64}), b = g.variable("b", DType::f32, {64});
  const auto halved = [&](Variable v) {
    return g.apply("mul", {v.value(), g.scalar(DType::f32, 0.5)}).output(0);
  };
  const Value mean = g.apply("add", {halved(a), halved(b)}).output(0);
  const Plan plan = plan_of(Program("p").update(a, mean).update(b, mean));
  BOOST_TEST(plan.updates[UpdateId(0)].direct != plan.updates[UpdateId(1)].direct);
}

BOOST_AUTO_TEST_CASE(steps_are_in_place_only_if_the_operand_has_no_later_reader) {
  Graph g(engine_ops());
  const Value x = g.input("x", DType::f32, {64});
  const Value h = scale(x, 2);  // must never overwrite the feed
  // must not overwrite h, which b also reads, unless this step is last
  const Value a = scale(h, 3);
  const Value b = add(h, a);
  const Plan plan = plan_of(Program("p").output("y", sum(b)));
  int written_over = 0;
  for (const PlanStep& s : plan.steps) written_over += static_cast<int>(s.inplace.size());
  BOOST_TEST(written_over == 1);
  BOOST_TEST(plan.steps[step_of(plan, "t_add")].inplace.size() == 1u);
}

BOOST_AUTO_TEST_CASE(small_independent_steps_share_a_wave) {
  Graph g(engine_ops());
  const Value x = g.input("x", DType::f32, {64});
  Program p("p");
  for (int i = 0; i < 4; ++i) p.output("y" + std::to_string(i), scale(x, 1 + i));
  const Plan plan = plan_of(p);
  BOOST_TEST(plan.waves.size() == 1u);
  BOOST_TEST(plan.waves[WaveId(0)].steps.size() == 4u);
}

BOOST_AUTO_TEST_CASE(plans_report_memory_and_cost) {
  Example e;
  const Plan plan = plan_of(e.program);
  const MemoryReport memory = plan.memory();
  BOOST_TEST(memory.arena == plan.arena_bytes);
  BOOST_TEST(memory.live_peak <= memory.arena);
  BOOST_TEST(memory.feeds == 256 * 4 + 8u);
  BOOST_TEST(memory.variables == 256 * 4u);
  BOOST_TEST(memory.outputs == 8u);
  BOOST_TEST(memory.text().find("variables 1.0 KiB") != std::string::npos);
  const CostReport cost = plan.cost();
  // add has 256 FLOPs, the two scales have 256 each, and sum and pick have one each.
  BOOST_TEST(cost.flops == 3 * 256 + 2.);
  BOOST_TEST(cost.entries.size() == plan.steps.size());
  BOOST_TEST(cost.bytes == (3 + 2 + 2 + 1) * 1024. + 4 + (1024 + 8 + 4));
  BOOST_TEST(cost.text().find("FLOP") != std::string::npos);
  const std::string text = plan.text();
  for (const char* part : {"plan of 'example' with no symbols: 5 steps", "check t_pick", "in place",
                           "feed 'x'", "variable 'w'", "output 's'"}) {
    BOOST_TEST(text.find(part) != std::string::npos, part << " is missing in\n" << text);
  }
}

BOOST_AUTO_TEST_CASE(errors_for_unbound_symbols_name_the_source_line) {
  Graph g(engine_ops());
  const Value i =
      g.apply("iota", {},
              {{"shape", Shape{g.dim("m")}}, {"axis", std::int64_t{0}}, {"dtype", DType::f32}})
          .output(0);
  const Program p = Program("p").output("i", i);
  BOOST_CHECK_EXCEPTION(plan_of(p), ShapeError, [](const ShapeError& e) {
    const std::string what = e.what();
    return what.find("iota: ") == 0 &&
           what.find("the symbol 'm' is not bound; feed") != std::string::npos &&
           what.find("plan_test.cc") != std::string::npos;
  });
}

BOOST_AUTO_TEST_CASE(computed_indices_are_checked_before_updates) {
  Graph g(engine_ops());
  const Value index = g.input("index", DType::i64, std::initializer_list<AxisSize>{});
  const Variable w = g.variable("w", DType::f32, {64});
  const Value computed = g.apply("add", {index, index}).output(0);
  Program p = Program("p").output("p", pick(w, computed)).update(w, scale(w, 2));
  const Plan plan = plan_of(p);
  BOOST_TEST(plan.updates[UpdateId(0)].direct);
  for (const WaveId wave : plan.waves.ids()) {
    if (!plan.waves[wave].checks.empty()) BOOST_TEST(wave <= plan.first_write);
  }
}

BOOST_AUTO_TEST_CASE(the_verifier_detects_invalid_plans) {
  check_broken([](Plan& p) { std::swap(p.waves[WaveId(0)], p.waves[WaveId(1)]); }, "reads value");
  check_broken([](Plan& p) { p.waves.back().steps.clear(); }, "runs 0 times");
  check_broken([](Plan& p) { p.waves.back().steps.push_back(StepId(0)); }, "runs 2 times");
  check_broken(
      [](Plan& p) {
        for (PlanWave& wave : p.waves) wave.checks.clear();
      },
      "is checked 0 times");
  check_broken(
      [](Plan& p) {
        for (PlanWave& wave : p.waves) wave.checks.clear();
        p.waves.push_back({{}, {step_of(p, "t_pick")}});
      },
      "variable 'w' is written before the data of");
  check_broken(
      [](Plan& p) {
        for (PlanBuffer& b : p.buffers) {
          if (b.space == Space::arena) b.offset = 0;
        }
      },
      "writes over its own operand");
  check_broken(
      [](Plan& p) {
        for (PlanBuffer& b : p.buffers) {
          if (b.space == Space::arena) b.offset += 4;
        }
      },
      "is not 64-byte aligned");
  check_broken([](Plan& p) { p.arena_bytes -= 64; }, "outside the arena");
  check_broken(
      [](Plan& p) {
        for (PlanStep& s : p.steps) s.inplace.clear();
      },
      "writes over its own operand");
  check_broken([](Plan& p) { ++p.first_write; }, "is written in wave");
  check_broken([](Plan& p) { p.steps[step_of(p, "t_sum")].scratch = {}; }, "has no scratch");
  check_broken([](Plan& p) { p.outputs[0].value = p.outputs[1].value; },
               "is not in its own memory");
  check_broken([](Plan& p) { p.updates.clear(); },
               "is overwritten by a value that is not its update");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
