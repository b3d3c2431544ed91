// Programs with activations that are rounded to bytes.
#include <boost/test/unit_test.hpp>

#include "weft/autodiff/gradients.h"
#include "weft/graph/functions.h"
#include "weft/graph/functions/fake_quantize.h"
#include "weft/graph/run/session.h"
#include "weft/tests/samples/sample_data.h"
#include "weft/tests/support/messages.h"

namespace weft {
namespace {

BOOST_AUTO_TEST_SUITE(integer_products)

BOOST_AUTO_TEST_CASE(gradients_pass_straight_through_and_stop_at_clamped_elements) {
  Graph graph;
  const Value x = graph.input("x", DType::f32, {2, 3}), g = graph.input("g", DType::f32, {2, 3});
  const Value scale = graph.constant(Tensor::scalar(DType::f32, 0.5));
  Program program("gradients");
  program.output("dynamic", gradients(sum(fake_quantize(x) * g), {x})[0]);
  program.output("static", gradients(sum(fake_quantize(x, scale) * g), {x})[0]);
  const Tensor gs = Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  Session session(graph);
  const Results results = session.run(
      program, {{"x", Tensor::of<float>({2, 3}, {-64, 63.75f, 1, 63.8f, 0.2f, -63})}, {"g", gs}});
  for (std::int64_t i = 0; i < 6; ++i) {
    BOOST_TEST(results["dynamic"].at(i) == gs.at(i));
    BOOST_TEST(results["static"].at(i) == (i == 0 || i == 3 ? 0 : gs.at(i)));
  }
}

BOOST_AUTO_TEST_CASE(a_scale_with_axes_is_rejected) {
  Graph graph;
  const Value x = graph.input("x", DType::f32, {2, 3}), s = graph.input("s", DType::f32, {3});
  BOOST_CHECK_EXCEPTION(fake_quantize(x, s), ShapeError,
                        testing::message_contains({"scale must have 0 axes, but f32[3] has 1"}));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
