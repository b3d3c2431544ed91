#include <boost/test/unit_test.hpp>

#include "weft/core/error.h"
#include "weft/tests/onnx/onnx_model.h"
#include "weft/tests/support/messages.h"

namespace weft {
namespace {

using testing::attribute;
using testing::check_error;
using testing::GraphBuilder;
using testing::read_model;
using testing::run_model;

BOOST_AUTO_TEST_SUITE(read_onnx_file)

BOOST_AUTO_TEST_CASE(shape_of_a_symbolic_input_is_computed_when_the_program_runs) {
  const OnnxModel model = read_model(GraphBuilder()
                                         .input("x", DType::f32, {"batch", "", std::int64_t{2}})
                                         .node("Shape", {"x"}, {"shape"})
                                         .node("Size", {"x"}, {"size"})
                                         .output("shape")
                                         .output("size"));
  BOOST_TEST(model.checkpoint.graph().find_input("x").type().str() == "f32[batch, x.1, 2]");
  const Results results = run_model(model, {{"x", Tensor::zeros(DType::f32, {3, 4, 2})}});
  BOOST_TEST(results["shape"].to_vector<std::int64_t>() == (std::vector<std::int64_t>{3, 4, 2}));
  BOOST_TEST(results["size"].item<std::int64_t>() == 24);
}

BOOST_AUTO_TEST_CASE(floating_initialisers_are_parameters_and_integers_are_constants) {
  const GraphBuilder graph = GraphBuilder()
                                 .initializer("w", Tensor::of<float>({2}, {1, 2}))
                                 .initializer("n", Tensor::of<std::int64_t>({1}, {7}))
                                 .node("Identity", {"w"}, {"a"})
                                 .node("Identity", {"n"}, {"b"})
                                 .output("a")
                                 .output("b");
  const OnnxModel model = read_model(graph);
  BOOST_REQUIRE_EQUAL(model.checkpoint.graph().parameters().size(), 1);
  BOOST_TEST(model.checkpoint.graph().parameters()[0].name() == "w");
  const Results results = run_model(model, {});
  BOOST_TEST(results["a"].to_vector<float>() == (std::vector<float>{1, 2}));
  BOOST_TEST(results["b"].to_vector<std::int64_t>() == (std::vector<std::int64_t>{7}));
  OnnxReadOptions frozen;
  frozen.trainable = false;
  BOOST_TEST(read_model(graph, 17, frozen).checkpoint.graph().parameters().empty());
}

BOOST_AUTO_TEST_CASE(unknown_operators_and_settings_are_rejected_by_name) {
  const auto read = [](const GraphBuilder& graph) { return [graph] { read_model(graph); }; };
  check_error<FormatError>(
      read(GraphBuilder().input("x", DType::f32, {}).node("Frobnicate", {"x"}, {"y"}).output("y")),
      {"model.onnx:1, Frobnicate: operator Frobnicate of the default domain is not supported"});
  check_error<FormatError>(read(GraphBuilder()
                                    .input("x", DType::f32, {})
                                    .node("Identity", {"x"}, {"y"}, {attribute("speed", 3)})
                                    .output("y")),
                           {"Identity with attribute 'speed' is not supported"});
  check_error<FormatError>(read(GraphBuilder().node("Identity", {"x"}, {"y"}).output("y")),
                           {"'x' is used before it is defined in the main graph"});
}

BOOST_AUTO_TEST_CASE(fixed_sizes_are_those_of_the_values) {
  const GraphBuilder graph = GraphBuilder()
                                 .input("x", DType::f32, {"n", std::int64_t{2}})
                                 .input("z", DType::f32, {"n"})
                                 .node("Identity", {"x"}, {"y"})
                                 .node("Identity", {"z"}, {"u"})
                                 .output("y")
                                 .output("u");
  OnnxReadOptions options;
  options.input_values["x"] = Tensor::zeros(DType::f32, {3, 2});
  BOOST_TEST(read_model(graph, 17, options).checkpoint.graph().find_input("x").shape().str() ==
             "[n, 2]");
  options.fixed_sizes = true;
  const OnnxModel model = read_model(graph, 17, options);
  BOOST_TEST(model.checkpoint.graph().find_input("x").shape().str() == "[3, 2]");
  BOOST_TEST(model.checkpoint.graph().find_input("z").shape().str() == "[3]");

  const auto check = [&](const Tensor& value, const std::string& message) {
    options.input_values["x"] = value;
    check_error<FormatError>([&] { read_model(graph, 17, options); }, {message});
  };
  check(Tensor::zeros(DType::f32, {3, 4}),
        "input 'x' is f32[3, 4] in OnnxReadOptions::input_values, but the size of axis 1 is 2");
  check(Tensor::zeros(DType::f32, {3}), "but the file declares rank 2");
  check(Tensor::zeros(DType::f64, {3, 2}),
        "input 'x' is f32, but OnnxReadOptions::input_values has f64[3, 2]");
  options.input_values["x"] = Tensor::zeros(DType::f32, {3, 2});
  options.sizes["n"] = 4;
  check_error<FormatError>([&] { read_model(graph, 17, options); },
                           {"but the size of axis 0 is 4"});
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
