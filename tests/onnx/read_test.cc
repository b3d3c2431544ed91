#include <boost/test/unit_test.hpp>

#include "weft/core/error.h"
#include "weft/serialization/onnx/tensors.h"
#include "weft/testing/temporary_folder.h"
#include "weft/tests/onnx/onnx_model.h"
#include "weft/tests/support/messages.h"
#include "weft/tests/support/numbers.h"

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

// -- Tensors --------------------------------------------------------------------------------------

onnx_proto::Tensor field_tensor(onnx_proto::Tensor::DataType type,
                                const std::vector<std::int64_t>& dims) {
  onnx_proto::Tensor tensor;
  tensor.set_data_type(type);
  for (const std::int64_t dim : dims) tensor.add_dims(dim);
  return tensor;
}

Tensor read_tensor(const onnx_proto::Tensor& tensor, const std::string& path = "model.onnx") {
  return onnx::TensorReader(path).read(tensor, "t");
}

BOOST_AUTO_TEST_CASE(tensors_with_typed_fields_are_read) {
  using Type = onnx_proto::Tensor;
  const auto check = [](const onnx_proto::Tensor& tensor, const std::string& type,
                        const std::vector<double>& expected) {
    const Tensor read = read_tensor(tensor);
    BOOST_TEST(read.type_str() == type);
    BOOST_TEST(testing::elements_of(read) == expected, boost::test_tools::per_element());
  };
  auto t = field_tensor(Type::FLOAT, {2, 1});
  t.add_float_data(0.5F);
  t.add_float_data(-2);
  check(t, "f32[2, 1]", {0.5, -2});
  t = field_tensor(Type::DOUBLE, {});
  t.add_double_data(1.25);
  check(t, "f64[]", {1.25});
  t = field_tensor(Type::INT64, {1});
  t.add_int64_data(std::int64_t{1} << 40);
  check(t, "i64[1]", {1099511627776.0});
  // f16, bf16, bool, small integers and 4-bit integers are in int32_data.
  struct Case {
    Type::DataType type;
    std::string name;
    std::vector<std::int32_t> data;
    std::vector<double> expected;
  };
  for (const Case& c :
       {Case{Type::INT32, "i32[2]", {7, -7}, {7, -7}},
        Case{Type::INT8, "i8[2]", {-128, 127}, {-128, 127}},
        Case{Type::UINT8, "u8[2]", {0, 255}, {0, 255}}, Case{Type::BOOL, "bool[2]", {0, 2}, {0, 1}},
        Case{Type::FLOAT16, "f16[2]", {0x3c00, 0xc000}, {1, -2}},
        Case{Type::BFLOAT16, "bf16[2]", {0x3f80, 0xc000}, {1, -2}},
        Case{Type::INT4, "i8[2]", {0x8f}, {-1, -8}}, Case{Type::UINT4, "u8[2]", {0x8f}, {15, 8}}}) {
    t = field_tensor(c.type, {2});
    for (const std::int32_t x : c.data) t.add_int32_data(x);
    check(t, c.name, c.expected);
  }
  t = field_tensor(Type::INT4, {3});
  t.set_raw_data("\x21\x0f");
  check(t, "i8[3]", {1, 2, -1});
  t = field_tensor(Type::BOOL, {3});
  t.set_raw_data(std::string("\x00\x01\x05", 3));
  check(t, "bool[3]", {0, 1, 1});
  const Tensor bools = read_tensor(t);
  BOOST_TEST(std::to_integer<int>(bools.raw()[2]) == 1);
}

BOOST_AUTO_TEST_CASE(tensors_that_do_not_match_their_sizes_are_rejected) {
  using Type = onnx_proto::Tensor;
  const auto check = [](const onnx_proto::Tensor& t, const std::string& message) {
    check_error<FormatError>([&] { read_tensor(t); }, {message});
  };
  auto t = field_tensor(Type::FLOAT, {2});
  check(t, "t has 0 elements, but its sizes [2] require 2");
  t.set_raw_data("1234567");
  check(t, "t has 7 bytes of data, but its type f32[2] requires 8");
  t = field_tensor(Type::FLOAT, {-1});
  check(t, "t has the negative size -1");
  t = field_tensor(Type::FLOAT, {std::int64_t{1} << 40, std::int64_t{1} << 40});
  check(t, "overflow");
  check(field_tensor(Type::STRING, {}), "t: tensors of type string are not supported");
  check(field_tensor(Type::UINT16, {}), "t: tensors of type uint16 are not supported");
}

