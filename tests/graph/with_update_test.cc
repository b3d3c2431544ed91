// Updates that are attached to values, and models built in training and in evaluation mode.
#include <boost/test/unit_test.hpp>

#include "weft/autodiff/gradients.h"
#include "weft/core/error.h"
#include "weft/graph/functions.h"
#include "weft/graph/ir/scope.h"
#include "weft/graph/run/session.h"
#include "weft/graph/text/text.h"
#include "weft/serialization/checkpoint.h"
#include "weft/testing/temporary_folder.h"
#include "weft/tests/support/messages.h"

namespace weft::testing {
namespace {

VariableOptions buffer() { return {.kind = VariableKind::buffer, .trainable = false}; }

// Each run that computes `y` increments the variable `count`.
struct Counted {
  Graph g;
  Value x = g.input("x", DType::f32, {"n"});
  Variable count = g.variable("count", DType::f32, {}, buffer());
  Value y = with_update(x * 2.0, count, count + 1.0);
};

const NamedTensors& feed() {
  static const NamedTensors feeds = {{"x", Tensor::of<float>({2}, {1, 2})}};
  return feeds;
}

BOOST_AUTO_TEST_SUITE(updates_with_values)

BOOST_AUTO_TEST_CASE(programs_that_compute_a_value_apply_its_attached_update) {
  for (const bool passes : {true, false}) {
    Counted c;
    Program uses("uses"), other("other"), slope("slope"), given("given");
    uses.output("z", exp(c.y));
    other.output("z", c.x + c.count);
    slope.output("dx", gradient(sum(square(c.y)), c.x));
    given.output("z", exp(c.y)).update(c.count, c.count * 10.0);
    BOOST_TEST(uses.updates().size() == 1u);
    BOOST_TEST(uses.given_updates().empty());
    BOOST_TEST(other.updates().empty());
    BOOST_TEST(given.updates().size() == 1u);
    Session session(c.g, {.passes = passes});
    session.run(uses, feed());
    session.run(uses, feed());
    BOOST_TEST(session.value("count").at(0) == 2);
    BOOST_TEST(session.run(other, feed())["z"].at(0) == 3);
    BOOST_TEST(session.value("count").at(0) == 2);
    BOOST_TEST(session.run(slope, feed())["dx"].at(1) == 16);
    BOOST_TEST(session.value("count").at(0) == 3);
    session.run(given, feed());
    BOOST_TEST(session.value("count").at(0) == 30);
  }
}

BOOST_AUTO_TEST_CASE(gradients_that_do_not_need_the_value_still_apply_its_update) {
  Graph g;
  const Value x = g.input("x", DType::f32, {"n"});
  const Variable count = g.variable("count", DType::f32, {}, buffer());
  // The gradient is a constant, so no node of the forward pass remains.
  const Value dx = gradient(sum(with_update(x * 2.0, count, count + 1.0)), x);
  BOOST_TEST(Program("p").output("dx", dx).updates().size() == 1u);
}

BOOST_AUTO_TEST_CASE(attached_updates_survive_text_and_files) {
  Counted c;
  Program program("p");
  program.output("z", exp(c.y));
  c.g.set_name("y", c.y);
  const Module parsed = parse_text(to_text(c.g));
  // Programs that are built later, on a graph that was parsed from text, also include the update.
  Program later("later");
  later.output("y", parsed.graph->find_named("y"));
  BOOST_TEST(later.updates().size() == 1u);
  const Module same = parse_text(to_text(program));
  BOOST_TEST(same.program.updates().size() == 1u);
  BOOST_TEST(to_text(same.program) == to_text(program));

  const TemporaryFolder folder;
  Session session(c.g);
  session.run(program, feed());
  save_checkpoint(folder / "counted.weft", session, {program});
  const Checkpoint file = load_checkpoint(folder / "counted.weft");
  Session loaded(file.graph(), file.store());
  loaded.run(file.program("p"), feed());
  BOOST_TEST(loaded.value("count").at(0) == 2);
}

BOOST_AUTO_TEST_CASE(an_attached_update_needs_no_extra_memory) {
  Counted c;
  Program program("p");
  program.output("z", exp(c.y));
  Session session(c.g);
  const auto plan = session.plan(program, {{"x", {2}}});
  Program plain("plain");
  plain.output("z", exp(c.x * 2.0)).update(c.count, c.count + 1.0);
  BOOST_TEST(plan->memory().arena == session.plan(plain, {{"x", {2}}})->memory().arena);
}

BOOST_AUTO_TEST_CASE(errors_name_conflicting_values_for_one_variable) {
  Counted c;
  const Value again = with_update(c.x, c.count, c.count + 2.0);
  Program both("both");
  both.output("z", c.y + again);
  BOOST_CHECK_EXCEPTION(
      both.updates(), GraphError,
      message_contains({"program 'both' has two new values for 'count'",
                        "applied twice in training mode. Concatenate the batches and apply the "
                        "layer once, or add an explicit update of the variable",
                        "first: ", "second: ", "with_update_test.cc"}));
  BOOST_CHECK_EXCEPTION(Session(c.g).run(both, feed()), GraphError,
                        message_contains({"two new values for 'count'"}));
  // Two equal new values count as one; an explicit update takes precedence.
  Program same("same"), given("given");
  BOOST_TEST(same.output("z", c.y + with_update(c.x, c.count, c.count + 1.0)).updates().size() ==
             1u);
  BOOST_TEST(given.output("z", c.y + again).update(c.count, c.count).updates().size() == 1u);
}

BOOST_AUTO_TEST_CASE(errors_name_mismatched_values) {
  Counted c;
  BOOST_CHECK_EXCEPTION(with_update(c.x, c.count, c.x), ShapeError,
                        message_contains({"the new value of the variable must have shape []"}));
  BOOST_CHECK_EXCEPTION(with_update(c.x, c.count, cast(c.count, DType::f64)), DTypeError,
                        message_contains({"different dtypes, f32 and f64"}));
  BOOST_CHECK_EXCEPTION(with_update(c.x, Variable(), c.count), GraphError,
                        message_contains({"with_update: the variable"}));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(modes_of_scopes)

BOOST_AUTO_TEST_CASE(a_second_mode_reuses_the_variables_of_the_first) {
  Graph g;
  const Scope net(g, "net");
  BOOST_TEST(!net.mode().has_value());
  const Scope training = net.training(), evaluation = net.evaluation();
  BOOST_TEST((training / "a" / 1).is_training("layer"));
  BOOST_TEST(!(evaluation / "a").is_training("layer"));
  const Variable w = (training / "a").variable("w", DType::f32, {2, 3});
  BOOST_TEST(w.name() == "net.a.w");
  BOOST_TEST(((evaluation / "a").variable("w", DType::f32, {2, 3}) == w));
  BOOST_TEST(((net.training() / "a").variable("w", DType::f32, {2, 3}) == w));
}

BOOST_AUTO_TEST_CASE(errors_name_inconsistent_declarations) {
  Graph g;
  const Scope net(g, "net");
  const Scope first = net.training(), second = net.evaluation();
  first.variable("w", DType::f32, {2});
  BOOST_CHECK_EXCEPTION(
      first.variable("w", DType::f32, {2}), GraphError,
      message_contains({"variable 'net.w' is declared twice in one pass over the model: "
                        "different layers need different scopes",
                        "with_update_test.cc"}));
  BOOST_CHECK_EXCEPTION(second.variable("w", DType::f32, {3}), ShapeError,
                        message_contains({"variable 'net.w' is f32[2], but f32[3] in this pass"}));
  BOOST_CHECK_EXCEPTION(net.evaluation().variable("w", DType::f64, {2}), DTypeError,
                        message_contains({"is f32[2], but f64[2] in this pass"}));
  BOOST_CHECK_EXCEPTION(
      net.training().variable("w", DType::f32, {2}, buffer()), GraphError,
      message_contains({"is of kind parameter, but of kind buffer in this pass"}));
  BOOST_CHECK_EXCEPTION(
      (net / "drop").is_training("dropout"), GraphError,
      message_contains({"dropout in scope 'net.drop' behaves differently in training and "
                        "evaluation, but the scope has no mode",
                        "net.training()", "with_update_test.cc"}));
  // In a scope without such a mode, a name can be declared only once.
  BOOST_CHECK_THROW(net.variable("w", DType::f32, {2}), GraphError);
}

BOOST_AUTO_TEST_CASE(scope_parameters_include_nested_scopes) {
  Graph g;
  const Scope a(g, "a"), ab(g, "ab");
  const Variable w = a.variable("w", DType::f32, {2});
  const Variable deep = (a / "b" / 0).variable("w", DType::f32, {2});
  const Variable other = ab.variable("w", DType::f32, {2});
  a.variable("frozen", DType::f32, {2}, {.trainable = false});
  a.variable("state", DType::f32, {2}, buffer());
  BOOST_TEST((a.parameters() == std::vector<Variable>{w, deep}));
  BOOST_TEST((ab.parameters() == std::vector<Variable>{other}));
  BOOST_TEST((Scope(g).parameters() == g.parameters()));
  BOOST_TEST(a.evaluation().parameters().size() == 2u);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft::testing
