// Shapes that a file computes from symbolic sizes, as exporters write them.
#include <boost/test/unit_test.hpp>

#include "weft/core/error.h"
#include "weft/tests/onnx/one_node.h"
#include "weft/tests/support/messages.h"

namespace weft {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace)

BOOST_AUTO_TEST_SUITE(onnx_symbolic_shapes)

std::string type_of(const OnnxModel& model, std::string_view name) {
  return model.checkpoint.graph().find_named(name).type().str();
}

Tensor counted(const Sizes& sizes) {
  Tensor t = Tensor::empty(DType::f32, sizes);
  for (std::int64_t i = 0; i < t.numel(); ++i) t.mutable_data<float>()[i] = static_cast<float>(i);
  return t;
}

/// A graph with the input x and constants.
GraphBuilder with_constants(const std::vector<OnnxSize>& x,
                            const std::vector<std::pair<std::string, Tensor>>& constants) {
  GraphBuilder graph;
  graph.input("x", DType::f32, x);
  for (const auto& [name, value] : constants) graph.initializer(name, value);
  return graph;
}

const Tensor kZero = i64({}, {0}), kOne = i64({}, {1}), kFirst = i64({1}, {0});

BOOST_AUTO_TEST_CASE(heads_are_split_by_gathered_sizes) {
  const OnnxModel model = read_model(
      with_constants({"batch", "seq", std::int64_t{6}}, {{"zero", kZero},
                                                         {"one", kOne},
                                                         {"first", kFirst},
                                                         {"heads", i64({1}, {2})},
                                                         {"rest", i64({1}, {-1})}})
          .node("Shape", {"x"}, {"shape"})
          .node("Gather", {"shape", "zero"}, {"b"})
          .node("Gather", {"shape", "one"}, {"s"})
          .node("Unsqueeze", {"b", "first"}, {"b1"})
          .node("Unsqueeze", {"s", "first"}, {"s1"})
          .node("Concat", {"b1", "s1", "heads", "rest"}, {"split"}, {attribute("axis", 0)})
          .node("Reshape", {"x", "split"}, {"y"})
          .node("Mul", {"b", "s"}, {"rows"})
          .node("Unsqueeze", {"rows", "first"}, {"rows1"})
          .node("Concat", {"rows1", "rest"}, {"flat"}, {attribute("axis", 0)})
          .node("Reshape", {"y", "flat"}, {"z"})
          .output("y")
          .output("z"));
  BOOST_TEST(type_of(model, "y") == "f32[batch, seq, 2, 3]");
  BOOST_TEST(type_of(model, "z") == "f32[batch*seq, 6]");
  for (const Sizes& sizes : {Sizes{1, 1, 6}, Sizes{2, 3, 6}}) {
    const Results results = run_model(model, {{"x", counted(sizes)}});
    BOOST_TEST(results["y"].sizes() == (Sizes{sizes[0], sizes[1], 2, 3}));
    BOOST_TEST(bitwise_equal(results["z"], counted({sizes[0] * sizes[1], 6})));
  }
}

// PyTorch: x.view(x.shape[:-1] + (3, 2)), and x.expand(-1, 4, ...).
BOOST_AUTO_TEST_CASE(sliced_shapes_and_masked_sizes_are_recognised) {
  const OnnxModel model = read_model(
      with_constants({"batch", "seq", std::int64_t{6}}, {{"zero", kFirst},
                                                         {"two", i64({1}, {2})},
                                                         {"tail", i64({2}, {3, 2})},
                                                         {"kept", i64({3}, {-1, 4, 1})},
                                                         {"one", i64({1}, {1})},
                                                         {"minus", i64({}, {-1})},
                                                         {"three", i64({1}, {3})}})
          .node("Shape", {"x"}, {"shape"})
          .node("Slice", {"shape", "zero", "two"}, {"lead"})
          .node("Concat", {"lead", "tail"}, {"view"}, {attribute("axis", 0)})
          .node("Reshape", {"x", "view"}, {"y"})
          // The first element of each row as [batch, 1, 1], repeated.
          .node("Slice", {"x", "zero", "one", "one"}, {"row"})
          .node("Slice", {"row", "zero", "one", "two"}, {"column"})
          .node("ConstantOfShape", {"three"}, {"ones"}, {attribute("value", i64({1}, {1}))})
          .node("Mul", {"ones", "minus"}, {"minuses"})
          .node("Equal", {"kept", "minuses"}, {"same"})
          .node("Where", {"same", "ones", "kept"}, {"sizes"})
          .node("Expand", {"column", "sizes"}, {"z"})
          .output("y")
          .output("z"));
  BOOST_TEST(type_of(model, "y") == "f32[batch, seq, 3, 2]");
  BOOST_TEST(type_of(model, "z") == "f32[batch, 4, 1]");
  const Results results = run_model(model, {{"x", counted({2, 2, 6})}});
  BOOST_TEST(bitwise_equal(results["y"], counted({2, 2, 3, 2})));
  BOOST_TEST(bitwise_equal(results["z"], f32({2, 4, 1}, {0, 0, 0, 0, 12, 12, 12, 12})));
}

