// Gradients of elementwise operators, reductions, norms, products, losses and signal processing,
// and settings that are rejected.
#include <boost/test/unit_test.hpp>

#include "weft/autodiff/check_gradients.h"
#include "weft/autodiff/gradients.h"
#include "weft/core/error.h"
#include "weft/graph/functions/reduce.h"
#include "weft/graph/run/session.h"
#include "weft/testing/random_tensors.h"
#include "weft/tests/onnx/one_node.h"
#include "weft/tests/support/messages.h"

namespace weft {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace)
using Integers = std::vector<std::int64_t>;
using onnx_proto::Attribute;

BOOST_AUTO_TEST_SUITE(onnx_math_gradients)

BOOST_AUTO_TEST_CASE(gradients_are_those_of_the_definitions) {
  const auto normal = [](const Sizes& sizes, std::uint64_t seed) {
    const Tensor t = normal_tensor(sizes, seed);
    Numbers values;
    for (std::int64_t i = 0; i < t.numel(); ++i) values.push_back(t.at(i));
    return f64(sizes, values);
  };
  const Tensor x = normal({2, 3, 4}, 1), y = normal({2, 3, 4}, 2), square = normal({2, 4, 4}, 3);
  const Tensor unit = f64({4}, {-0.9, -0.3, 0.2, 0.8}), positive = f64({4}, {1.1, 2, 30, 7});
  const Tensor three = f64({3}, {1, 2, 0.5}), four = f64({4}, {1, -2, 0.5, 3});
  const Attribute drop = attribute("keepdims", 0);
  for (const OneNode& node : std::initializer_list<OneNode>{
           {"Atan", 9, {x}},
           {"Asin", 9, {unit}},
           {"Acos", 9, {unit}},
           {"Tan", 9, {unit}},
           {"Sinh", 9, {x}},
           {"Cosh", 9, {x}},
           {"Asinh", 9, {x}},
           {"Acosh", 9, {positive}},
           {"Atanh", 9, {unit}},
           {"Celu", 12, {x}, {attribute("alpha", 0.5)}},
           {"Selu", 6, {x}},
           {"Elu", 6, {x}},
           {"PRelu", 16, {x, four}},
           {"HardSigmoid", 6, {x}, {attribute("alpha", 1.0)}},
           {"Softsign", 1, {x}},
           {"Shrink", 9, {x}, {attribute("bias", 0.25)}},
           {"ThresholdedRelu", 10, {x}},
           {"Gelu", 20, {x}},
           {"Mish", 18, {x}},
           {"Mod", 13, {x, normal({4}, 5)}, {attribute("fmod", 1)}},
           {"Mean", 13, {x, y, four}},
           {"Clip", 13, {x, f64({}, {-0.5}), f64({}, {0.5})}},
           {"Pow", 13, {f64({4}, {0.5, 1, 2, 3}), four}},
           {"Softmax", 11, {x}},
           {"ReduceL1", 13, {x}, {drop}},
           {"ReduceL2", 13, {x}, {attribute("axes", Integers{1})}},
           {"ReduceLogSum", 13, {positive}},
           {"ReduceLogSumExp", 13, {x}, {attribute("axes", Integers{0, 2})}},
           {"ReduceProd", 13, {unit}},
           {"CumSum", 14, {x, i64({}, {1})}, {attribute("reverse", 1)}},
           {"TopK", 11, {x, i64({1}, {2})}},
           {"LayerNormalization", 17, {x, four, four}},
           {"LayerNormalization", 17, {x, f64({1}, {2}), four}, {attribute("axis", 1)}},
           {"RMSNormalization", 23, {x, y}, {attribute("axis", 0)}},
           {"BatchNormalization",
            14,
            {x, three, three, three, three},
            {attribute("training_mode", 1)}},
           {"BatchNormalization", 15, {x, three, three, three, three}},
           {"InstanceNormalization", 6, {x, three, three}},
           {"GroupNormalization", 21, {x, three, three}, {attribute("num_groups", 3)}},
           {"LRN", 13, {x}, {attribute("size", 3), attribute("alpha", 0.5)}},
           {"MeanVarianceNormalization", 13, {x}, {attribute("axes", Integers{2})}},
           {"LpNormalization", 1, {x}},
           {"LpNormalization", 1, {x}, {attribute("p", 1)}},
           {"MatMul", 13, {x, square}},
           {"Gemm",
            13,
            {normal({3, 2}, 4), normal({4, 3}, 5), four},
            {attribute("transA", 1), attribute("transB", 1), attribute("beta", 0.5)}},
           {"Einsum", 12, {x, y}, {attribute("equation", "bij,bkj->bik")}},
           {"Det", 11, {square}},
           {"NegativeLogLikelihoodLoss",
            13,
            {x, i64({2, 4}, {0, 1, 2, 0, 1, 1, 2, 0}), three},
            {attribute("ignore_index", 1)}},
           {"SoftmaxCrossEntropyLoss", 13, {x, i64({2, 4}, {0, 1, 2, 0, 1, 1, 2, 0}), three}},
           {"SoftmaxCrossEntropyLoss",
            13,
            {x, i64({2, 4}, {0, 1, 2, 0, 1, 1, 2, 0})},
            {attribute("ignore_index", 1), attribute("reduction", "sum")}},
           {"DFT", 17, {normal({1, 70, 1}, 6)}},
           {"DFT", 20, {normal({1, 5, 2}, 6)}, {attribute("inverse", 1)}},
           {"STFT", 17, {normal({1, 9, 1}, 7), i64({}, {2}), normal({4}, 8)}},
       }) {
    BOOST_TEST_CONTEXT(node.op << " of opset " << node.opset) {
      OnnxModel model = read_node(node);
      Graph& graph = model.checkpoint.graph();
      std::vector<Value> wrt;
      for (const Value& input : graph.inputs()) {
        if (is_floating(input.dtype())) wrt.push_back(input);
      }
      BOOST_TEST(check_gradients(graph.find_named("y0"), wrt, {.feeds = feeds_of(model, node)}));
    }
  }
}

