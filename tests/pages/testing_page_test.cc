// Code blocks in docs/testing.md.
#include <boost/test/unit_test.hpp>

#include "weft/autodiff/check_gradients.h"
#include "weft/autodiff/optimizers/optimizers.h"
#include "weft/graph/functions.h"
#include "weft/graph/ir/scope.h"
#include "weft/graph/run/session.h"
#include "weft/models/layers.h"
#include "weft/testing/graph_checks.h"
#include "weft/testing/model_checks.h"
#include "weft/testing/printing.h"
#include "weft/testing/random_tensors.h"
#include "weft/testing/run_checks.h"

namespace {

using namespace weft;

BOOST_AUTO_TEST_SUITE(testing_page)

BOOST_AUTO_TEST_CASE(my_training_step) {
  Graph g;
  const Value x = g.input("x", DType::f32, {"batch", 16});
  const Scope net(g, "net");
  const Value y = linear(net / "out", gelu(linear(net / "hidden", x, 64)), 4);
  const Value loss = mean(square(y - 1));
  const Program train = Program("train").output("loss", loss).update(adamw(loss, g.parameters()));
  const Program predict = Program("predict").output("y", y);
  const testing::RunSetup setup{.feeds = {{"x", testing::normal_tensor({8, 16}, 1)}}};

  BOOST_TEST(testing::check_determinism(g, train, setup));
  BOOST_TEST(testing::check_resume(g, train, setup));
  BOOST_TEST(testing::check_state_changes(g, train, setup));  // every parameter is trained
  BOOST_TEST(testing::check_rows(g, predict, setup));         // rows are independent
  const Variable weight = g.find_variable("net.hidden.weight");
  BOOST_TEST(check_gradients(loss, {x, weight}, {.feeds = setup.feeds}));

  Session session(g);
  const auto plan = session.plan(predict, {{"x", {8, 16}}});
  BOOST_TEST(testing::expect_steps(*plan, "matmul+*", 2));  // both products have fused epilogues
  BOOST_TEST(testing::expect_no_value_above(*plan, 8 * 64 * 4));  // bytes
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