BOOST_AUTO_TEST_CASE(external_data_is_mapped_and_stays_in_the_folder_of_the_model) {
  const testing::TemporaryFolder folder("onnx");
  folder.write("data/weights.bin", std::string(64, '\0') + std::string("\x00\x00\x80\x3f", 4));
  const auto read = [&](const std::string& location, const std::string& offset,
                        const std::string& length) {
    auto t = field_tensor(onnx_proto::Tensor::FLOAT, {1});
    t.set_data_location(onnx_proto::Tensor::EXTERNAL);
    for (const auto& [key, value] :
         {std::pair{"location", location}, {"offset", offset}, {"length", length}}) {
      if (value.empty()) continue;
      auto& entry = *t.add_external_data();
      entry.set_key(key);
      entry.set_value(value);
    }
    return read_tensor(t, folder / "model.onnx");
  };
  const Tensor one = read("data/weights.bin", "64", "4");
  BOOST_TEST(one.item<float>() == 1);
  BOOST_TEST(!one.buffer()->allocated());
  const auto check = [&](const std::string& location, const std::string& offset,
                         const std::string& message) {
    check_error<FormatError>([&] { read(location, offset, ""); }, {message});
  };
  check("data/weights.bin", "65", "is beyond the end of");
  check("data/weights.bin", "18446744073709551615", "does not fit in 64 bits");
  check("data/weights.bin", "4x", "'4x' is not a number of bytes");
  check("../weights.bin", "", "'../weights.bin', is not in the folder of the model");
  check("data/../../w", "", "is not in the folder of the model");
  check("/etc/passwd", "", "'/etc/passwd', is not in the folder of the model");
  check("", "", "is not in the folder of the model");
  BOOST_CHECK_THROW(read("missing.bin", "", ""), IoError);
  check_error<FormatError>([&] { read("data/weights.bin", "", "8"); },
                           {"t has 8 bytes of external data, but its type f32[1] requires 4"});
}

BOOST_AUTO_TEST_CASE(sparse_initialisers_become_dense) {
  GraphBuilder graph;
  auto& sparse = *graph.graph.add_sparse_initializer();
  *sparse.mutable_values() = testing::tensor_message(Tensor::of<float>({2}, {5, 7}), "s");
  sparse.add_dims(2);
  sparse.add_dims(3);
  graph.node("Identity", {"s"}, {"y"}).output("y");
  const auto read = [&](const Tensor& indices) {
    *sparse.mutable_indices() = testing::tensor_message(indices);
    return testing::elements_of(run_model(read_model(graph), {})["y"]);
  };
  const std::vector<double> expected = {0, 5, 0, 0, 0, 7};
  BOOST_TEST(read(Tensor::of<std::int64_t>({2}, {1, 5})) == expected);
  BOOST_TEST(read(Tensor::of<std::int64_t>({2, 2}, {0, 1, 1, 2})) == expected);
  check_error<FormatError>(
      [&] {
        read(Tensor::of<std::int64_t>({2}, {1, 6}));
      },
      {"index 6 of initialiser 's' is out of range"});
  check_error<FormatError>(
      [&] {
        read(Tensor::of<std::int64_t>({2, 2}, {0, 1, 1, 3}));
      },
      {"index 3 of initialiser 's' is out of range"});
  sparse.set_dims(0, std::int64_t{1} << 40);
  check_error<FormatError>(
      [&] {
        read(Tensor::of<std::int64_t>({2}, {1, 5}));
      },
      {"OnnxReadOptions::max_memory permits 4294967296"});
}

// -- Options and files ----------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(only_nodes_of_the_chosen_outputs_are_read) {
  const GraphBuilder graph = GraphBuilder()
                                 .input("x", DType::f32, {"batch size", ""})
                                 .node("Neg", {"x"}, {"hidden"})
                                 .node("Frobnicate", {"hidden"}, {"y"})
                                 .output("y");
  OnnxReadOptions options;
  options.outputs = {"hidden"};
  const OnnxModel model = read_model(graph, 17, options);
  BOOST_TEST(model.checkpoint.graph().find_input("x").shape().str() == "[batch_size, x.1]");
  BOOST_TEST(model.checkpoint.graph().find_named("hidden").defined());
  BOOST_TEST(model.opset == 17);
  options.outputs = {"nothing"};
  check_error<FormatError>([&] { read_model(graph, 17, options); }, {"'nothing' is used before"});
}

BOOST_AUTO_TEST_CASE(initialisers_of_shapes_and_scalars_are_not_trained) {
  const OnnxModel model = read_model(GraphBuilder()
                                         .input("x", DType::f32, {std::int64_t{2}})
                                         .initializer("scale", Tensor::scalar(DType::f32, 3))
                                         .initializer("shape", Tensor::of<float>({2}, {2, 1}))
                                         .node("Mul", {"x", "scale"}, {"scaled"})
                                         .node("Cast", {"shape"}, {"sizes"}, {attribute("to", 7)})
                                         .node("Reshape", {"scaled", "sizes"}, {"y"})
                                         .output("y"));
  BOOST_TEST(model.checkpoint.graph().parameters().empty());
  const Results results = run_model(model, {{"x", Tensor::of<float>({2}, {1, 2})}});
  BOOST_TEST(results["y"].type_str() == "f32[2, 1]");
  BOOST_TEST(results["y"].at(1) == 6);
}

