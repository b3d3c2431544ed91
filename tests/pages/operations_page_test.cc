// Code blocks in docs/custom-operations.md.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <vector>

#include "weft/autodiff/check_gradients.h"
#include "weft/autodiff/rule.h"
#include "weft/graph/functions.h"
#include "weft/graph/run/session.h"
#include "weft/ops/custom_op.h"
#include "weft/testing/random_tensors.h"

namespace {

using namespace weft;

OpRecord swish_record() {
  OpRecord r = elementwise_op("swish", {{"beta", 1.0}}, [](const Attributes& a) {
    return [beta = a.real("beta")](auto x) { return x / (1 + std::exp(-beta * x)); };
  });
  r.doc = "x * sigmoid(beta * x) (Ramachandran et al. 2017).";
  r.rule = [](const GradientContext& c) {
    const double beta = c.attributes().real("beta");
    const Value x = c.input(0), s = sigmoid(x * beta);
    return std::vector<Value>{c.cotangent() * (s + beta * x * s * (1 - s))};
  };
  return r;
}
Value swish(Value x, double beta, SourceLocation loc = SourceLocation::current()) {
  return apply_op("swish", {x}, {{"beta", beta}}, loc);
}

/// The product of each row: a reduction in plain loops.
OpRecord row_product_record() {
  OpRecord r;
  r.name = "row_product";
  r.doc = "The product over the last axis.";
  r.inputs = {{"x"}};
  r.infer = [](const InferContext& c) {
    c.require_floating(0, "x");
    c.require_min_rank(0, 1, "x");
    return std::vector<ValueType>{{c.dtype(0), without_axis(c.shape(0), -1)}};
  };
  r.kernel = floating_kernel([](auto zero, const KernelRequest& request) {
    using T = decltype(zero);
    const std::int64_t n = request.inputs[0].sizes.back();
    return loop_kernel(request.outputs[0].numel(), static_cast<double>(n),
                       [n](const KernelRun& run, std::int64_t begin, std::int64_t end) {
                         for (std::int64_t row = begin; row < end; ++row) {
                           T product = 1;
                           for (std::int64_t i = 0; i < n; ++i)
                             product *= run.in<T>(0)[row * n + i];
                           run.out<T>(0)[row] = product;
                         }
                       });
  });
  r.rule = [](const GradientContext& c) {  // product / x, for x != 0
    const auto column = [](Value v) { return unsqueeze(v, -1); };
    return std::vector<Value>{column(c.cotangent() * c.output()) / c.input(0)};
  };
  return r;
}

BOOST_AUTO_TEST_SUITE(operations_page)

BOOST_AUTO_TEST_CASE(custom_operations_can_be_used_in_graphs) {
  const auto ops = with_ops({swish_record(), row_product_record()});
  Graph g(ops);
  const Value x = g.input("x", DType::f32, {"n", 3});
  const Value y = apply_op("row_product", {swish(x, 1.5)});
  const Tensor at = testing::uniform_tensor({2, 3}, 1, 0.5, 2);
  BOOST_TEST(check_gradients(y, {x}, {.feeds = {{"x", at}}}));
  const Tensor result = Session(g).run(Program("p").output("y", y), {{"x", at}})["y"];
  BOOST_TEST(result.type_str() == "f32[2]");
  const Phase phase = loop_phase(1000, 1, [](const KernelRun&, std::int64_t, std::int64_t) {});
  BOOST_TEST(phase.chunks == 1);  // too little work to be split
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
