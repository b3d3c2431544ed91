// Writing programs as ONNX files: the structure of the file, and errors. `./run check onnx` runs
// such files with ONNX Runtime.
#include <fmt/format.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <fstream>
#include <map>

#include "weft/core/error.h"
#include "weft/graph/control/cond.h"
#include "weft/graph/functions.h"
#include "weft/graph/ir/scope.h"
#include "weft/graph/run/session.h"
#include "weft/serialization/onnx/onnx.h"
#include "weft/testing/temporary_folder.h"
#include "weft/tests/onnx/export_programs.h"
#include "weft/tests/support/messages.h"
#include "weft_proto/onnx.pb.h"

namespace weft::testing {
namespace {

onnx_proto::Model parsed(const std::string& path) {
  onnx_proto::Model model;
  std::ifstream file(path, std::ios::binary);
  BOOST_REQUIRE(model.ParseFromIstream(&file));
  return model;
}

// Returns the message for an output of a graph without variables.
onnx_proto::Model written(const Value& value, std::int64_t opset = 17) {
  const TemporaryFolder folder("onnx");
  Program program("predict");
  program.output("y", value);
  write_onnx(folder / "model.onnx", program, VariableStore(), {.opset = opset});
  return parsed(folder / "model.onnx");
}

std::vector<std::string> operators(const onnx_proto::Graph& graph) {
  std::vector<std::string> types;
  for (const onnx_proto::Node& node : graph.node()) types.push_back(node.op_type());
  return types;
}

using Types = std::vector<std::string>;

// A linear layer with tied weights, in nested scopes.
struct Network {
  Graph graph;
  Program program{"predict"};
  std::unique_ptr<Session> session;