BOOST_AUTO_TEST_CASE(computed_constants_are_limited) {
  OnnxReadOptions options;
  options.max_memory = 1000;
  check_error<FormatError>(
      [&] {
        read_model(GraphBuilder()
                       .input("x", DType::f32, {std::int64_t{1}})
                       .initializer("n", Tensor::of<std::int64_t>({1}, {1000}))
                       .initializer("one", Tensor::of<std::int64_t>({1}, {1}))
                       .node("Expand", {"one", "n"}, {"shape"})
                       .node("Reshape", {"x", "shape"}, {"y"})
                       .output("y"),
                   17, options);
      },
      {"constant expressions of the file need more than 1000 bytes"});
}

BOOST_AUTO_TEST_CASE(versions_are_checked) {
  const GraphBuilder graph =
      GraphBuilder().input("x", DType::f32, {}).node("Neg", {"x"}, {"y"}).output("y");
  check_error<FormatError>([&] { read_model(graph, 24); },
                           {"opset 24 is not supported; the newest supported one is 23"});
  onnx_proto::Model model = onnx_model(graph);
  model.set_ir_version(12);
  check_error<FormatError>([&] { read_model(model); },
                           {"IR version 12 is not supported; versions 3 to 11 are"});
  model = onnx_model(graph);
  model.clear_opset_import();
  check_error<FormatError>([&] { read_model(model); },
                           {"the file does not declare the version of the default domain"});
  const testing::TemporaryFolder folder("onnx");
  check_error<FormatError>([&] { read_onnx(folder.write("text", "hello")); },
                           {"text: this is no ONNX model, or it is damaged"});
}

// Recursion over the operands would exhaust the stack.
BOOST_AUTO_TEST_CASE(long_chains_of_sizes_are_evaluated) {
  GraphBuilder graph;
  graph.input("x", DType::f32, {"n", std::int64_t{2}})
      .initializer("one", Tensor::of<std::int64_t>({2}, {1, 1}))
      .node("Shape", {"x"}, {"s0"});
  constexpr int kLength = 20'000;
  for (int i = 0; i < kLength; ++i)
    graph.node("Mul", {"s" + std::to_string(i), "one"}, {"s" + std::to_string(i + 1)});
  graph.node("Reshape", {"x", "s" + std::to_string(kLength)}, {"y"}).output("y");
  const OnnxModel model = read_model(graph);
  BOOST_TEST(model.checkpoint.program("predict").outputs()[0].second.shape().str() == "[n, 2]");
}

BOOST_AUTO_TEST_CASE(files_are_described_without_their_operators) {
  const GraphBuilder body = GraphBuilder().node("Neg", {"x"}, {"z"}).output("z");
  onnx_proto::Model model =
      onnx_model(GraphBuilder()
                     .input("x", DType::f16, {"n", std::int64_t{3}, ""})
                     .input("w", DType::f32, {std::int64_t{2}})
                     .initializer("w", Tensor::of<float>({2}, {1, 2}))
                     .initializer("k", Tensor::of<std::int64_t>({1}, {1}))
                     .node("If", {"c"}, {"a"}, {attribute("then_branch", body.graph)})
                     .node("Neg", {"x"}, {"b"})
                     .node("Frobnicate", {"x"}, {"d"}, {}, "custom")
                     .output("a"));
  model.set_producer_version("2");
  auto& entry = *model.add_metadata_props();
  entry.set_key("labels");
  entry.set_value("cat");
  const testing::TemporaryFolder folder("onnx");
  const std::string path = folder.write("model.onnx", model.SerializeAsString());
  const OnnxDescription d = describe_onnx(path);
  BOOST_TEST(d.ir_version == 8);
  BOOST_TEST(d.producer == "test 2");
  BOOST_TEST(d.opsets.at("") == 17);
  BOOST_REQUIRE_EQUAL(d.inputs.size(), 1);  // w is an initialiser
  BOOST_TEST(d.inputs[0].type == "f16[n, 3, ?]");
  BOOST_TEST(d.outputs[0].name == "a");
  BOOST_TEST(d.parameters == 2);
  BOOST_TEST(d.initializer_bytes == 16);
  BOOST_TEST(d.metadata.at("labels") == "cat");
  std::string operators;
  for (const auto& op : d.operators)
    operators += op.name + " " + std::to_string(op.count) + " " + op.unsupported + "; ";
  BOOST_TEST(
      operators ==
      "If 1 ; Neg 2 ; custom.Frobnicate 1 the file does not declare the version of custom; ");
  BOOST_TEST(is_onnx_file(path));
  BOOST_TEST(!is_onnx_file(folder.write("text", "hello")));
  BOOST_TEST(!is_onnx_file(folder.write("empty", "")));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
