// Models of every family, written as ONNX files and read again, have the same outputs and
// gradients. `./run check onnx` runs the files with ONNX Runtime.
#include <fmt/core.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <fstream>

#include "golden_folder.h"
#include "weft/autodiff/gradients.h"
#include "weft/core/error.h"
#include "weft/graph/functions.h"
#include "weft/graph/run/session.h"
#include "weft/models/hf/folder.h"
#include "weft/serialization/onnx/onnx.h"
#include "weft/testing/temporary_folder.h"

namespace weft::golden {
namespace {

namespace fs = std::filesystem;

// The largest error of any tensor, relative to the largest number of all tensors of its kind.
struct Errors {
  double outputs = 0, gradients = 0;
  std::string worst;
};

double largest(const Tensor& t) {
  double m = 0;
  for (std::int64_t i = 0; i < t.numel(); ++i) m = std::max(m, std::abs(t.at(i)));
  return m;
}

Program with_gradients(const Graph& graph, const Program& predict,
                       const std::vector<std::string>& parameters) {
  const auto found = std::find_if(predict.outputs().begin(), predict.outputs().end(),
                                  [](const auto& o) { return o.first == "loss"; });
  Program program("gradients");
  if (found == predict.outputs().end() || !is_floating(found->second.dtype())) return program;
  std::vector<Value> variables;
  for (const std::string& name : parameters) variables.push_back(graph.find_variable(name));
  const std::vector<Value> g =
      gradients(found->second, variables, {.unreachable = Unreachable::zeros});
  for (std::size_t i = 0; i < g.size(); ++i) program.output(parameters[i], g[i]);
  return program;
}

Errors check_model(const fs::path& folder) {
  const auto tensors = read_tensors(folder / "inputs.safetensors");
  std::ifstream config(folder / "config.json", std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(config), {}};
  const nlohmann::json about = read_json(folder / "case.json");
  Graph graph;
  const hf::Model model = hf::build_model(
      graph, text, hf::input_types(TensorMap(tensors.begin(), tensors.end())), about.at("class"));
  Session session(graph, {.threads = 2});
  for (const auto& [variable, tensor] :
       hf::match_weights(model, graph, hf::read_folder(folder.string()).weights, folder.string())) {
    session.set_value(variable.name(), tensor);
  }
  Program predict("predict");
  for (const auto& [name, value] : model.outputs) predict.output(name, value);
  NamedTensors feeds;
  for (const Value& input : predict.inputs()) {
    const std::string& name = input.node().attributes().text("name");
    feeds.emplace_back(name, tensors.at(name));
  }
  const Results expected = session.run(predict, feeds);

  const testing::TemporaryFolder files("onnx");
  write_onnx(files / "model.onnx", predict, *session.store());
  const OnnxModel again = read_onnx(files / "model.onnx");
  Session other(again.checkpoint.graph(), again.checkpoint.store());
  const Results results = other.run(again.checkpoint.program("predict"), feeds);
  Errors errors;
  for (const auto& [name, value] : predict.outputs()) {
    errors.outputs = std::max(errors.outputs, relative_error(results[name], expected[name], 1e-30));
  }
  // Scalars become constants, and an embedding gets a gradient for its padding token.
  const bool has_padding_token = !about.value("padding_idx", nlohmann::json::object()).empty();
  std::vector<std::string> parameters;
  for (const Variable& v : predict.variables()) {
    const VariableInfo& info = v.info();
    const bool is_embedding =
        info.name.ends_with("tokens.weight") || info.name.ends_with("wte.weight");
    if (info.kind == VariableKind::parameter && info.trainable && info.type.dtype == DType::f32 &&
        info.type.shape.rank() > 0 && !(has_padding_token && is_embedding)) {
      parameters.push_back(info.name);
    }
  }
  // In texts of padding only, the gradient of this model does not reach masked scores. Attention,
  // as which the ONNX operators are read, has no such form.
  if (folder.filename() == "gpt2-inverse-layer-scale") return errors;
  const Program a = with_gradients(graph, predict, parameters);
  if (a.outputs().empty()) return errors;
  const Program b =
      with_gradients(again.checkpoint.graph(), again.checkpoint.program("predict"), parameters);
  const Results ga = session.run(a, feeds), gb = other.run(b, feeds);
  double scale = 0;
  for (const std::string& name : parameters) scale = std::max(scale, largest(ga[name]));
  for (const std::string& name : parameters) {
    const double error = relative_error(gb[name], ga[name], scale * 1e-3);
    if (error > errors.gradients) errors.gradients = error, errors.worst = name;
  }
  return errors;
}

BOOST_AUTO_TEST_CASE(models_written_as_onnx_files_have_the_same_outputs_and_gradients) {
  Report report;
  for (const fs::path& path : find_model_cases("*", "case.json")) {
    const std::string name = "onnx/" + path.parent_path().filename().string();
    if (!is_supported(path.parent_path())) continue;
    try {
      const Errors e = check_model(path.parent_path());
      if (e.outputs <= 1e-4 && e.gradients <= 1e-3) {
        report.ok(name, std::max(e.outputs, e.gradients));
      } else {
        report.fail(name, fmt::format("outputs {:.2g} gradients {:.2g} ({})", e.outputs,
                                      e.gradients, e.worst));
      }
    } catch (const Error& e) {
      report.fail(name, e.what());
    }
  }
  BOOST_TEST(report.finish("models written as ONNX files"));
}

}  // namespace
}  // namespace weft::golden
