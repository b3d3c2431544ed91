// Quantised operators of both domains, compared with ONNX Runtime
// (tests/fixtures/onnx/make_quantized.py).
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <fstream>
#include <set>

#include "weft/autodiff/gradients.h"
#include "weft/core/error.h"
#include "weft/graph/functions.h"
#include "weft/graph/passes/pipeline.h"
#include "weft/graph/run/session.h"
#include "weft/serialization/npy.h"
#include "weft/serialization/onnx/onnx.h"
#include "weft/testing/close.h"
#include "weft/tests/onnx/one_node.h"

namespace weft {
namespace {

BOOST_AUTO_TEST_SUITE(onnx_quantized)

/// Reads some outputs of quantized.onnx. If `fixed`, all operands except the first are
/// initialisers, so that weights are stored in the layout of Weft's products of integers.
OnnxModel read_quantized(const TensorMap& tensors, const std::vector<std::string>& outputs,
                         bool fixed) {
  std::ifstream file(WEFT_FIXTURES "/onnx/quantized.onnx", std::ios::binary);
  onnx_proto::Model model;
  BOOST_REQUIRE(model.ParseFromIstream(&file));
  google::protobuf::RepeatedPtrField<onnx_proto::Value> inputs;
  for (const onnx_proto::Value& input : model.graph().input()) {
    if (!fixed || input.name().ends_with(".in_0")) {
      *inputs.Add() = input;
    } else {
      *model.mutable_graph()->add_initializer() =
          testing::tensor_message(tensors.at(input.name()), input.name());
    }
  }
  *model.mutable_graph()->mutable_input() = inputs;
  return testing::read_model(model, {.outputs = outputs});
}

BOOST_AUTO_TEST_CASE(results_agree_with_onnx_runtime) {
  const TensorMap tensors = read_npz(WEFT_FIXTURES "/onnx/quantized.npz");
  std::set<std::string> cases;
  for (const auto& [name, tensor] : tensors) cases.insert(name.substr(0, name.find('.')));
  BOOST_TEST(cases.size() == 38);
  for (const bool fixed : {false, true}) {
    for (const std::string& name : cases) {
      BOOST_TEST_CONTEXT(name << (fixed ? " with initialisers" : "")) {
        std::vector<std::string> outputs;
        for (const auto& [tensor, value] : tensors)
          if (tensor.rfind(name + ".out_", 0) == 0) outputs.push_back(tensor);
        const OnnxModel model = read_quantized(tensors, outputs, fixed);
        const Program& program = model.checkpoint.program("predict");
        if (name == "bits_halves" && fixed) {
          const Variable q = model.checkpoint.graph().find_variable("bits_halves.in_1.q");
          BOOST_TEST((q.value().dtype() == DType::u8));
        }
        NamedTensors feeds;
        for (const Value& input : program.inputs()) {
          const std::string& input_name = input.node().attributes().text("name");
          feeds.emplace_back(input_name, tensors.at(input_name));
        }
        const Results results =
            Session(model.checkpoint.graph(), model.checkpoint.store()).run(program, feeds);
        for (const std::string& output : outputs) {
          BOOST_TEST_CONTEXT(output) {
            const Tensor &y = results[output], &expected = tensors.at(output);
            if (is_floating(expected.dtype())) {
              BOOST_TEST(testing::expect_close(y, expected, {.absolute = 2e-6, .relative = 1e-5}));
            } else if (name != "softmax") {
              BOOST_TEST(testing::expect_same_bits(y, expected));
            } else {  // ONNX Runtime rounds exponentials to table entries
              for (std::int64_t i = 0; i < y.numel(); ++i)
                BOOST_TEST(std::abs(y.at(i) - expected.at(i)) <= 1);
            }
          }
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(integers_are_divided_exactly) {
  // 16842753 is 128.5 * 131072 + 1. As f32 it would be a tie.
  testing::check_example({{"QuantizeLinear",
                           21,
                           {testing::i32({2}, {16842752, 16842753}), testing::f32({}, {131072})}},
                          {testing::u8({2}, {128, 129})}});
}

BOOST_AUTO_TEST_CASE(narrow_floats_are_divided_in_their_precision) {
  testing::check_example(
      {{"QuantizeLinear",
        19,
        {testing::f16({3}, {1, -3, 40}), testing::f16({}, {2}), testing::i8({}, {-100})}},
       {testing::i8({3}, {-100, -102, -80})}});
  testing::check_example(
      {{"DequantizeLinear", 19, {testing::u8({2}, {3, 255}), testing::f16({}, {0.5})}},
       {testing::f16({2}, {1.5, 127.5})}});
}

// The gradient passes straight through the rounding, except for numbers out of range, and sessions
// multiply integers. All numbers are exact in float arithmetic.
BOOST_AUTO_TEST_CASE(rounded_products_are_differentiable_and_run_on_integers) {
  testing::GraphBuilder builder;
  builder.input("x", DType::f32, {"rows", 3})
      .initializer("scale", testing::f32({}, {0.5}))
      .initializer("zero", testing::u8({}, {250}))
      .initializer("w_quantized", testing::i8({3, 2}, {1, -2, 3, 4, -5, 6}))
      .initializer("w_scale", testing::f32({2}, {0.25, 2}))
      .initializer("w_zero", testing::i8({2}, {0, 1}))
      .node("QuantizeLinear", {"x", "scale", "zero"}, {"x_q"})
      .node("DequantizeLinear", {"x_q", "scale", "zero"}, {"x_dq"})
      .node("DequantizeLinear", {"w_quantized", "w_scale", "w_zero"}, {"w"},
            {testing::attribute("axis", 1)})
      .node("MatMul", {"x_dq", "w"}, {"y"})
      .output("y");
  OnnxModel model = testing::read_model(builder);
  Graph& graph = model.checkpoint.graph();
  BOOST_TEST((graph.has_variable("w.q") && graph.has_variable("w.scale")));
  // Levels 252.5, 255.5, 256, 0, 250 and -2.
  const Tensor x = testing::f32({2, 3}, {1.25, 2.75, 3, -125, 0, -126});
  Program program = model.checkpoint.program("predict");
  const Value y = program.outputs()[0].second;
  program.output("dx", gradients(sum(y), {program.inputs()[0]})[0]);
  for (const bool passes : {false, true}) {
    Session session(graph, model.checkpoint.store(), SessionOptions{.passes = passes});
    const Results results = session.run(program, {{"x", x}});
    BOOST_TEST(testing::expect_same_bits(results["y"], testing::f32({2, 2}, {-1, 34, 125, -500})));
    BOOST_TEST(testing::expect_same_bits(results["dx"],
                                         testing::f32({2, 3}, {-5.75, 6.75, 0, -5.75, 6.75, 0})));
  }
  std::set<std::string> ops;
  const Module optimised = run_passes(clone_program(program));
  for (const Node* node : optimised.program.nodes()) ops.insert(node->op().name);
  BOOST_TEST((ops.contains("integer_matmul") && !ops.contains("call")));
}

BOOST_AUTO_TEST_CASE(unsupported_settings_are_named) {
  const auto error = [](const testing::OneNode& node) {
    try {
      testing::read_node(node);
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  const Tensor x = testing::f32({2, 2}, {1, 2, 3, 4}), one = testing::f32({}, {1});
  const auto has = [](const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
  };
  BOOST_TEST(has(error({"QuantizeLinear", 21, {x, one}, {testing::attribute("output_dtype", 5)}}),
                 "int16"));
  BOOST_TEST(has(error({"QuantizeLinear", 21, {x, testing::f32({2, 1}, {1, 1})}}),
                 "scales or zero points with more than one axis is not supported"));
  BOOST_TEST(has(error({"QuantizeLinear",
                        21,
                        {x, one, testing::u8({}, {1})},
                        {testing::attribute("output_dtype", 3)}}),
                 "output_dtype and another zero point is not supported"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
