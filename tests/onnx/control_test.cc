#include <boost/test/unit_test.hpp>

#include "weft/autodiff/check_gradients.h"
#include "weft/core/error.h"
#include "weft/tests/onnx/one_node.h"
#include "weft/tests/support/messages.h"
#include "weft/tests/support/numbers.h"

namespace weft {
namespace {

using testing::attribute;
using testing::check_error;
using testing::elements_of;
using testing::f32;
using testing::GraphBuilder;
using testing::i64;
using testing::Numbers;
using testing::read_model;
using testing::run_model;

Tensor truth(bool value) { return Tensor::scalar(DType::boolean, value); }

bool has_op(const OnnxModel& model, std::string_view op) {
  for (const Node* node : model.checkpoint.program("predict").nodes())
    if (node->op().name == op) return true;
  return false;
}

void check_output(const Results& results, std::string_view name, const Numbers& expected) {
  BOOST_TEST(elements_of(results[name]) == expected, boost::test_tools::per_element());
}

void check_all_gradients(const OnnxModel& model, std::string_view output,
                         const std::vector<std::string>& wrt, const NamedTensors& feeds) {
  const Program& program = model.checkpoint.program("predict");
  Graph& graph = model.checkpoint.graph();
  std::vector<Value> values;
  GradientCheckOptions options;
  for (const auto& [name, tensor] : feeds) options.feeds.emplace_back(name, tensor);
  for (const auto& [name, tensor] : model.checkpoint.tensors())
    options.variables.emplace_back(name, tensor);
  for (const std::string& name : wrt) {
    values.push_back(graph.has_variable(name) ? Value(graph.find_variable(name))
                                              : graph.find_input(name));
  }
  for (const auto& [name, value] : program.outputs())
    if (name == output) BOOST_TEST(check_gradients(value, values, options));
}

BOOST_AUTO_TEST_SUITE(onnx_control)

GraphBuilder times_w() {
  return GraphBuilder().node("Mul", {"x", "w"}, {"then_y"}).output("then_y");
}
GraphBuilder negative() { return GraphBuilder().node("Neg", {"x"}, {"else_y"}).output("else_y"); }

GraphBuilder if_model(const GraphBuilder& then, const GraphBuilder& otherwise) {
  return GraphBuilder()
      .input("c", DType::boolean, {})
      .input("x", DType::f32, {std::int64_t{2}})
      .initializer("w", f32({2}, {10, 20}))
      .node("If", {"c"}, {"y"},
            {attribute("then_branch", then.graph), attribute("else_branch", otherwise.graph)})
      .output("y");
}

BOOST_AUTO_TEST_CASE(if_with_a_condition_from_data_is_a_branch_of_the_graph) {
  const OnnxModel model = read_model(if_model(times_w(), negative()));
  BOOST_TEST(has_op(model, "cond"));
  const Tensor x = f32({2}, {1, 2});
  check_output(run_model(model, {{"c", truth(true)}, {"x", x}}), "y", {10, 40});
  check_output(run_model(model, {{"c", truth(false)}, {"x", x}}), "y", {-1, -2});
  check_all_gradients(model, "y", {"x", "w"}, {{"c", truth(true)}, {"x", x}});
}

BOOST_AUTO_TEST_CASE(if_with_a_known_condition_reads_only_one_branch) {
  const GraphBuilder unknown = GraphBuilder().node("Frobnicate", {"x"}, {"z"}).output("z");
  GraphBuilder model = if_model(times_w(), unknown);
  model.graph.mutable_input()->DeleteSubrange(0, 1);
  model.initializer("c", truth(true));
  check_output(run_model(read_model(model), {{"x", f32({2}, {1, 2})}}), "y", {10, 40});
  model.graph.mutable_initializer()->RemoveLast();
  model.initializer("c", truth(false));
  check_error<FormatError>([&] { read_model(model); },
                           {"model.onnx:1, If: ",
                            "model.onnx:1, Frobnicate: operator Frobnicate "
                            "of the default domain is not supported"});
}

BOOST_AUTO_TEST_CASE(branches_of_different_shapes_need_the_value_of_the_condition) {
  const GraphBuilder longer =
      GraphBuilder().node("Concat", {"x", "x"}, {"z"}, {attribute("axis", 0)}).output("z");
  const GraphBuilder model = if_model(longer, negative());
  BOOST_CHECK_THROW(read_model(model), FormatError);
  OnnxReadOptions options;
  options.input_values["c"] = truth(true);
  options.input_values["x"] = f32({2}, {0, 0});
  const OnnxModel fixed = read_model(model, 17, options);
  BOOST_TEST(fixed.fixed_inputs == std::vector<std::string>{"c"});
  check_output(run_model(fixed, {{"x", f32({2}, {1, 2})}}), "y", {1, 2, 1, 2});
}

// for i < trip_count: h = h * w + i; outputs: the last h, and 2 h for each step
GraphBuilder loop_model() {
  const GraphBuilder body = GraphBuilder()
                                .input("i", DType::i64, {})
                                .input("go", DType::boolean, {})
                                .input("h", DType::f32, {std::int64_t{2}})
                                .node("Cast", {"i"}, {"f"}, {attribute("to", 1)})
                                .node("Mul", {"h", "w"}, {"hw"})
                                .node("Add", {"hw", "f"}, {"next"})
                                .node("Add", {"next", "next"}, {"twice"})
                                .node("Identity", {"go"}, {"go_on"})
                                .output("go_on")
                                .output("next")
                                .output("twice");
  return GraphBuilder()
      .input("x", DType::f32, {"n", std::int64_t{2}})
      .initializer("w", f32({2}, {2, 3}))
      .initializer("h0", f32({2}, {1, 1}))
      .initializer("zero", i64({}, {0}))
      .initializer("yes", truth(true))
      .node("Shape", {"x"}, {"shape"})
      .node("Gather", {"shape", "zero"}, {"steps"})
      .node("Loop", {"steps", "yes", "h0"}, {"last", "all"}, {attribute("body", body.graph)})
      .output("last")
      .output("all");
}

BOOST_AUTO_TEST_CASE(a_loop_with_a_symbolic_trip_count_is_a_differentiable_scan) {
  const OnnxModel model = read_model(loop_model());
  BOOST_TEST(has_op(model, "scan"));
  const NamedTensors feeds = {{"x", Tensor::zeros(DType::f32, {3, 2})}};
  const Results results = run_model(model, feeds);
  check_output(results, "last", {12, 32});
  check_output(results, "all", {4, 6, 10, 20, 24, 64});
  OnnxReadOptions three;
  three.sizes["n"] = 3;
  check_all_gradients(read_model(loop_model(), 17, three), "all", {"w", "h0"}, {});
  const Results nothing = run_model(model, {{"x", Tensor::zeros(DType::f32, {0, 2})}});
  check_output(nothing, "last", {1, 1});
  BOOST_TEST(nothing["all"].sizes() == (Sizes{0, 2}));
}

// A scan of this body fails because the carry grows. The initialisers are then used again.
BOOST_AUTO_TEST_CASE(a_loop_whose_carry_grows_is_unrolled) {
  const GraphBuilder body = GraphBuilder()
                                .input("i", DType::i64, {})
                                .input("go", DType::boolean, {})
                                .input("h", DType::f32, {"m"})
                                .initializer("b", f32({1}, {8}))
                                .node("Add", {"w", "b"}, {"wb"})
                                .node("Concat", {"h", "wb"}, {"next"}, {attribute("axis", 0)})
                                .node("Less", {"i", "three"}, {"go_on"})
                                .output("go_on")
                                .output("next");
  const OnnxModel model =
      read_model(GraphBuilder()
                     .input("x", DType::f32, {std::int64_t{1}})
                     .initializer("three", i64({}, {3}))
                     .initializer("many", i64({}, {10}))
                     .initializer("w", f32({1}, {2}))
                     .initializer("yes", truth(true))
                     .node("Loop", {"many", "yes", "x"}, {"y"}, {attribute("body", body.graph)})
                     .output("y"));
  check_output(run_model(model, {{"x", f32({1}, {7})}}), "y", {7, 10, 10, 10, 10});
  BOOST_TEST(model.checkpoint.tensors().size() == 2);  // b is shared by the steps
}

// while (h < bound && i < limit) h = h + h
GraphBuilder while_model(bool with_stacked_output) {
  GraphBuilder body = GraphBuilder()
                          .input("i", DType::i64, {})
                          .input("go", DType::boolean, {})
                          .input("h", DType::f32, {})
                          .node("Add", {"h", "h"}, {"next"})
                          .node("Less", {"next", "bound"}, {"go_on"})
                          .output("go_on")
                          .output("next");
  if (with_stacked_output) body.output("h");
  GraphBuilder model = GraphBuilder()
                           .input("h0", DType::f32, {})
                           .input("bound", DType::f32, {})
                           .input("limit", DType::i64, {std::int64_t{1}})
                           .initializer("yes", truth(true));
  model.node(
      "Loop", {"limit", "yes", "h0"},
      with_stacked_output ? std::vector<std::string>{"h", "all"} : std::vector<std::string>{"h"},
      {attribute("body", body.graph)});
  return with_stacked_output ? model.output("all") : model.output("h");
}

BOOST_AUTO_TEST_CASE(a_loop_with_a_condition_from_data_is_a_while_loop) {
  const OnnxModel model = read_model(while_model(false));
  BOOST_TEST(has_op(model, "while_loop"));
  const auto run = [&](double bound, double limit) {
    return run_model(model, {{"h0", f32({}, {1})},
                             {"bound", f32({}, {bound})},
                             {"limit", i64({1}, {limit})}})["h"]
        .at(0);
  };
  BOOST_TEST(run(100, 1000) == 128);
  BOOST_TEST(run(100, 3) == 8);
  BOOST_TEST(run(100, 0) == 1);
  // A known number of steps is only a limit.
  GraphBuilder limited = while_model(false);
  limited.graph.mutable_input()->RemoveLast();
  limited.initializer("limit", i64({1}, {10}));
  const Results results =
      run_model(read_model(limited), {{"h0", f32({}, {1})}, {"bound", f32({}, {100})}});
  BOOST_TEST(results["h"].at(0) == 128);
}

BOOST_AUTO_TEST_CASE(a_loop_with_stacked_outputs_and_an_unknown_number_of_steps_is_rejected) {
  check_error<FormatError>(
      [] { read_model(while_model(true)); },
      {"model.onnx:1, Loop: a Loop whose number of steps depends on data", "is not supported"});
}

BOOST_AUTO_TEST_CASE(scan_follows_axes_and_directions) {
  const GraphBuilder body = GraphBuilder()
                                .input("s", DType::f32, {})
                                .input("a", DType::f32, {})
                                .input("b", DType::f32, {})
                                .node("Mul", {"a", "b"}, {"ab"})
                                .node("Add", {"s", "ab"}, {"sum"})
                                .node("Identity", {"sum"}, {"partial"})
                                .node("Unsqueeze", {"partial", "axis"}, {"row"})
                                .output("sum")
                                .output("row")
                                .output("ab");
  const auto read = [&](std::int64_t a, std::int64_t b) {
    return read_model(
        GraphBuilder()
            .input("a", DType::f32, {std::int64_t{3}})
            .input("b", DType::f32, {"n"})
            .initializer("s", f32({}, {0}))
            .initializer("axis", i64({1}, {0}))
            .node("Scan", {"s", "a", "b"}, {"last", "rows", "products"},
                  {attribute("body", body.graph), attribute("num_scan_inputs", 2),
                   attribute("scan_input_directions", std::vector<std::int64_t>{a, b}),
                   attribute("scan_output_axes", std::vector<std::int64_t>{1, -1}),
                   attribute("scan_output_directions", std::vector<std::int64_t>{0, 1})})
            .output("last")
            .output("rows")
            .output("products"));
  };
  const NamedTensors feeds = {{"a", f32({3}, {1, 2, 3})}, {"b", f32({3}, {1, 10, 100})}};
  const Results mixed = run_model(read(0, 1), feeds);
  check_output(mixed, "last", {123});
  BOOST_TEST(mixed["rows"].sizes() == (Sizes{1, 3}));
  check_output(mixed, "rows", {100, 120, 123});
  check_output(mixed, "products", {3, 20, 100});
  const Results backward = run_model(read(1, 1), feeds);
  check_output(backward, "rows", {300, 320, 321});
  check_output(backward, "products", {1, 20, 300});
  const OnnxModel forward = read(0, 0);
  check_output(run_model(forward, feeds), "products", {300, 20, 1});
  check_all_gradients(forward, "rows", {"a", "b"}, feeds);
}

BOOST_AUTO_TEST_CASE(sizes_that_a_body_computes_are_known) {
  // The body reshapes with a shape that it computes from a size outside.
  const GraphBuilder body = GraphBuilder()
                                .input("i", DType::i64, {})
                                .input("go", DType::boolean, {})
                                .input("h", DType::f32, {"n", std::int64_t{2}})
                                .node("Mul", {"rows", "two"}, {"count"})
                                .node("Reshape", {"h", "count"}, {"flat"})
                                .node("Add", {"flat", "flat"}, {"sum"})
                                .node("Shape", {"x"}, {"inside"})
                                .node("Reshape", {"sum", "inside"}, {"next"})
                                .output("go")
                                .output("next");
  const OnnxModel model =
      read_model(GraphBuilder()
                     .input("x", DType::f32, {"n", std::int64_t{2}})
                     .initializer("two", i64({1}, {2}))
                     .initializer("steps", i64({}, {3}))
                     .node("Shape", {"x"}, {"rows"}, {attribute("end", 1)})
                     .node("Loop", {"steps", "", "x"}, {"y"}, {attribute("body", body.graph)})
                     .output("y"));
  BOOST_TEST(has_op(model, "scan"));
  check_output(run_model(model, {{"x", f32({1, 2}, {1, 2})}}), "y", {8, 16});
}

BOOST_AUTO_TEST_CASE(sequences_are_resolved_when_the_file_is_read) {
  const OnnxModel model =
      read_model(GraphBuilder()
                     .input("x", DType::f32, {std::int64_t{5}})
                     .initializer("two", i64({}, {2}))
                     .initializer("last", i64({}, {-1}))
                     .node("SplitToSequence", {"x", "two"}, {"parts"})
                     .node("SequenceLength", {"parts"}, {"length"})
                     .node("SequenceAt", {"parts", "last"}, {"tail"})
                     .node("SequenceInsert", {"parts", "tail", "last"}, {"more"})
                     .node("SequenceErase", {"more", "last"}, {"fewer"})
                     .node("ConcatFromSequence", {"more"}, {"y"}, {attribute("axis", 0)})
                     .output("length")
                     .output("y")
                     .output("fewer"));
  const Results results = run_model(model, {{"x", f32({5}, {1, 2, 3, 4, 5})}});
  check_output(results, "length", {3});
  check_output(results, "y", {1, 2, 3, 4, 5, 5});
  check_output(results, "fewer.0", {1, 2});
  check_output(results, "fewer.2", {5});
  BOOST_TEST(!results.contains("fewer.3"));
}

// -- Functions ------------------------------------------------------------------------------------

// custom.Scaled(x, b?) {scale, bias = 1}: x * scale + bias
onnx_proto::Model function_model(const std::vector<onnx_proto::Attribute>& attributes,
                                 const std::string& inner = "Mul") {
  onnx_proto::Model model = onnx_model(GraphBuilder()
                                           .input("x", DType::f32, {std::int64_t{2}})
                                           .node("Scaled", {"x"}, {"y"}, attributes, "custom")
                                           .output("y"));
  auto& import = *model.add_opset_import();
  import.set_domain("custom");
  import.set_version(1);
  auto& function = *model.add_functions();
  function.set_name("Scaled");
  function.set_domain("custom");
  function.add_input("x");
  function.add_input("b");
  function.add_output("out");
  function.add_attribute("scale");
  *function.add_attribute_proto() = attribute("bias", 1.0);
  const auto reference = [](const char* name, const char* of) {
    onnx_proto::Attribute a;
    a.set_name(name);
    a.set_type(onnx_proto::Attribute::FLOAT);
    a.set_ref_attr_name(of);
    return a;
  };
  std::vector<onnx_proto::Attribute> call_attributes;
  if (inner != "Mul") call_attributes.push_back(reference("scale", "scale"));
  GraphBuilder body;
  body.node("Constant", {}, {"s"}, {reference("value_float", "scale")})
      .node("Constant", {}, {"c"}, {reference("value_float", "bias")})
      .node(inner, {"x", "s"}, {"xs"}, call_attributes, inner == "Mul" ? "" : "custom")
      .node("Clip", {"xs", "", "b"}, {"clipped"})
      .node("Add", {"clipped", "c"}, {"out"});
  *function.mutable_node() = body.graph.node();
  auto& version = *function.add_opset_import();
  version.set_version(13);
  *function.add_opset_import() = import;
  return model;
}

BOOST_AUTO_TEST_CASE(functions_receive_attributes_and_optional_operands) {
  const NamedTensors feeds = {{"x", f32({2}, {1, 2})}};
  check_output(run_model(read_model(function_model({attribute("scale", 3.0)})), feeds), "y",
               {4, 7});
  check_output(
      run_model(read_model(function_model({attribute("scale", 3.0), attribute("bias", 0.5)})),
                feeds),
      "y", {3.5, 6.5});
  check_error<FormatError>([] { read_model(function_model({attribute("speed", 3.0)})); },
                           {"model.onnx:1, custom.Scaled: the function has no attribute 'speed'"});
  check_error<FormatError>([] { read_model(function_model({})); },
                           {"attribute 'value' is missing"});
}

BOOST_AUTO_TEST_CASE(functions_that_call_themselves_are_rejected) {
  check_error<FormatError>(
      [] { read_model(function_model({attribute("scale", 3.0)}, "Scaled")); },
      {"functions and bodies are nested more than 64 times, or call themselves"});
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
