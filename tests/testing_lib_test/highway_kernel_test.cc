// A custom operation with a Highway kernel. It passes check_record and runs on every SIMD target of
// this CPU.
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "weft/autodiff/rule.h"
#include "weft/graph/functions.h"
#include "weft/graph/run/session.h"
#include "weft/ops/custom_op.h"
#include "weft/testing/close.h"
#include "weft/testing/random_tensors.h"
#include "weft/testing/record_checks.h"
#include "weft/testing/run_checks.h"
#include "weft/testing/simd_targets.h"
#include "weft/tests/testing_lib_test/signed_square.h"

namespace weft::testing {
namespace {

OpRecord signed_square_record() {
  OpRecord r;
  r.name = "signed_square";
  r.doc = "x |x|.";
  r.inputs = {{"x"}};
  r.inplace = {{0, 0}};
  r.infer = [](const InferContext& c) {
    c.require_floating(0, "x");
    return std::vector<ValueType>{c.input(0)};
  };
  r.kernel = floating_kernel([](auto zero, const KernelRequest& request) {
    using T = decltype(zero);
    return loop_kernel(request.outputs[0].numel(), 0.2,
                       [](const KernelRun& run, std::int64_t begin, std::int64_t end) {
                         user::signed_square(run.in<T>(0) + begin, run.out<T>(0) + begin,
                                             static_cast<std::size_t>(end - begin));
                       });
  });
  r.rule = [](const GradientContext& c) {
    return std::vector<Value>{2 * abs(c.input(0)) * c.cotangent()};
  };
  r.samples = [] { return std::vector<OpSample>{{{normal_tensor({3, 37}, 1)}, {}}}; };
  return r;
}

BOOST_AUTO_TEST_SUITE(highway_kernels)

BOOST_AUTO_TEST_CASE(a_highway_kernel_passes_check_record) {
  BOOST_TEST(check_record(with_ops({signed_square_record()}), "signed_square"));
}

BOOST_AUTO_TEST_CASE(a_highway_kernel_runs_on_every_target_of_the_cpu) {
  Graph g(with_ops({signed_square_record()}));
  const Value x = g.input("x", DType::f32, {"n"});
  const Program program = Program("p").output("y", apply_op("signed_square", {x}));
  const RunSetup setup{.feeds = {{"x", normal_tensor({100'003}, 2)}}};
  const Tensor& fed = setup.feeds[0].second;
  Tensor expected = Tensor::empty(DType::f32, fed.sizes());
  for (std::int64_t i = 0; i < fed.numel(); ++i) {
    const float value = fed.data<float>()[i];
    expected.mutable_data<float>()[i] = value * std::abs(value);
  }
  for_each_simd_target([&](const char* target) {
    BOOST_TEST(user::signed_square_target() == target);
    Session session(g);
    BOOST_TEST(expect_same_bits(session.run(program, setup.feeds)["y"], expected));
    BOOST_TEST(check_determinism(g, program, setup));
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft::testing
