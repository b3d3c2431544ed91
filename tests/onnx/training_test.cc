// Networks that PyTorch 1.13 exported (tests/fixtures/onnx/torch_networks.py): results, gradients,
// fine-tuning, and runs that are resumed from a .weft file.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "weft/autodiff/gradients.h"
#include "weft/autodiff/optimizers/optimizers.h"
#include "weft/graph/functions.h"
#include "weft/serialization/npy.h"
#include "weft/serialization/onnx/onnx.h"
#include "weft/testing/temporary_folder.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(onnx_training)
namespace {

const std::string kFolder = std::string(WEFT_FIXTURES) + "/onnx/";

/// A network with its inputs and the values that PyTorch computed.
struct Network {
  explicit Network(const std::string& name)
      : model(read_onnx(kFolder + name + ".onnx")), expected(read_npz(kFolder + name + ".npz")) {
    for (const Value& input : program().inputs()) {
      const std::string& input_name = input.node().attributes().text("name");
      feeds.emplace_back(input_name, expected.at(input_name));
    }
  }
  const Program& program() const { return model.checkpoint.programs().front(); }
  Graph& graph() const { return model.checkpoint.graph(); }
  Value logits() const { return program().outputs().front().second; }

  OnnxModel model;
  TensorMap expected;
  NamedTensors feeds;
};

/// Compares with the largest element. Gradients of key biases are zero except for rounding.
void check_close(const Tensor& actual, const Tensor& expected, double tolerance) {
  BOOST_REQUIRE(actual.sizes() == expected.sizes());
  double largest = 1e-3, error = 0;
  for (std::int64_t i = 0; i < expected.numel(); ++i) {
    largest = std::max(largest, std::abs(expected.at(i)));
    error = std::max(error, std::abs(expected.at(i) - actual.at(i)));
  }
  BOOST_TEST(error <= tolerance * largest);
}

BOOST_AUTO_TEST_CASE(networks_of_pytorch_have_its_results_and_gradients) {
  for (const std::string name : {"residual", "encoder"}) {
    BOOST_TEST_CONTEXT(name) {
      const Network network(name);
      Program program("gradients");
      program.output("logits", network.logits());
      std::vector<Variable> parameters;
      for (const Variable& p : network.graph().parameters()) {
        if (network.expected.contains("grad." + p.name())) parameters.push_back(p);
      }
      BOOST_TEST(parameters.size() >= (name == "encoder" ? 22U : 2U));
      const auto grads = gradients(sum(square(network.logits())), parameters);
      for (std::size_t i = 0; i < parameters.size(); ++i)
        program.output("grad." + parameters[i].name(), grads[i]);
      Session session(network.graph(), network.model.checkpoint.store());
      for (const auto& [key, tensor] : session.run(program, network.feeds)) {
        BOOST_TEST_CONTEXT(key) { check_close(tensor, network.expected.at(key), 1e-5); }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(parameters_and_constants_of_written_files_keep_their_kinds) {
  const testing::TemporaryFolder folder;
  Graph g;
  const Value x = g.input("x", DType::f32, {"batch", 2});
  const Variable scale = g.variable("scale", DType::f32, {}),
                 frozen = g.variable("frozen", DType::f32, {2}, {.trainable = false}),
                 mean = g.variable("mean", DType::f32, {2}, {.kind = VariableKind::buffer});
  const Value table = g.constant(Tensor::of<float>({2}, {3, 4}));
  Program program("p");
  program.output("y", (x - mean) * scale + frozen * table);
  const auto store = std::make_shared<VariableStore>();
  Session(g, store, {.seed = 1}).initialise();
  write_onnx(folder / "p.onnx", program, *store);
  const OnnxModel model = read_onnx(folder / "p.onnx");
  const Graph& read = model.checkpoint.graph();
  BOOST_TEST(read.variables().size() == 3U);
  BOOST_REQUIRE(read.parameters().size() == 1U);
  BOOST_TEST(read.parameters().front().name() == "scale");
  BOOST_TEST((read.find_variable("frozen").info().kind == VariableKind::parameter));
  BOOST_TEST((read.find_variable("mean").info().kind == VariableKind::buffer));
}

/// Adds a head and a training step for labels of two classes.
Program training(Graph& graph, const Value& features) {
  const Value labels = graph.input("labels", DType::i32, {"batch"});
  const Variable head = graph.variable("head", DType::f32, {features.size(1), 2},
                                       {.initializer = Initializer::normal(0.02)});
  const Value loss = cross_entropy(matmul(features, head), labels);
  Program train("train");
  return train.output("loss", loss).update(adamw(loss, graph.parameters(), {.lr = 0.01}));
}

BOOST_AUTO_TEST_CASE(fine_tuned_networks_continue_bit_exactly_from_a_file) {
  const testing::TemporaryFolder folder;
  for (const std::string name : {"residual", "encoder"}) {
    BOOST_TEST_CONTEXT(name) {
      const Network network(name);
      NamedTensors feeds = network.feeds;
      feeds.emplace_back("labels", Tensor::of<std::int32_t>({3}, {0, 1, 1}));
      const Program train = training(network.graph(), network.logits());
      Session session(network.graph(), network.model.checkpoint.store(),
                      {.seed = 4, .initialise_missing = true});
      const auto loss = [&](Session& s, const Program& p) {
        return s.run(p, feeds)["loss"].item<float>();
      };
      const float first = loss(session, train);
      for (int step = 0; step < 20; ++step) loss(session, train);
      save_checkpoint(folder / "half.weft", session, {train, network.program()});
      std::vector<float> continued, resumed;
      for (int step = 0; step < 5; ++step) continued.push_back(loss(session, train));
      BOOST_TEST(continued.back() < 0.5F * first);

      const Checkpoint file = load_checkpoint(folder / "half.weft");
      Session other(file.graph(), file.store());
      for (int step = 0; step < 5; ++step) resumed.push_back(loss(other, file.program("train")));
      BOOST_TEST(continued == resumed, boost::test_tools::per_element());
    }
  }
}

}  // namespace
BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