// At kinks and at 0, where naive compositions have the gradient 0 * inf.
BOOST_AUTO_TEST_CASE(gradients_are_finite_at_the_borders_of_branches) {
  const Tensor zeros = f64({2, 3}, {0, 0, 0, 0, 0, 0});
  struct Border {
    OneNode node;
    double gradient;
  };
  for (const Border& border : std::initializer_list<Border>{
           {{"Atan", 9, {zeros}}, 1},
           {{"Asin", 9, {zeros}}, 1},
           {{"Acos", 9, {zeros}}, -1},
           {{"Sinh", 9, {zeros}}, 1},
           {{"Asinh", 9, {zeros}}, 1},
           {{"Atanh", 9, {zeros}}, 1},
           {{"Celu", 12, {f64({2, 1}, {800, 900})}}, 1},
           {{"ReduceL2", 13, {zeros}, {attribute("axes", Integers{1})}}, 0},
           {{"LpNormalization", 1, {zeros}}, 1},
           {{"MeanVarianceNormalization", 13, {zeros}, {attribute("axes", Integers{1})}}, 0},
       }) {
    BOOST_TEST_CONTEXT(border.node.op) {
      OnnxModel model = read_node(border.node);
      Graph& graph = model.checkpoint.graph();
      const Value x = graph.find_input("x0");
      const Program program =
          Program("gradients").output("dx", gradients(sum(graph.find_named("y0")), {x})[0]);
      Session session(graph);
      const Tensor dx = session.run(program, feeds_of(model, border.node))["dx"];
      for (std::int64_t i = 0; i < dx.numel(); ++i) BOOST_TEST(dx.at(i) == border.gradient);
    }
  }
}