  Network() {
    const Scope net(graph, "encoder");
    const Value x = graph.input("ids", DType::f32, {"batch", 3});
    const Variable w =
        (net / "layer" / 0)
            .variable("weight", DType::f32, {3, 3}, {.initializer = Initializer::normal(1)});
    graph.alias("head.weight", w);
    Value h;
    {
      const Graph::Frame frame(graph, "attention", {}, "encoder.layer.0.attention");
      h = relu(matmul(x, w));
    }
    const Value y = matmul(h, transpose(w));
    graph.set_name("hidden", h);
    program.output("logits", y);
    session = std::make_unique<Session>(graph);
    session->run(program, {{"ids", Tensor::zeros(DType::f32, {1, 3})}});
  }
};

BOOST_AUTO_TEST_SUITE(onnx_export)

BOOST_AUTO_TEST_CASE(names_of_inputs_outputs_variables_and_scopes_are_kept) {
  const TemporaryFolder folder("onnx");
  const Network net;
  write_onnx(folder / "model.onnx", net.program, *net.session->store(),
             {.metadata = {{"labels", "[\"a\"]"}}, .graph_name = "net", .description = "words"});
  const onnx_proto::Model model = parsed(folder / "model.onnx");
  BOOST_TEST(model.ir_version() == 8);
  BOOST_TEST(model.producer_name() == "weft");
  BOOST_TEST(model.doc_string() == "words");
  BOOST_REQUIRE_EQUAL(model.opset_import_size(), 1);
  BOOST_TEST(model.opset_import(0).version() == 17);
  BOOST_REQUIRE_EQUAL(model.metadata_props_size(), 1);
  BOOST_TEST(model.metadata_props(0).key() == "labels");
  const onnx_proto::Graph& graph = model.graph();
  BOOST_TEST(graph.name() == "net");
  BOOST_REQUIRE_EQUAL(graph.input_size(), 1);
  BOOST_TEST(graph.input(0).name() == "ids");
  BOOST_TEST(graph.input(0).type().tensor_type().shape().dim(0).dim_param() == "batch");
  BOOST_TEST(graph.input(0).type().tensor_type().shape().dim(1).dim_value() == 3);
  BOOST_TEST(graph.output(0).name() == "logits");
  // A tied weight is written once, under the name of the variable.
  BOOST_REQUIRE_EQUAL(graph.initializer_size(), 1);
  BOOST_TEST(graph.initializer(0).name() == "encoder.layer.0.weight");
  BOOST_TEST(operators(graph) == (Types{"MatMul", "Relu", "Transpose", "MatMul"}),
             boost::test_tools::per_element());
  BOOST_TEST(graph.node(0).name() == "encoder/layer.0/attention/MatMul");
  BOOST_TEST(graph.node(1).output(0) == "hidden");
  BOOST_TEST(graph.node(3).name() == "MatMul");
  BOOST_TEST(graph.node(3).output(0) == "logits");
}

BOOST_AUTO_TEST_CASE(large_weights_are_written_to_a_second_file) {
  const TemporaryFolder folder("onnx");
  Graph g;
  const Value x = g.input("x", DType::f32, {32, 32});
  const Value y = matmul(matmul(x, g.variable("a", DType::f32, {32, 40})),
                         g.variable("b", DType::f32, {40, 32})) +
                  g.variable("small", DType::f32, {32});
  Program program("predict");
  program.output("y", y);
  VariableStore store;
  store.insert("a", VariableKind::parameter, Tensor::full(DType::f32, {32, 40}, 1));
  store.insert("b", VariableKind::parameter, Tensor::full(DType::f32, {40, 32}, 2));
  store.insert("small", VariableKind::parameter, Tensor::full(DType::f32, {32}, 3));
  write_onnx(folder / "m.onnx", program, store, {.external_data_bytes = 2 * 5120 + 128});
  BOOST_TEST(folder.files() == 1);
  write_onnx(folder / "m.onnx", program, store, {.external_data_bytes = 2 * 5120 + 127});
  BOOST_TEST(folder.files() == 2);
  const onnx_proto::Model model = parsed(folder / "m.onnx");
  BOOST_REQUIRE_EQUAL(model.graph().initializer_size(), 3);
  std::ifstream file(folder / "m.onnx.data", std::ios::binary);
  const std::string data{std::istreambuf_iterator<char>(file), {}};
  BOOST_TEST(data.size() == 8192 + 5120);
  for (const onnx_proto::Tensor& t : model.graph().initializer()) {
    if (t.name() == "small") {
      BOOST_TEST(t.raw_data().size() == 128);
      BOOST_TEST(!t.has_data_location());
      continue;
    }
    BOOST_TEST(!t.has_raw_data());
    BOOST_TEST(t.data_location() == onnx_proto::Tensor::EXTERNAL);
    BOOST_REQUIRE_EQUAL(t.external_data_size(), 3);
    BOOST_TEST(t.external_data(0).value() == "m.onnx.data");
    const std::size_t offset = std::stoul(t.external_data(1).value());
    BOOST_TEST(offset % 4096 == 0);
    BOOST_TEST(t.external_data(2).value() == "5120");
    BOOST_TEST(*reinterpret_cast<const float*>(data.data() + offset) == (t.name() == "a" ? 1 : 2));
  }
  const OnnxModel again = read_onnx(folder / "m.onnx");
  BOOST_TEST(bitwise_equal(again.checkpoint.store()->tensor("b"), store.tensor("b")));
}

BOOST_AUTO_TEST_CASE(composite_operators_depend_on_the_opset) {
  Graph g;
  const Value x = g.input("x", DType::f32, {"n", 2, 4, 6});
  const Value gain = g.input("gain", DType::f32, {6});
  const Value positions = g.input("positions", DType::i64, {4});
  struct Case {
    Value value;
    std::int64_t opset;
    Types types;
  };
  const Case cases[] = {
      {layer_norm(x, gain, gain), 17, {"LayerNormalization"}},
      {layer_norm(x, gain), 16, {}},
      {gelu(x), 20, {"Gelu"}},
      {gelu(x), 19, {"Mul", "Erf", "Add", "Mul", "Mul"}},
      {gelu_tanh(x), 20, {"Gelu"}},
      {hardswish(x), 14, {"HardSwish"}},
      {hardswish(x), 13, {"Add", "Clip", "Mul", "Div"}},
      {rms_norm(x, gain), 23, {"RMSNormalization"}},
      {rms_norm(x, gain), 22, {"Mul", "ReduceMean", "Add", "Sqrt", "Reciprocal", "Mul", "Mul"}},
      {attention(x, x, x, {.causal = true}), 23, {"Attention"}},
      {mean(x, 1), 17, {"ReduceMean"}},
      {sum(x), 13, {"ReduceSum"}},
      {sum(cast(x, DType::u8)), 17, {"Cast", "Cast", "ReduceSum", "Cast"}},  // no sums of bytes
  };
  for (const Case& c : cases) {
    const Types types = operators(written(c.value, c.opset).graph());
    BOOST_TEST_CONTEXT(fmt::format("{} in opset {}", c.value.node().op().name, c.opset)) {
      if (c.types.empty()) {
        BOOST_TEST(types.size() > 1);
      } else {
        BOOST_TEST(types == c.types, boost::test_tools::per_element());
      }
    }
  }
  const auto rotated = [&](std::int64_t opset) {
    return operators(written(rope(x, positions), opset).graph()).back();
  };
  BOOST_TEST(rotated(23) == "RotaryEmbedding");
  BOOST_TEST(rotated(22) == "Reshape");
  // The composite operator would compute f64 in f32, and attention aligns its mask differently.
  BOOST_TEST(written(layer_norm(cast(x, DType::f64), cast(gain, DType::f64))).graph().node_size() >
             3);
  const Value q = g.input("q", DType::f32, {"n", 2, 3, 6});
  BOOST_TEST(written(attention(q, x, x, {.causal = true}), 23).graph().node_size() > 3);
}

BOOST_AUTO_TEST_CASE(sizes_are_computed_only_if_they_are_needed) {
  Graph g;
  const Value x = g.input("x", DType::f32, {"n", "m", 6});
  const Dim n = g.dim("n"), m = g.dim("m");
  const auto types = [](const Value& v) { return operators(written(v).graph()); };
  BOOST_TEST(types(reshape(x, Shape{n, m, 2, 3})) == (Types{"Reshape"}),
             boost::test_tools::per_element());
  BOOST_TEST(types(reshape(x, Shape{n * m, 6})) == (Types{"Reshape"}),
             boost::test_tools::per_element());
  BOOST_TEST(types(slice(x, 0, {.begin = 1})) == (Types{"Slice"}),
             boost::test_tools::per_element());
  BOOST_TEST(
      types(broadcast_to(unsqueeze(x, 0), Shape{5, n, m, 6})) == (Types{"Unsqueeze", "Expand"}),
      boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(outputs_of_branches_are_computed_by_nodes_of_the_branch) {
  Graph g;
  const Value x = g.input("x", DType::f32, {"n", "m"});
  const auto captured = [&](Graph&, const std::vector<Value>&) { return std::vector{x}; };
  const auto negated = [&](Graph&, const std::vector<Value>&) { return std::vector{-x}; };
  const onnx_proto::Model model = written(cond(sum(x) > 0, {}, captured, negated)[0]);
  const onnx_proto::Node& branch = model.graph().node(model.graph().node_size() - 1);
  BOOST_REQUIRE_EQUAL(branch.attribute_size(), 2);
  BOOST_TEST(operators(branch.attribute(0).g()) == Types{"Identity"},
             boost::test_tools::per_element());
  BOOST_TEST(operators(branch.attribute(1).g()) == Types{"Neg"}, boost::test_tools::per_element());
}

// Integers are not widened, a matrix is written once, and its layout is that of the product.
BOOST_AUTO_TEST_CASE(quantised_weights_are_written_as_integers) {
  using onnx_proto::Tensor;
  struct Case {
    WeightFormat format;
    std::int64_t opset;
    int tokens;                      // type of the embedding
    std::vector<std::int64_t> down;  // sizes of the layer [64, 48]
    std::size_t bytes;
    int nodes;  // of type DequantizeLinear: not for stacks and 48 inputs
  };
  const Case cases[] = {
      {WeightFormat::int8, 17, Tensor::INT8, {64, 48}, 64 * 48, 3},
      {WeightFormat::q8_0, 17, Tensor::INT8, {1, 2, 32, 48}, 64 * 48, 0},
      {WeightFormat::q8_0, 21, Tensor::INT8, {64, 48}, 64 * 48, 2},
      {WeightFormat::int4, 21, Tensor::INT4, {64, 48}, 64 * 24, 2},
      {WeightFormat::bf16, 17, Tensor::BFLOAT16, {48, 64}, 64 * 96, 0},
  };
  for (const Case& c : cases) {
    BOOST_TEST_CONTEXT(weight_format_name(c.format) << " in opset " << c.opset) {
      const TemporaryFolder folder("onnx");
      NamedTensors feeds;
      const QuantizedModel model = quantised_network(c.format, ActivationFormat::none, feeds);
      write_onnx(folder / "m.onnx", model.programs[0], *model.store, {.opset = c.opset});
      const onnx_proto::Model file = parsed(folder / "m.onnx");
      const auto types = operators(file.graph());
      BOOST_TEST(std::count(types.begin(), types.end(), "DequantizeLinear") == c.nodes);
      const std::string suffix = c.format == WeightFormat::bf16 ? "" : ".q";
      std::map<std::string, Tensor> tensors;
      for (const Tensor& t : file.graph().initializer()) {
        BOOST_TEST(tensors.emplace(t.name(), t).second);
      }
      BOOST_REQUIRE(tensors.count("tokens" + suffix) != 0 && tensors.count("down" + suffix) != 0);
      BOOST_TEST(tensors.count("tokens.q_1") == 0);
      BOOST_TEST(tensors["tokens" + suffix].data_type() == c.tokens);
      const Tensor& down = tensors["down" + suffix];
      BOOST_TEST(std::vector<std::int64_t>(down.dims().begin(), down.dims().end()) == c.down,
                 boost::test_tools::per_element());
      BOOST_TEST(down.raw_data().size() == c.bytes);
    }
  }
}

BOOST_AUTO_TEST_CASE(what_onnx_cannot_express_is_rejected_with_the_source_line) {
  Graph g;
  const Value x = g.input("x", DType::f32, {"n", 2});
  const Value ids = g.input("ids", DType::i64, {3});
  const Variable total = g.variable("total", DType::f32, {2}, {.kind = VariableKind::buffer});
  const Variable cache = g.variable("keys", DType::f32, {2}, {.kind = VariableKind::cache});
  const auto write = [](const Program& program, std::int64_t opset = 17) {
    return [program, opset] {
      write_onnx("/nonexistent/model.onnx", program, VariableStore(), {.opset = opset});
    };
  };
  const auto output = [](const Value& v) { return Program("predict").output("y", v); };
  check_error<ArgumentError>(write(output(x), 12), {"opset is 12", "13 to 23"});
  check_error<ArgumentError>(write(output(x), 24), {"opset is 24", "13 to 23"});
  check_error<ArgumentError>(write(Program("predict")), {"'predict' has no outputs"});
  check_error<ArgumentError>(write(Program("predict").output("x", relu(x))),
                             {"output 'x' has the name of an input"});
  check_error<ArgumentError>(write(output(relu(x)).shards({.count = 2, .axis = "n"})),
                             {"splits its batch into 2 shards", "without shards"});
  check_error<ArgumentError>(
      write(output(x).update(total, sum(x, 0))),
      {"updates the variable 'total'", "write an inference program", "export_test.cc"});
  check_error<ArgumentError>(write(output(x).update(cache, sum(x, 0))),
                             {"updates the variable 'keys'", "pass keys and values as inputs"});
  check_error<ArgumentError>(write(output(x + cache)), {"'keys' is a cache"});
  check_error<ArgumentError>(write(output(normal(g.key("noise"), {2}))), {"key 'noise'"});
  check_error<ArgumentError>(
      write(output(dropout(x, 0.5, g.key("drop")))),
      {"dropout cannot be written to an ONNX file: it draws random numbers from the key 'drop'",
       "export_test.cc"});
  check_error<ArgumentError>(
      write(output(cholesky(matmul(transpose(x), x)))),
      {"cholesky cannot be written to an ONNX file: ONNX has no such operator", "export_test.cc"});
  check_error<ArgumentError>(
      write(output(index_max(x, ids, take(x, ids)))),
      {"scatter_max (in the definition of index_max)", "needs opset 18", "has opset 17"});
  check_error<ArgumentError>(write(output(iota(g, Shape{g.dim("free")}, 0))),
                             {"the size 'free' is not the size of an axis of any input"});
  check_error<IoError>(write(output(relu(x))), {"/nonexistent/model.onnx"});
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft::testing
