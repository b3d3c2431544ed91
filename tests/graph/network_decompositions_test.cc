// Compares the definitions of softmax, norms, cross-entropy and attention (compositions of
// primitive ops) with the kernels, in double precision on every sample. Also tests the user-facing
// functions.
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "weft/autodiff/rule.h"
#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/attention.h"
#include "weft/graph/functions/loss.h"
#include "weft/graph/functions/norm.h"
#include "weft/tests/reference/evaluate_graph.h"
#include "weft/tests/samples/sample_data.h"

namespace weft {
namespace {

void check_close(const Tensor& a, const Tensor& b, double tolerance) {
  BOOST_REQUIRE(a.sizes() == b.sizes());
  for (std::int64_t i = 0; i < a.numel(); ++i) {
    if (a.at(i) == b.at(i)) continue;
    BOOST_REQUIRE_SMALL(a.at(i) - b.at(i), tolerance);
  }
}

void check_definition(const OpRecord& op, const std::vector<Tensor>& operands,
                      const Attributes& attributes) {
  Graph graph;
  testing::Feed feed;
  std::vector<Value> inputs;
  std::vector<Tensor> doubles;
  for (const Tensor& t : operands) {
    if (!t.defined()) {
      inputs.emplace_back();
      doubles.emplace_back();
      continue;
    }
    doubles.push_back(t.dtype() == DType::f32 ? t.to(DType::f64) : t);
    const Tensor& used = doubles.back();
    inputs.push_back(
        graph.input("in" + std::to_string(inputs.size()), {used.dtype(), Shape(used.sizes())}));
    feed[inputs.back()] = used;
  }
  const Node& node = graph.apply(op, inputs, attributes);
  const auto define = builtin_rules().definition(op.name);
  BOOST_REQUIRE(define != nullptr);
  const std::vector<Value> values = define(node, node.inputs(), graph);
  const std::vector<Tensor> expected = evaluate_op(op, doubles, attributes);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!values[i].defined()) continue;
    check_close(testing::evaluate_graph({values[i]}, feed)[0], expected[i], 1e-11);
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(network_decompositions)

BOOST_AUTO_TEST_CASE(definitions_match_the_kernels_on_every_sample) {
  for (const char* name :
       {"softmax", "log_softmax", "layer_norm", "layer_norm_grad", "rms_norm", "rms_norm_grad",
        "cross_entropy", "cross_entropy_grad", "soft_cross_entropy", "soft_cross_entropy_grad",
        "attention", "attention_grad"}) {
    const OpRecord& op = builtin_ops()->at(name);
    int index = 0;
    for (const OpSample& sample : op.samples()) {
      BOOST_TEST_CONTEXT(name << " sample " << index++) {
        check_definition(op, sample.inputs, sample.attributes);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(attention_for_fully_masked_queries_is_defined) {
  std::vector<Tensor> in = {sample_uniform({2, 2, 4, 3}, 1), sample_uniform({2, 2, 5, 3}, 2),
                            sample_uniform({2, 2, 5, 2}, 3)};
  in.resize(13);
  in[10] = Tensor::of<std::int64_t>({2}, {0, 3});
  const Attributes attributes{{"scale", 1.0}};
  check_definition(builtin_ops()->at("attention"), in, attributes);
  const auto out = evaluate_op(builtin_ops()->at("attention"), in, attributes);
  std::vector<Tensor> grad = {sample_uniform(out[0].sizes(), 4), out[0], out[1]};
  grad.insert(grad.end(), in.begin(), in.end());
  check_definition(builtin_ops()->at("attention_grad"), grad, attributes);
}

// With zero features, all scores are 0, whatever the scale is.
BOOST_AUTO_TEST_CASE(attention_without_features_is_the_mean_of_the_values) {
  Graph g;
  const Value q = g.input("q", DType::f64, {1, 1, 2, 0});
  const Value k = g.input("k", DType::f64, {1, 1, 4, 0});
  const Value v = g.input("v", DType::f64, {1, 1, 4, 1});
  const testing::Feed feed = {{q, Tensor::zeros(DType::f64, {1, 1, 2, 0})},
                              {k, Tensor::zeros(DType::f64, {1, 1, 4, 0})},
                              {v, Tensor::of<double>({1, 1, 4, 1}, {1, 2, 5, 8})}};
  const Tensor out = testing::evaluate_graph({attention(q, k, v)}, feed)[0];
  BOOST_TEST(out.at(0) == 4);
  BOOST_TEST(out.at(1) == 4);
}

BOOST_AUTO_TEST_CASE(network_functions_match_their_definitions) {
  Graph g;
  const Value x = g.input("x", DType::f64, {2, 4, 3});
  const Value t = g.input("t", DType::i64, {2, 3});
  const testing::Feed feed = {{x, sample_uniform({2, 4, 3}, 1).to(DType::f64)},
                              {t, Tensor::of<std::int64_t>({2, 3}, {0, 3, -100, 1, 2, -100})}};
  const Value each = cross_entropy(x, t, {.class_axis = 1, .reduction = Reduction::none});
  const Value mean = cross_entropy(x, t, {.class_axis = 1});
  const auto r = testing::evaluate_graph(
      {each, mean, masked_softmax(x, less(x, -9)), group_norm(x, 2), kl_div(x, x)}, feed);
  double total = 0;
  for (int i = 0; i < 6; ++i) total += r[0].at(i);
  BOOST_CHECK_SMALL(r[1].at(0) - total / 4, 1e-14);
  for (int i = 0; i < 24; ++i) BOOST_CHECK_EQUAL(r[2].at(i), 0);
  double sum = 0;
  for (int i = 0; i < 6; ++i) sum += r[3].at(i);
  BOOST_CHECK_SMALL(sum, 1e-13);
  BOOST_CHECK(std::isfinite(r[4].at(0)));
  const auto names = [](const ShapeError& e) {
    return std::string(e.what()).find(
               "the channels of x (axis 1), 4, must be a constant multiple of groups, 3") !=
           std::string::npos;
  };
  BOOST_CHECK_EXCEPTION(group_norm(x, 3), ShapeError, names);
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
