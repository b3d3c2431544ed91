// A host program may flush denormals or use another rounding mode. Results must not depend on these
// settings.
#include <boost/test/unit_test.hpp>

#include "weft/graph/run/session.h"
#include "weft/ops/op.h"
#include "weft/tests/support/odd_floating_point.h"

namespace weft {
namespace {

BOOST_AUTO_TEST_SUITE(floating_point)

BOOST_AUTO_TEST_CASE(the_environment_of_the_caller_does_not_change_results) {
  const float tiny = 3e-39f, third = 1.0f / 3;
  Graph g;
  const Value x = g.input("x", DType::f32, {2});
  const Value constant = g.constant(Tensor::of<float>({2}, {tiny, 1}));
  const Value weights = g.constant(Tensor::of<float>({2}, {0.5f, third}));
  // The first output is constant-folded, the second is not.
  const Program program = Program("p")
                              .output("folded", g.apply("mul", {constant, weights}).output(0))
                              .output("run", g.apply("mul", {x, weights}).output(0));
  const Tensor fed = Tensor::of<float>({2}, {tiny, 1});
  std::vector<Tensor> found;
  {
    const testing::OddFloatingPoint environment;
    Session session(g, {.threads = 1});
    const Results results = session.run(program, {{"x", fed}});
    found = evaluate_op(builtin_ops()->at("mul"), {fed, Tensor::of<float>({2}, {0.5f, third})});
    found.push_back(results["folded"]);
    found.push_back(results["run"]);
  }
  for (const Tensor& t : found) {
    BOOST_TEST((t.data<float>()[0] > 1.4e-39f));
    BOOST_TEST((t.data<float>()[1] == third));
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