BOOST_AUTO_TEST_CASE(positions_and_masks_have_the_length_of_the_sequence) {
  const OnnxModel model = read_model(
      with_constants(
          {"batch", "seq"},
          {{"zero", kZero}, {"one", kOne}, {"first", kFirst}, {"table", counted({5, 2})}})
          .node("Shape", {"x"}, {"shape"})
          .node("Gather", {"shape", "one"}, {"s"})
          .node("Range", {"zero", "s", "one"}, {"positions"})
          .node("Unsqueeze", {"positions", "first"}, {"row"})
          .node("Expand", {"row", "shape"}, {"ids"})
          .node("Gather", {"table", "ids"}, {"embedded"})
          .node("Unsqueeze", {"s", "first"}, {"s1"})
          .node("Slice", {"table", "first", "s1", "first"}, {"part"})
          .node("Concat", {"s1", "s1"}, {"square"}, {attribute("axis", 0)})
          .node("ConstantOfShape", {"square"}, {"ones"}, {attribute("value", f32({1}, {1}))})
          .node("Trilu", {"ones"}, {"mask"}, {attribute("upper", 0)})
          // Old exporters compute a range as NonZero(ConstantOfShape(n)).
          .node("ConstantOfShape", {"s1"}, {"line"}, {attribute("value", i64({1}, {1}))})
          .node("NonZero", {"line"}, {"places"})
          .output("ids")
          .output("embedded")
          .output("part")
          .output("mask")
          .output("places"));
  BOOST_TEST(type_of(model, "embedded") == "f32[batch, seq, 2]");
  BOOST_TEST(type_of(model, "part") == "f32[seq, 2]");
  BOOST_TEST(type_of(model, "places") == "i64[1, seq]");
  const Results results = run_model(model, {{"x", counted({2, 3})}});
  BOOST_TEST(bitwise_equal(results["ids"], i64({2, 3}, {0, 1, 2, 0, 1, 2})));
  BOOST_TEST(bitwise_equal(results["part"], counted({3, 2})));
  BOOST_TEST(bitwise_equal(results["mask"], f32({3, 3}, {1, 0, 0, 1, 1, 0, 1, 1, 1})));
  BOOST_TEST(bitwise_equal(results["places"], i64({1, 3}, {0, 1, 2})));
  // Slices of symbolic sizes are checked, not clamped.
  check_error<Error>([&] { run_model(model, {{"x", counted({1, 6})}}); }, {"model.onnx:"});
}

BOOST_AUTO_TEST_CASE(sizes_that_must_be_divisible_are_checked_when_they_are_known) {
  const OnnxModel model = read_model(
      with_constants(
          {"n", std::int64_t{2}},
          {{"two", i64({}, {2})}, {"zero", kZero}, {"first", kFirst}, {"pair", i64({2}, {2, 2})}})
          .node("Split", {"x"}, {"a", "b"})
          .node("Add", {"a", "b"}, {"sum"})
          .node("Shape", {"x"}, {"shape"})
          .node("Gather", {"shape", "zero"}, {"n"})
          .node("Div", {"n", "two"}, {"half"})
          .node("Unsqueeze", {"half", "first"}, {"half1"})
          .node("Concat", {"half1", "pair"}, {"windows"}, {attribute("axis", 0)})
          .node("Reshape", {"x", "windows"}, {"y"})
          .output("sum")
          .output("y"));
  const Results results = run_model(model, {{"x", counted({4, 2})}});
  BOOST_TEST(bitwise_equal(results["sum"], f32({2, 2}, {4, 6, 8, 10})));
  BOOST_TEST(bitwise_equal(results["y"], counted({2, 2, 2})));
  check_error<ShapeError>([&] { run_model(model, {{"x", counted({3, 2})}}); }, {"n"});
}

// PyTorch: F.pad(x, (0, (4 - x.shape[1] % 4) % 4)).
BOOST_AUTO_TEST_CASE(axes_are_padded_to_a_multiple) {
  const OnnxModel model =
      read_model(with_constants({"batch", "n"}, {{"one", kOne},
                                                 {"four", i64({}, {4})},
                                                 {"first", kFirst},
                                                 {"zeros", i64({3}, {0, 0, 0})}})
                     .node("Shape", {"x"}, {"shape"})
                     .node("Gather", {"shape", "one"}, {"n"})
                     .node("Mod", {"n", "four"}, {"rest"})
                     .node("Sub", {"four", "rest"}, {"missing"})
                     .node("Mod", {"missing", "four"}, {"added"})
                     .node("Unsqueeze", {"added", "first"}, {"added1"})
                     .node("Concat", {"zeros", "added1"}, {"pads"}, {attribute("axis", 0)})
                     .node("Pad", {"x", "pads"}, {"y"})
                     .output("y"));
  for (const auto& [size, padded] : {std::pair{3, 4}, std::pair{4, 4}, std::pair{5, 8}}) {
    const Results results = run_model(model, {{"x", counted({1, size})}});
    BOOST_TEST(results["y"].sizes() == (Sizes{1, padded}));
  }
}

