// Symbolic sizes, dtypes and errors of the operators of operators.onnx.
#include <boost/test/unit_test.hpp>

#include "weft/core/error.h"
#include "weft/core/random_tensors.h"
#include "weft/testing/close.h"
#include "weft/tests/onnx/onnx_model.h"
#include "weft/tests/support/messages.h"

namespace weft {
namespace {

using testing::attribute;
using testing::check_error;
using testing::GraphBuilder;
using testing::read_model;
using testing::run_model;

constexpr const char* kMicrosoft = "com.microsoft";

// A step of a decoder with symbolic sizes, as generators export it: the numbers of keys follow from
// the mask.
GraphBuilder decoder_step() {
  return GraphBuilder()
      .input("q", DType::f32, {"batch", "new", std::int64_t{8}})
      .input("k", DType::f32, {"batch", "new", std::int64_t{4}})
      .input("v", DType::f32, {"batch", "new", std::int64_t{4}})
      .input("past_key", DType::f32, {"batch", std::int64_t{1}, "past", std::int64_t{4}})
      .input("past_value", DType::f32, {"batch", std::int64_t{1}, "past", std::int64_t{4}})
      .input("mask", DType::i64, {"batch", "total"})
      .initializer("one", Tensor::of<std::int64_t>({1}, {1}))
      .initializer("cos", uniform_tensor({16, 2}, 1, -1, 1))
      .initializer("sin", uniform_tensor({16, 2}, 2, -1, 1))
      .node("ReduceSum", {"mask", "one"}, {"counts"}, {attribute("keepdims", 0)})
      .node("Sub", {"counts", "one"}, {"last"})
      .node("Cast", {"last"}, {"last32"}, {attribute("to", 6)})
      .node("Shape", {"mask"}, {"shape"})
      .node("Gather", {"shape", "one"}, {"total"})
      .node("Cast", {"total"}, {"total32"}, {attribute("to", 6)})
      .node("GroupQueryAttention",
            {"q", "k", "v", "past_key", "past_value", "last32", "total32", "cos", "sin"},
            {"y", "present_key", "present_value"},
            {attribute("num_heads", 2), attribute("kv_num_heads", 1), attribute("do_rotary", 1)},
            kMicrosoft)
      .output("y")
      .output("present_key")
      .output("present_value");
}

BOOST_AUTO_TEST_SUITE(onnx_transformer_operators)

BOOST_AUTO_TEST_CASE(a_text_in_two_steps_has_the_results_of_one_step) {
  const OnnxModel model = read_model(decoder_step());
  const Tensor q = normal_tensor({2, 5, 8}, 1), k = normal_tensor({2, 5, 4}, 2),
               v = normal_tensor({2, 5, 4}, 3);
  const auto rows = [](const Tensor& x, std::int64_t begin, std::int64_t end) {
    const std::int64_t width = x.size(2);
    Tensor part = Tensor::empty(DType::f32, {2, end - begin, width});
    for (std::int64_t b = 0; b < 2; ++b) {
      const float* from = x.data<float>() + (b * x.size(1) + begin) * width;
      std::copy(from, from + (end - begin) * width,
                part.mutable_data<float>() + b * (end - begin) * width);
    }
    return part;
  };
  const auto step = [&](std::int64_t begin, std::int64_t end, const Tensor& keys,
                        const Tensor& values, Tensor mask = {}) {
    if (!mask.defined()) mask = Tensor::full(DType::i64, {2, end}, 1);
    return run_model(model, {{"q", rows(q, begin, end)},
                             {"k", rows(k, begin, end)},
                             {"v", rows(v, begin, end)},
                             {"past_key", keys},
                             {"past_value", values},
                             {"mask", mask}});
  };
  const Tensor none = Tensor::empty(DType::f32, {2, 1, 0, 4});
  const Results whole = step(0, 5, none, none), first = step(0, 3, none, none),
                second = step(3, 5, first["present_key"], first["present_value"]);
  const testing::Tolerance tolerance{.absolute = 1e-6};
  BOOST_TEST(testing::expect_close(first["y"], rows(whole["y"], 0, 3), tolerance));
  BOOST_TEST(testing::expect_close(second["y"], rows(whole["y"], 3, 5), tolerance));
  BOOST_TEST(testing::expect_close(second["present_key"], whole["present_key"], tolerance));
  BOOST_TEST(testing::expect_close(second["present_value"], whole["present_value"], tolerance));
  // In a first step, a shorter text is padded at its end.
  const Results padded =
      step(0, 5, none, none, Tensor::of<std::int64_t>({2, 5}, {1, 1, 1, 0, 0, 1, 1, 1, 1, 1}));
  BOOST_TEST(testing::expect_close(rows(padded["y"], 0, 3), first["y"], tolerance));
}

// An operator with operands of symbolic sizes, which are then given other sizes.
struct Symbolic {
  const char* op;
  const char* domain;
  std::vector<std::pair<std::vector<testing::OnnxSize>, Sizes>> operands;
  std::vector<onnx_proto::Attribute> attributes;
};

BOOST_AUTO_TEST_CASE(symbolic_sizes_and_narrow_dtypes_give_the_results_of_f32) {
  const auto n = [](std::int64_t size) { return testing::OnnxSize(size); };
  const Symbolic cases[] = {
      {"Conv",
       "",
       {{{"b", n(2), "h", "w"}, {2, 2, 7, 6}}, {{n(3), n(2), n(2), n(3)}, {3, 2, 2, 3}}},
       {attribute("auto_pad", "SAME_LOWER"),
        attribute("strides", std::vector<std::int64_t>{2, 3})}},
      {"Conv",
       "",
       {{{"b", n(2), "d", "h", "w"}, {2, 2, 5, 6, 4}},
        {{n(2), n(1), n(2), n(3), n(2)}, {2, 1, 2, 3, 2}}},
       {attribute("group", 2), attribute("strides", std::vector<std::int64_t>{2, 1, 1}),
        attribute("pads", std::vector<std::int64_t>{1, 0, 1, 1, 2, 0})}},
      {"ConvTranspose",
       "",
       {{{"b", n(2), "l"}, {2, 2, 5}}, {{n(2), n(3), n(4)}, {2, 3, 4}}},
       {attribute("strides", std::vector<std::int64_t>{2}),
        attribute("pads", std::vector<std::int64_t>{0, 3}),
        attribute("output_padding", std::vector<std::int64_t>{1})}},
      {"ConvTranspose",
       "",
       {{{"b", n(2), "d", "h", "w"}, {1, 2, 3, 2, 4}},
        {{n(2), n(1), n(2), n(3), n(2)}, {2, 1, 2, 3, 2}}},
       {attribute("strides", std::vector<std::int64_t>{2, 1, 2})}},
      {"LSTM",
       "",
       {{{"t", "b", n(3)}, {4, 2, 3}},
        {{n(2), n(8), n(3)}, {2, 8, 3}},
        {{n(2), n(8), n(2)}, {2, 8, 2}}},
       {attribute("direction", "bidirectional"), attribute("hidden_size", 2)}},
      {"GRU",
       "",
       {{{"b", "t", n(3)}, {2, 4, 3}},
        {{n(1), n(6), n(3)}, {1, 6, 3}},
        {{n(1), n(6), n(2)}, {1, 6, 2}}},
       {attribute("layout", 1), attribute("hidden_size", 2)}},
      {"Attention",
       "",
       {{{"b", "q", n(8)}, {2, 3, 8}},
        {{"b", "k", n(4)}, {2, 5, 4}},
        {{"b", "k", n(4)}, {2, 5, 4}},
        {{"q", "other"}, {3, 5}}},
       {attribute("q_num_heads", 2), attribute("kv_num_heads", 1), attribute("is_causal", 1)}},
      {"MultiHeadAttention",
       kMicrosoft,
       {{{"b", "q", n(8)}, {2, 3, 8}},
        {{"b", "k", n(8)}, {2, 5, 8}},
        {{"b", "k", n(8)}, {2, 5, 8}}},
       {attribute("num_heads", 2)}},
      {"SkipLayerNormalization",
       kMicrosoft,
       {{{"b", "l", n(4)}, {2, 3, 4}}, {{"b", "l", n(4)}, {2, 3, 4}}, {{n(4)}, {4}}},
       {}},
  };
  for (const Symbolic& c : cases) {
    BOOST_TEST_CONTEXT(c.op << " " << c.operands[0].second.size()) {
      // Operands in [-1, 1] with few bits, so that they are exact in all dtypes.
      const auto run = [&](DType dtype, bool symbolic) {
        GraphBuilder graph;
        std::vector<std::string> names;
        NamedTensors feeds;
        for (std::size_t i = 0; i < c.operands.size(); ++i) {
          const auto& [sizes, concrete] = c.operands[i];
          names.push_back("x" + std::to_string(i));
          graph.input(
              names[i], dtype,
              symbolic ? sizes : std::vector<testing::OnnxSize>(concrete.begin(), concrete.end()));
          Tensor value = integer_tensor(concrete, i + 1, -8, 9).to(DType::f32);
          for (float& x :
               std::span(value.mutable_data<float>(), static_cast<std::size_t>(value.numel())))
            x /= 8;
          feeds.emplace_back(names[i], value.to(dtype));
        }
        graph.node(c.op, names, {"y"}, c.attributes, c.domain).output("y");
        const Tensor y = run_model(read_model(graph, 23), feeds)["y"];
        BOOST_TEST((y.dtype() == dtype));
        return y;
      };
      const Tensor expected = run(DType::f32, false);
      BOOST_TEST(testing::expect_close(run(DType::f32, true), expected));
      BOOST_TEST(testing::expect_close(run(DType::f64, true), expected,
                                       {.absolute = 1e-5, .relative = 1e-5}));
      BOOST_TEST(testing::expect_close(run(DType::f16, true), expected,
                                       {.absolute = 1e-3, .relative = 1e-3}));
      BOOST_TEST(testing::expect_close(run(DType::bf16, true), expected,
                                       {.absolute = 1e-2, .relative = 1e-2}));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_stride_beyond_the_kernel_leaves_zeros_between_the_elements) {
  const GraphBuilder graph = GraphBuilder()
                                 .input("x", DType::f32, {std::int64_t{1}, std::int64_t{1}, "l"})
                                 .initializer("w", Tensor::of<float>({1, 1, 1}, {2}))
                                 .node("ConvTranspose", {"x", "w"}, {"y"},
                                       {attribute("auto_pad", "SAME_UPPER"),
                                        attribute("strides", std::vector<std::int64_t>{3})})
                                 .output("y");
  const Tensor y = run_model(read_model(graph), {{"x", Tensor::of<float>({1, 1, 2}, {1, 2})}})["y"];
  BOOST_TEST(y.to_vector<float>() == (std::vector<float>{2, 0, 0, 4, 0, 0}));
}

BOOST_AUTO_TEST_CASE(layer_normalization_of_onnx_runtime_is_read_in_every_opset) {
  const auto run = [](std::int64_t opset) {
    const GraphBuilder graph = GraphBuilder()
                                   .input("x", DType::f32, {"b", std::int64_t{4}})
                                   .initializer("g", Tensor::of<float>({4}, {1, 2, 3, 4}))
                                   .node("LayerNormalization", {"x", "g"}, {"y"})
                                   .output("y");
    return run_model(read_model(graph, opset), {{"x", normal_tensor({3, 4}, 1)}})["y"];
  };
  BOOST_TEST(testing::expect_same_bits(run(11), run(17)));
}

BOOST_AUTO_TEST_CASE(unsupported_settings_are_named) {
  const std::int64_t one = 1, two = 2, four = 4;
  const auto conv = [&](std::vector<onnx_proto::Attribute> attributes, const char* op = "Conv") {
    return [=] {
      read_model(GraphBuilder()
                     .input("x", DType::f32, {one, two, "l"})
                     .input("w", DType::f32, {two, two, four})
                     .node(op, {"x", "w"}, {"y"}, attributes)
                     .output("y"));
    };
  };
  const auto integers = [](std::vector<std::int64_t> values) { return values; };
  check_error<FormatError>(conv({attribute("auto_pad", "HALF")}),
                           {"model.onnx:1, Conv: ", "Conv with auto_pad 'HALF' is not supported"});
  check_error<FormatError>(conv({attribute("pads", integers({1}))}),
                           {"pads must have 2 elements, but has 1"});
  check_error<FormatError>(conv({attribute("pads", integers({1, -1}))}),
                           {"pads must not be negative, but one element is -1"});
  check_error<FormatError>(conv({attribute("strides", integers({0}))}),
                           {"strides must be positive, but one element is 0"});
  check_error<FormatError>(
      conv({attribute("kernel_shape", integers({3}))}),
      {"kernel_shape is 3 for spatial axis 0, but the weight is f32[2, 2, 4]"});
  check_error<FormatError>(conv({attribute("output_shape", integers({8}))}, "ConvTranspose"),
                           {"output_shape and an input of symbolic size"});
  check_error<FormatError>(conv({attribute("output_padding", integers({1}))}, "ConvTranspose"),
                           {"output_padding must be less than the stride or the dilation"});

  check_error<FormatError>(
      [&] {
        read_model(GraphBuilder()
                       .input("x", DType::f32, {one, two, "l"})
                       .input("w", DType::f32, {two, two, four})
                       .node("FusedConv", {"x", "w"}, {"y"},
                             {attribute("activation", "Clip"),
                              attribute("activation_params", std::vector<double>{1})},
                             kMicrosoft)
                       .output("y"));
      },
      {"activation_params of Clip must have 2 elements, but has 1"});

  check_error<FormatError>(
      [&] {
        read_model(GraphBuilder()
                       .input("x", DType::f32, {one, one, "d", one, one})
                       .input("w", DType::f32, {one, one, std::int64_t{1} << 40, one, one})
                       .node("Conv", {"x", "w"}, {"y"})
                       .output("y"));
      },
      {"Conv with a kernel of size 1099511627776 is not supported"});

  const auto lstm = [&](std::vector<onnx_proto::Attribute> attributes) {
    return [=] {
      read_model(GraphBuilder()
                     .input("x", DType::f32, {"t", "b", two})
                     .input("w", DType::f32, {one, std::int64_t{8}, two})
                     .input("r", DType::f32, {one, std::int64_t{8}, two})
                     .node("LSTM", {"x", "w", "r"}, {"y"}, attributes)
                     .output("y"));
    };
  };
  check_error<FormatError>(lstm({attribute("direction", "sideways")}),
                           {"LSTM with direction 'sideways' is not supported"});
  check_error<FormatError>(lstm({attribute("hidden_size", 3)}),
                           {"R is f32[1, 8, 2], but must be [1, 4 hidden_size, hidden_size]"});

  const auto heads = [&](const char* op, std::vector<onnx_proto::Attribute> attributes) {
    return [=] {
      read_model(GraphBuilder()
                     .input("x", DType::f32, {"b", "l", std::int64_t{8}})
                     .node(op, {"x", "x", "x"}, {"y"}, attributes, kMicrosoft)
                     .output("y"));
    };
  };
  check_error<FormatError>(heads("MultiHeadAttention", {attribute("num_heads", 3)}),
                           {"the last axis of f32[b, l, 8] is not a multiple of 3 heads"});
  check_error<FormatError>(
      heads("GroupQueryAttention",
            {attribute("num_heads", 2), attribute("kv_num_heads", 2), attribute("causal", 0)}),
      {"GroupQueryAttention with causal = 0 is not supported"});
  check_error<FormatError>(
      heads("GroupQueryAttention",
            {attribute("num_heads", std::int64_t{1} << 62), attribute("kv_num_heads", 1)}),
      {"the numbers of heads must be positive, but one is 4611686018427387904"});
  check_error<FormatError>(
      heads("Attention", {attribute("num_heads", 2), attribute("do_rotary", 1)}),
      {"Attention with do_rotary = 1 is not supported"});
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
