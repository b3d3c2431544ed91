// Fuses the last layer with its loss, and fuses sums with values that are inserted into zeros.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "weft/autodiff/gradients.h"
#include "weft/graph/functions.h"
#include "weft/graph/passes/pipeline.h"
#include "weft/graph/passes/verify.h"
#include "weft/graph/run/session.h"
#include "weft/tests/samples/sample_data.h"

namespace weft {
namespace {

int count(const Program& program, std::string_view op) {
  const auto nodes = program.nodes();
  return static_cast<int>(
      std::count_if(nodes.begin(), nodes.end(), [&](const Node* n) { return n->op().name == op; }));
}

struct Head {
  Graph g;
  Value x = g.input("x", DType::f32, {"batch", "seq", 8});
  Value targets = g.input("targets", DType::i64, {"batch", "seq"});
  Variable weight =
      g.variable("weight", DType::f32, {11, 8}, {.initializer = Initializer::normal(0.5)});
  Variable bias = g.variable("bias", DType::f32, {11}, {.initializer = Initializer::normal(0.5)});
  NamedTensors feeds = {{"x", sample_uniform({2, 3, 8}, 1)},
                        {"targets", sample_indices({2, 3}, 2, 11)}};

  Module passed(const Program& program) {
    return run_passes(clone_program(program), {.verify = true});
  }
  // Compares the results with and without passes, up to rounding errors.
  void check_values(const Program& program) {
    Session fused(g, {.seed = 3, .threads = 1, .verify = true, .poison = true});
    Session plain(g, {.seed = 3, .threads = 1, .passes = false});
    const Results a = fused.run(program, feeds), b = plain.run(program, feeds);
    for (const auto& [name, value] : program.outputs()) {
      const Tensor p = a[name], q = b[name];
      BOOST_REQUIRE((p.sizes() == q.sizes()));
      for (std::int64_t i = 0; i < p.numel(); ++i) BOOST_TEST(std::abs(p.at(i) - q.at(i)) < 2e-6);
    }
  }
};

BOOST_AUTO_TEST_SUITE(head)

BOOST_FIXTURE_TEST_CASE(a_training_step_computes_logits_once, Head) {
  const Value loss = cross_entropy(linear(x, weight, bias), targets, {.label_smoothing = 0.1});
  const auto d = gradients(loss, {x, weight.value(), bias.value()});
  const Program p =
      Program("p").output("loss", loss).output("dx", d[0]).output("dw", d[1]).output("db", d[2]);
  const Module m = passed(p);
  BOOST_TEST(count(m.program, "linear_cross_entropy_with_grad") == 1);
  for (const char* op : {"matmul", "cross_entropy", "cross_entropy_grad", "linear_cross_entropy"}) {
    BOOST_TEST(count(m.program, op) == 0, op);
  }
  check_values(p);
}

BOOST_FIXTURE_TEST_CASE(both_weight_layouts_and_layers_without_bias_are_fused, Head) {
  const Variable other =
      g.variable("other", DType::f32, {8, 11}, {.initializer = Initializer::normal(0.5)});
  const Value loss = cross_entropy(matmul(x, other), targets, {.ignore_index = 4});
  const auto d = gradients(loss, {x, other.value()});
  const Program p = Program("p").output("loss", loss).output("dx", d[0]).output("dw", d[1]);
  BOOST_TEST(count(passed(p).program, "linear_cross_entropy_with_grad") == 1);
  check_values(p);
}

BOOST_FIXTURE_TEST_CASE(a_loss_used_in_its_own_gradient_needs_two_passes, Head) {
  const Value loss = cross_entropy(linear(x, weight, bias), targets);
  const Value bent = square(loss) + loss;
  const auto d = gradients(bent, {x, weight.value()});
  const Program p = Program("p").output("loss", bent).output("dx", d[0]).output("dw", d[1]);
  const Module m = passed(p);
  BOOST_TEST(count(m.program, "linear_cross_entropy") == 1);
  BOOST_TEST(count(m.program, "linear_cross_entropy_grad") == 1);
  BOOST_TEST(count(m.program, "matmul") == 0);
  check_values(p);
}

BOOST_FIXTURE_TEST_CASE(evaluation_fuses_only_the_loss, Head) {
  const Value logits = linear(x, weight, bias);
  const Value loss = cross_entropy(logits, targets);
  const Program p = Program("p").output("loss", loss);
  BOOST_TEST(count(passed(p).program, "linear_cross_entropy") == 1);
  BOOST_TEST(count(passed(p).program, "matmul") == 0);
  check_values(p);
  // If the logits are requested, they are computed exactly once.
  const Program wanted = Program("wanted").output("loss", loss).output("logits", logits);
  BOOST_TEST(count(passed(wanted).program, "cross_entropy") == 1);
  BOOST_TEST(count(passed(wanted).program, "matmul_fused") == 1);  // includes the bias
  check_values(wanted);
}

BOOST_FIXTURE_TEST_CASE(other_readers_of_logits_prevent_fusion, Head) {
  const Value logits = linear(x, weight, bias);
  const Value loss = cross_entropy(logits, targets) + mean(square(logits));
  const auto d = gradients(loss, {x, weight.value()});
  const Program p = Program("p").output("loss", loss).output("dx", d[0]).output("dw", d[1]);
  BOOST_TEST(count(passed(p).program, "cross_entropy") == 1);
  BOOST_TEST(count(passed(p).program, "linear_cross_entropy_with_grad") == 0);
  check_values(p);
  // A bf16 weight is not fused.
  const Variable small =
      g.variable("small", DType::bf16, {11, 8}, {.initializer = Initializer::normal(0.5)});
  const Value short_loss = cross_entropy(matmul(x, small, {.transpose_b = true}), targets);
  BOOST_TEST(count(passed(Program("s").output("l", short_loss)).program, "cross_entropy") == 1);
  // The classes are not on the last axis.
  const Value turned = cross_entropy(linear(x, weight, bias),
                                     g.input("t2", DType::i64, {"batch", 11}), {.class_axis = 1});
  BOOST_TEST(count(passed(Program("q").output("l", turned)).program, "cross_entropy") == 1);
}

BOOST_FIXTURE_TEST_CASE(two_heads_are_fused_separately, Head) {
  const Variable second =
      g.variable("second", DType::f32, {11, 8}, {.initializer = Initializer::normal(0.5)});
  const Value loss = cross_entropy(linear(x, weight, bias), targets) +
                     0.5 * cross_entropy(linear(x, second), targets);
  const auto d = gradients(loss, {x, weight.value(), second.value()});
  const Program p =
      Program("p").output("loss", loss).output("dx", d[0]).output("dw", d[1]).output("d2", d[2]);
  BOOST_TEST(count(passed(p).program, "linear_cross_entropy_with_grad") == 2);
  BOOST_TEST(count(passed(p).program, "matmul") == 0);
  check_values(p);
}

// Only values that are inserted into zeros may be added directly to the other operand.
BOOST_FIXTURE_TEST_CASE(values_inserted_into_nonzero_tensors_remain_separate_sums, Head) {
  const Value ids = g.input("ids", DType::i64, {"batch"});
  feeds.emplace_back("ids", sample_indices({2}, 5, 2));
  const Value ones = full(g, DType::f32, x.shape(), 1.0);
  const Program p = Program("p").output("y", index_add(ones, ids, x, 0) + x * 2.0);
  check_values(p);
}

BOOST_FIXTURE_TEST_CASE(a_tied_embedding_adds_to_the_gradient_of_the_head, Head) {
  const Value ids = g.input("ids", DType::i64, {"batch", "seq"});
  feeds.emplace_back("ids", sample_indices({2, 3}, 5, 11));
  const Value h = x + take(weight, ids, 0);
  const Value loss = cross_entropy(matmul(h, weight, {.transpose_b = true}), targets);
  const auto d = gradients(loss, {weight.value()});
  const Program p = Program("p").output("loss", loss).output("dw", d[0]);
  const Module m = passed(p);
  BOOST_TEST(count(m.program, "linear_cross_entropy_with_grad") == 1);
  BOOST_TEST(count(m.program, "index_add") == 1);
  for (const Node* n : m.program.nodes()) {
    if (n->op().name != "index_add") continue;
    BOOST_TEST(n->input(0).node().op().name == "linear_cross_entropy_with_grad");
  }
  check_values(p);
  // The arena has no buffer of the table's size.
  Session session(g, {.threads = 1});
  const auto plan = session.plan(p, {{"x", {2, 3, 8}}, {"targets", {2, 3}}, {"ids", {2, 3}}});
  for (const PlanBuffer& b : plan->buffers) {
    if (b.space == Space::arena) BOOST_TEST((!b.first_value.defined() || b.bytes < 11 * 8 * 4));
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