// x[:, i:i + 2] for a number i that is an input or the counter of a loop.
BOOST_AUTO_TEST_CASE(a_slice_of_known_size_may_begin_at_data) {
  GraphBuilder graph = with_constants(
      {"n", std::int64_t{4}}, {{"one", i64({1}, {1})}, {"first", kFirst}, {"two", i64({}, {2})}});
  graph.input("i", DType::i64, {})
      .node("Unsqueeze", {"i", "first"}, {"begin"})
      .node("Add", {"two", "i"}, {"last"})
      .node("Unsqueeze", {"last", "first"}, {"end"})
      .node("Slice", {"x", "begin", "end", "one"}, {"y"})
      .output("y");
  const OnnxModel model = read_model(graph);
  BOOST_TEST(type_of(model, "y") == "f32[n, 2]");
  const auto run = [&](double i) {
    return run_model(model, {{"x", counted({2, 4})}, {"i", i64({}, {i})}});
  };
  BOOST_TEST(bitwise_equal(run(1)["y"], f32({2, 2}, {1, 2, 5, 6})));
  BOOST_TEST(bitwise_equal(run(-3)["y"], f32({2, 2}, {1, 2, 5, 6})));
  check_error<DataError>([&] { run(3); }, {"out of range"});
}

// Detectors keep the best min(n, 1000) boxes; sorting keeps all.
BOOST_AUTO_TEST_CASE(the_number_of_the_largest_elements_may_be_a_size) {
  const OnnxModel model =
      read_model(with_constants({"n"}, {{"two", i64({1}, {2})}})
                     .node("Shape", {"x"}, {"n"})
                     .node("Min", {"n", "two"}, {"k"})
                     .node("TopK", {"x", "k"}, {"best", "places"})
                     .node("TopK", {"x", "n"}, {"sorted", "order"}, {attribute("largest", 0)})
                     .output("best")
                     .output("places")
                     .output("sorted")
                     .output("order"));
  const Results three = run_model(model, {{"x", f32({3}, {2, 3, 1})}});
  BOOST_TEST(bitwise_equal(three["best"], f32({2}, {3, 2})));
  BOOST_TEST(bitwise_equal(three["places"], i64({2}, {1, 0})));
  BOOST_TEST(bitwise_equal(three["sorted"], f32({3}, {1, 2, 3})));
  BOOST_TEST(bitwise_equal(three["order"], i64({3}, {2, 0, 1})));
  BOOST_TEST(bitwise_equal(run_model(model, {{"x", f32({1}, {7})}})["best"], f32({1}, {7})));
}

// PyTorch exports squeeze(1) of a scripted model as If(size of axis 1 == 1, Squeeze, Identity).
BOOST_AUTO_TEST_CASE(a_number_in_a_symbolic_shape_selects_a_branch) {
  GraphBuilder squeeze, keep;
  squeeze.node("Squeeze", {"x", "axis"}, {"y"}).output("y");
  keep.node("Identity", {"x"}, {"y"}).output("y");
  const OnnxModel model = read_model(
      with_constants({"batch", std::int64_t{1}}, {{"one", kOne}, {"axis", i64({1}, {1})}})
          .node("Shape", {"x"}, {"shape"})
          .node("Gather", {"shape", "one"}, {"size"})
          .node("Equal", {"size", "one"}, {"same"})
          .node("Not", {"same"}, {"differs"})
          .node("If", {"differs"}, {"z"},
                {attribute("then_branch", keep.graph), attribute("else_branch", squeeze.graph)})
          .output("z"));
  BOOST_TEST(type_of(model, "z") == "f32[batch]");
}

