// SessionOptions::check_finite reports the node that produced the first NaN or infinity.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>

#include "weft/autodiff/optimizers/optimizers.h"
#include "weft/core/error.h"
#include "weft/graph/functions.h"
#include "weft/graph/ir/scope.h"
#include "weft/graph/run/session.h"
#include "weft/tests/samples/sample_data.h"
#include "weft/tests/support/messages.h"

namespace weft {
namespace {

using testing::message_contains;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

void check_found(Session& session, const Program& program, const NamedTensors& feeds,
                 std::vector<std::string> parts) {
  BOOST_CHECK_EXCEPTION(session.run(program, feeds), DataError, message_contains(std::move(parts)));
}

BOOST_AUTO_TEST_SUITE(finite_outputs)

BOOST_AUTO_TEST_CASE(errors_name_the_first_node_with_source_line_scope_and_ranges) {
  Graph g;
  const Value x = g.input("x", DType::f32, {"n", 3});
  const Scope block = Scope(g, "net") / "block";
  Value y;
  {
    const Graph::Frame frame(g, "layer()", SourceLocation::current(), block.path());
    y = sqrt(log(x * 2.0) + 1.0) * 3.0;  // would be fused into one node
  }
  const Program p = Program("p").output("y", sum(y));
  const Tensor good = Tensor::full(DType::f32, {2, 3}, 1), bad = good.clone();
  Tensor wrong = bad;
  wrong.mutable_data<float>()[4] = -0.5f;
  wrong.mutable_data<float>()[5] = 0;
  for (const bool passes : {true, false}) {
    Session session(g, {.passes = passes, .check_finite = true, .poison = true});
    BOOST_TEST(session.run(p, {{"x", good}})["y"].item<float>() ==
               Session(g).run(p, {{"x", good}})["y"].item<float>());
    check_found(session, p, {{"x", wrong}},
                {"log: out f32[2, 3] has 1 NaN, 1 -inf of 6 elements, the others in [0.693147",
                 "the first at [1, 1]", "the operands are finite", "operand x is in [-1, 2]",
                 "in scope net.block", "check_finite_test.cc:"});
    session.run(p, {{"x", good}});
  }
}

BOOST_AUTO_TEST_CASE(failed_checks_write_no_updates_and_the_step_can_be_repeated) {
  Graph g;
  const Value x = g.input("x", DType::f32, {4});
  const Variable w = g.variable("w", DType::f32, {4}, {.initializer = Initializer::constant(2)});
  const Value loss = sum(square(x / w));
  const Program train = Program("train").output("loss", loss).update(adamw(loss, {w}, {.lr = 0.1}));
  Session checked(g, {.check_finite = true}), plain(g);
  const NamedTensors good = {{"x", Tensor::of<float>({4}, {1, 2, 3, 4})}};
  for (int step = 0; step < 3; ++step) {
    BOOST_TEST(bitwise_equal(checked.run(train, good)["loss"], plain.run(train, good)["loss"]));
  }
  const Tensor before = checked.value("w");
  check_found(checked, train, {{"x", Tensor::full(DType::f32, {4}, 1e30)}},
              {"out f32[4] has 4 inf of 4 elements", "check_finite_test.cc"});
  BOOST_TEST(bitwise_equal(checked.value("w"), before));
  checked.run(train, good), plain.run(train, good);
  BOOST_TEST(bitwise_equal(checked.value("w"), plain.value("w")));
}

BOOST_AUTO_TEST_CASE(errors_name_a_fed_or_stored_nan) {
  Graph g;
  const Value x = g.input("x", DType::f64, {2});
  const Variable w = g.variable("w", DType::f64, {2}, {.initializer = Initializer::ones()});
  const Program p = Program("p").output("y", x * w.value());
  Session session(g, {.check_finite = true});
  check_found(session, p, {{"x", Tensor::of<double>({2}, {1, kNan})}},
              {"input 'x' f64[2] has 1 NaN of 2 elements", "the first at [1]"});
  session.set_value("w", Tensor::of<double>({2}, {kNan, kNan}));
  check_found(session, p, {{"x", Tensor::of<double>({2}, {1, 1})}},
              {"variable 'w' f64[2] has 2 NaN"});
}

BOOST_AUTO_TEST_CASE(infinities_in_constants_are_not_errors) {
  Graph g;
  const Value x = g.input("x", DType::f32, {3, 3});
  const Value mask = g.input("mask", DType::boolean, {3, 3});
  const Value scores = where(mask, x, full(g, DType::f32, x.shape(), -kInf));
  const Program p = Program("p").output("y", softmax(scores, -1)).output("max", max(scores, 1));
  Session session(g, {.check_finite = true});
  Tensor seen = Tensor::full(DType::boolean, {3, 3}, 1);
  seen.mutable_data<bool>()[1] = false;
  const NamedTensors feeds = {{"x", sample_uniform({3, 3}, 1)}, {"mask", seen}};
  BOOST_CHECK_NO_THROW(session.run(p, feeds));
}

BOOST_AUTO_TEST_CASE(nans_computed_from_infinities_are_detected) {
  Graph g;
  const Value x = g.input("x", DType::f32, {2}), y = g.input("y", DType::f32, {2});
  const Program p = Program("p").output("d", (x - y) * 2.0);
  Session session(g, {.check_finite = true});
  const Tensor inf = Tensor::full(DType::f32, {2}, kInf);
  check_found(session, p, {{"x", inf}, {"y", inf}},
              {"sub: out f32[2] has 2 NaN", "no operand holds a NaN", "operand a has 2 inf"});
}

BOOST_AUTO_TEST_CASE(fully_masked_attention_rows_are_not_errors) {
  Graph g;
  const Value q = g.input("q", DType::f32, {1, 1, 3, 8});
  const Value lengths = g.input("lengths", DType::i32, {1});
  const Variable w =
      g.variable("w", DType::f32, {1, 1, 3, 8}, {.initializer = Initializer::ones()});
  const Value out = attention(q, w, w, {.lengths = lengths});
  const Value loss = sum(square(out));
  const Program train = Program("train").output("loss", loss).update(sgd(loss, {w}, {.lr = 0.1}));
  Session session(g, {.check_finite = true});
  const NamedTensors feeds = {{"q", sample_uniform({1, 1, 3, 8}, 1)},
                              {"lengths", Tensor::zeros(DType::i32, {1})}};
  BOOST_CHECK_NO_THROW(session.run(train, feeds));
}

BOOST_AUTO_TEST_CASE(narrow_dtypes_and_conversions_are_checked) {
  Graph g;
  const Value x = g.input("x", DType::f32, {2});
  const Program p = Program("p").output("h", cast(x, DType::f16));
  Session session(g, {.check_finite = true});
  check_found(session, p, {{"x", Tensor::full(DType::f32, {2}, 1e6)}},
              {"cast: out f16[2] has 2 inf of 2 elements", "operand x is in [1000000, 1000000]"});
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
