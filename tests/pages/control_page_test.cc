// Code blocks in docs/control-flow.md.
#include <boost/test/unit_test.hpp>
#include <vector>

#include "weft/autodiff/gradients.h"
#include "weft/core/error.h"
#include "weft/core/random_tensors.h"
#include "weft/graph/control/cond.h"
#include "weft/graph/control/scan.h"
#include "weft/graph/functions.h"
#include "weft/graph/ir/scope.h"
#include "weft/graph/run/session.h"
#include "weft/models/layers.h"

namespace {

using namespace weft;

BOOST_AUTO_TEST_SUITE(control_page)

BOOST_AUTO_TEST_CASE(loops_branches_and_their_gradients_can_be_combined) {
  Graph g;
  const Scope net(g, "net");
  const Value x = g.input("x", DType::f32, {"time", "batch", 4});
  const Value start = g.input("start", DType::f32, {"batch", 4});
  const Variable rate =
      net.variable("rate", DType::f32, {4}, {.initializer = Initializer::constant(0.5)});

  const ScanResult loop = scan(g, {start}, {x}, {}, [&](Graph&, const ScanElements& in) {
    const Value average = in.carries[0] + rate * (in.elements[0] - in.carries[0]);
    return ScanStep{.carries = {average}, .outputs = {average, abs(in.elements[0] - average)}};
  });
  const Value last = loop.carries[0];     // f32 [batch, 4]: the state after the last step
  const Value history = loop.outputs[0];  // f32 [time, batch, 4]: the state after every step
  const Value errors = loop.outputs[1];   // f32 [time, batch, 4]

  const Value size = norm(last);
  const Value bounded = cond(
      size > 1, {}, [&](Graph&, const std::vector<Value>&) { return std::vector{last / size}; },
      [&](Graph&, const std::vector<Value>&) { return std::vector{last}; })[0];

  const Value loss = mean(square(bounded)) + mean(errors);
  const std::vector<Value> slopes = gradients(loss, {rate.value(), x, start});

  Session session(g);
  const Program program =
      Program("p").output("last", last).output("history", history).output("slope", slopes[1]);
  const Results results = session.run(
      program, {{"x", normal_tensor({6, 2, 4}, 1)}, {"start", normal_tensor({2, 4}, 2)}});
  BOOST_TEST(results["history"].type_str() == "f32[6, 2, 4]");
  BOOST_TEST(results["slope"].type_str() == "f32[6, 2, 4]");
  BOOST_TEST(results["last"].at(3) == results["history"].at(5 * 8 + 3));
}

BOOST_AUTO_TEST_CASE(a_body_uses_layers_of_the_graph_around_it) {
  Graph g;
  const Scope net(g, "net");
  const Value x = g.input("x", DType::f32, {"batch", "time", 8});
  const Value lengths = g.input("lengths", DType::i64, {"batch"});

  const int width = 16;
  const Value h0 = zeros(g, DType::f32, {x.shape()[0], width});
  const Scope pass = net.training();
  const auto cell = [&](Graph&, const ScanElements& in) {
    const Value both = concat({in.elements[0], in.carries[0]}, 1);
    const Value h = tanh(linear(pass / "mix", both, width));
    return ScanStep{.carries = {dropout(pass, h, 0.1)}};
  };
  const Value summary =
      scan(g, {h0}, {permute(x, {1, 0, 2})}, {}, cell, {.lengths = lengths}).carries[0];

  const Program program = Program("p").output("summary", summary);
  const Results results = Session(g, {.seed = 1})
                              .run(program, {{"x", normal_tensor({2, 5, 8}, 1)},
                                             {"lengths", Tensor::of<std::int64_t>({2}, {5, 3})}});
  BOOST_TEST(results["summary"].type_str() == "f32[2, 16]");
  BOOST_TEST(net.parameters()[0].name() == "net.mix.weight");
  BOOST_CHECK_THROW(scan(g, {h0}, {permute(x, {1, 0, 2})}, {},
                         [](Graph& body, const ScanElements& in) {
                           const Value w = linear(Scope(body, "w"), in.carries[0], 16);
                           return ScanStep{.carries = {w}};
                         }),
                    GraphError);
}

BOOST_AUTO_TEST_CASE(while_loops_have_a_data_dependent_length) {
  Graph g;
  const Value a = g.input("a", DType::f64, {});
  const auto far = [&](Graph&, const std::vector<Value>& in) {
    return std::vector{abs(in[0] * in[0] - a) > 1e-9};
  };
  const auto newton = [&](Graph&, const std::vector<Value>& in) {
    return std::vector{(in[0] + a / in[0]) / 2.0};
  };
  const Value root = while_loop(g, {a}, far, newton, 100)[0];
  const Program program = Program("p").output("root", root);
  const Results results = Session(g).run(program, {{"a", Tensor::of<double>({}, {9.0})}});
  BOOST_TEST(results["root"].item<double>() == 3.0, boost::test_tools::tolerance(1e-9));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