BOOST_AUTO_TEST_CASE(settings_that_weft_cannot_compute_are_rejected_by_name) {
  struct Rejected {
    OneNode node;
    const char* message;
  };
  const Tensor x = f32({2, 3}, {1, 2, 3, 4, 5, 6}), ten = i64({}, {10});
  const std::vector<Tensor> batch = {x, f32({3}, {1, 1, 1}), f32({3}, {1, 1, 1}),
                                     f32({3}, {1, 1, 1}), f32({3}, {1, 1, 1})};
  for (const Rejected& rejected : std::initializer_list<Rejected>{
           {{"Cast", 13, {x}, {attribute("to", 4)}}, "Cast with to = uint16 is not supported"},
           {{"Mod", 13, {x, x}}, "Mod with floating-point operands and fmod = 0 is not supported"},
           {{"BitShift", 11, {i32({1}, {1}), i32({1}, {1})}, {attribute("direction", "LEFT")}},
            "BitShift with operands of dtype i32 is not supported"},
           {{"BitShift", 11, {u8({1}, {1}), u8({1}, {1})}, {attribute("direction", "UP")}},
            "BitShift with direction 'UP' is not supported"},
           {{"Gelu", 20, {x}, {attribute("approximate", "fast")}},
            "Gelu with approximate = 'fast' is not supported"},
           {{"Softmax", 13, {x}, {attribute("axis", 2)}}, "axis"},
           {{"BatchNormalization", 7, batch, {attribute("spatial", 0)}},
            "BatchNormalization with spatial = 0 is not supported"},
           {{"BatchNormalization", 9, batch, {}, 2},
            "BatchNormalization with statistics of the batch as outputs (training) is not"},
           {{"LpNormalization", 1, {x}, {attribute("p", 3)}}, "LpNormalization with p = 3 is not"},
           {{"NegativeLogLikelihoodLoss",
             13,
             {x, i64({2}, {0, 0})},
             {attribute("reduction", "max")}},
            "NegativeLogLikelihoodLoss with reduction = 'max' is not supported"},
           {{"DFT",
             17,
             {x},
             {attribute("inverse", 1), attribute("onesided", 1), attribute("axis", 0)}},
            "DFT with inverse and onesided together is not supported"},
           {{"GroupNormalization", 18, batch, {attribute("num_groups", 0)}},
            "GroupNormalization with num_groups = 0 is not supported"},
           {{"LRN", 13, {x}, {attribute("size", 0)}}, "LRN with size = 0 is not supported"},
           {{"Det", 11, {x}}, "Det with matrices of shape [2, 3] is not supported"},
           {{"DFT", 17, {f32({1, 2, 3}, {1, 2, 3, 4, 5, 6})}},
            "DFT with numbers of 3 parts is not supported"},
           {{"DFT", 17, {x}, {attribute("axis", 1)}},
            "DFT with the axis of real and imaginary parts as axis is not supported"},
           {{"STFT", 17, {f32({1, 2, 1}, {1, 1}), i64({}, {0})}},
            "STFT with frame_step = 0 is not supported"},
           {{"MelWeightMatrix", 17, {ten, ten, ten, f32({}, {-1000}), f32({}, {1})}},
            "MelWeightMatrix with edges out of range is not supported"},
           {{"MelWeightMatrix",
             17,
             {i64({}, {1 << 20}), i64({}, {1 << 20}), ten, f32({}, {0}), f32({}, {1})}},
            "MelWeightMatrix with more than 2^26 weights is not supported"},
           {{"HannWindow", 17, {i64({0}, {})}}, "operand 0 has 0 elements instead of one"},
           {{"RandomNormalLike", 13, {x}}, "RandomNormalLike"},
           {{"Bernoulli", 15, {x}}, "Bernoulli"},
       }) {
    check_error<FormatError>([&] { read_node(rejected.node); }, {rejected.message});
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