// Exporters give the sizes of each input other names.
BOOST_AUTO_TEST_CASE(sizes_that_broadcast_are_required_to_be_equal) {
  const OnnxModel model = read_model(GraphBuilder()
                                         .input("x", DType::f32, {"a", "b"})
                                         .input("y", DType::f32, {"c", "d"})
                                         .input("z", DType::f32, {"", std::int64_t{1}, ""})
                                         .node("Add", {"x", "y"}, {"sum"})
                                         .node("Less", {"x", "z"}, {"less"})
                                         .node("Where", {"less", "x", "z"}, {"chosen"})
                                         .node("MatMul", {"z", "chosen"}, {"product"})
                                         .node("Max", {"x", "y", "z"}, {"largest"})
                                         .output("sum")
                                         .output("product")
                                         .output("largest"));
  const Tensor square = f32({2, 2}, {1, 2, 3, 4});
  const NamedTensors feeds{{"x", square}, {"y", square}, {"z", f32({1, 1, 2}, {2, 2})}};
  const Results results = run_model(model, feeds);
  BOOST_TEST(bitwise_equal(results["sum"], f32({2, 2}, {2, 4, 6, 8})));
  BOOST_TEST(bitwise_equal(results["largest"], f32({1, 2, 2}, {2, 2, 3, 4})));
  BOOST_TEST(bitwise_equal(results["product"], f32({1, 1, 2}, {6, 8})));
  check_error<ShapeError>(
      [&] {
        run_model(model, {{"x", square}, {"y", f32({1, 2}, {1, 2})}, feeds[2]});
      },
      {"a"});
}

BOOST_AUTO_TEST_CASE(operators_compute_with_symbolic_sizes_what_they_compute_with_numbers) {
  const Tensor image = counted({1, 2, 5, 4}), small = i64({4}, {0, 0, 1, 1});
  const auto kernel = attribute("kernel_shape", Sizes{2, 3});
  for (OneNode node : std::initializer_list<OneNode>{
           {"Flatten", 13, {image}},
           {"Transpose", 13, {image}},
           {"Slice",
            13,
            {image, i64({2}, {-2, -1}), i64({2}, {0x1p31, -0x1p63}), i64({2}, {2, 3}),
             i64({2}, {1, -1})}},
           {"Pad", 13, {image, i64({8}, {0, 0, 1, 2, 0, 0, 2, 1})}, {attribute("mode", "reflect")}},
           {"Pad", 19, {image, i64({8}, {0, 0, 1, 2, 0, 0, 2, 1})}, {attribute("mode", "wrap")}},
           {"Tile", 13, {image, i64({4}, {1, 2, 1, 3})}},
           {"SpaceToDepth", 13, {counted({1, 2, 6, 4})}, {attribute("blocksize", 2)}},
           {"Gather", 13, {image, i64({2}, {-1, 2})}, {attribute("axis", 2)}},
           {"GatherElements",
            13,
            {image, i64({1, 2, 1, 4}, {0, -1, 2, 3, 1, 1, 0, -2})},
            {attribute("axis", 2)}},
           {"GatherND", 13, {image, i64({1, 2, 2}, {-1, 2, 1, -1})}, {attribute("batch_dims", 1)}},
           {"ScatterND", 18, {image, i64({1, 3}, {0, -1, 3}), counted({1, 4})}},
           {"ReverseSequence", 10, {counted({4, 3}), i64({3}, {2, 4, 1})}},
           {"Trilu", 14, {image, kOne}},
           {"EyeLike", 9, {counted({3, 4})}, {attribute("k", 1)}},
           {"MaxPool",
            12,
            {image},
            {kernel, attribute("ceil_mode", 1), attribute("strides", Sizes{2, 2})},
            2},
           {"MaxPool",
            12,
            {image},
            {kernel, attribute("dilations", Sizes{2, 1}), attribute("auto_pad", "SAME_UPPER")},
            2},
           {"AveragePool",
            19,
            {image},
            {kernel, attribute("auto_pad", "SAME_LOWER"), attribute("strides", Sizes{2, 2})}},
           {"AveragePool",
            19,
            {image},
            {kernel, attribute("ceil_mode", 1), attribute("strides", Sizes{1, 3}),
             attribute("count_include_pad", 1)}},
           {"GlobalAveragePool", 1, {image}},
           {"Resize", 13, {image, Tensor(), f32({4}, {1, 1, 2, 3})}, {}, 1, {2}},
           {"Resize",
            13,
            {image, Tensor(), f32({4}, {1, 1, 1.5, 0.5})},
            {attribute("mode", "linear")},
            1,
            {2}},
           {"Resize",
            13,
            {image, Tensor(), Tensor(), i64({4}, {1, 2, 3, 7})},
            {attribute("mode", "cubic")}},
           {"GridSample", 20, {image, f32({1, 1, 2, 2}, {0.5, -0.25, -0.7, 0.1})}},
       }) {
    BOOST_TEST_CONTEXT(node.op << " of opset " << node.opset) {
      const Results fixed = run_node(node);
      node.symbolic = true;
      for (const bool constants : {false, true}) {
        node.constants = constants;
        const Results symbolic = run_node(node);
        BOOST_TEST(bitwise_equal(symbolic["y0"], fixed["y0"]));
        if (node.outputs > 1) BOOST_TEST(bitwise_equal(symbolic["y1"], fixed["y1"]));
      }
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
