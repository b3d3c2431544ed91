// Writes ONNX files with inputs and with the outputs that Weft computes: NAME.onnx, NAME.json and
// NAME.bin for every sample of an op and every golden model. compare.mjs runs them with ONNX
// Runtime. Ops that ONNX cannot express are printed.
//
//   weft_onnx_cases FOLDER OPSET
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "golden_folder.h"
#include "weft/core/error.h"
#include "weft/graph/run/session.h"
#include "weft/models/hf/folder.h"
#include "weft/serialization/onnx/onnx.h"
#include "weft/tests/onnx/export_programs.h"
#include "weft/tests/support/cases/symbolic_sample.h"

namespace weft {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

class CaseWriter {
 public:
  CaseWriter(std::string folder, std::int64_t opset) : folder_(std::move(folder)), opset_(opset) {
    fs::create_directories(folder_);
  }

  void write(const std::string& name, const Program& program, Session& session,
             const NamedTensors& feeds, double tolerance) {
    const std::string path = fmt::format("{}/{}", folder_, name);
    try {
      const Results results = session.run(program, feeds);
      write_onnx(path + ".onnx", program, *session.store(), {.opset = opset_});
      json about = {
          {"tolerance", tolerance}, {"inputs", json::array()}, {"outputs", json::array()}};
      std::ofstream data(path + ".bin", std::ios::binary);
      const auto add = [&](const char* list, const std::string& port, const Tensor& t) {
        about[list].push_back({{"name", port},
                               {"dtype", dtype_name(t.dtype())},
                               {"sizes", t.sizes()},
                               {"bytes", t.bytes()}});
        data.write(reinterpret_cast<const char*>(t.raw()), static_cast<std::streamsize>(t.bytes()));
      };
      for (const auto& [port, tensor] : feeds) {
        for (const Value& used : program.inputs()) {
          if (used.node().attributes().text("name") == port) add("inputs", port, tensor);
        }
      }
      for (const auto& [port, value] : program.outputs()) add("outputs", port, results[port]);
      std::ofstream(path + ".json") << about.dump();
    } catch (const Error& e) {
      fmt::print("refused {}: {}\n", name, e.what());
    }
  }

 private:
  std::string folder_;
  std::int64_t opset_;
};

void write_program(CaseWriter& writer, const testing::ExportProgram& from) {
  Graph g;
  NamedTensors feeds;
  const Program program = testing::build_program(from, g, feeds);
  Session session(g, {.threads = 1});
  writer.write("program-" + from.name, program, session, feeds, 1e-5);
}

// ONNX Runtime rejects many tensors without elements, and crashes for some.
bool has_empty_operands(const OpSample& sample) {
  return std::any_of(sample.inputs.begin(), sample.inputs.end(),
                     [](const Tensor& t) { return t.defined() && t.numel() == 0; });
}

void write_op(CaseWriter& writer, const OpRecord& op) {
  if (op.samples == nullptr) return;
  int number = 0;
  for (const OpSample& sample : op.samples()) {
    if (has_empty_operands(sample)) continue;
    const auto write = [&](const char* kind, const testing::SymbolicSample* symbolic) {
      Graph g;
      NamedTensors feeds;
      Session session(g, {.threads = 1});
      const Program program =
          testing::sample_program(op, sample, symbolic, g, feeds, *session.store());
      writer.write(fmt::format("{}-{}-{}", kind, op.name, number), program, session, feeds, 1e-5);
    };
    write("op", nullptr);
    const auto symbolic = testing::symbolise(op, sample, testing::Equalities::solve,
                                             [](std::int64_t) { return false; });
    if (symbolic && !symbolic->contradicted && !symbolic->symbols.empty()) {
      write("symbolic", &*symbolic);
    }
    ++number;
  }
}

void write_model(CaseWriter& writer, const fs::path& folder) {
  const auto tensors = golden::read_tensors(folder / "inputs.safetensors");
  const NamedTensors feeds(tensors.begin(), tensors.end());
  Graph graph;
  std::ifstream config(folder / "config.json", std::ios::binary);
  const json about = golden::read_json(folder / "case.json");
  const hf::Model model = hf::build_model(
      graph, {std::istreambuf_iterator<char>(config), {}},
      hf::input_types(TensorMap(tensors.begin(), tensors.end())), about.at("class"));
  Session session(graph, {.threads = 2});
  for (const auto& [variable, tensor] :
       hf::match_weights(model, graph, hf::read_folder(folder.string()).weights, folder.string())) {
    session.set_value(variable.name(), tensor);
  }
  Program program("predict");
  for (const auto& [name, value] : model.outputs) program.output(name, value);
  writer.write("model-" + folder.filename().string(), program, session, feeds, 1e-4);
}

}  // namespace
}  // namespace weft

int main(int argc, char** argv) {
  if (argc != 3) {
    fmt::print(stderr, "usage: weft_onnx_cases FOLDER OPSET\n");
    return 2;
  }
  weft::CaseWriter writer(argv[1], std::stoll(argv[2]));
  for (const weft::testing::ExportProgram& program : weft::testing::export_programs()) {
    weft::write_program(writer, program);
  }
  for (const weft::WeightFormat format : {weft::WeightFormat::bf16, weft::WeightFormat::int8,
                                          weft::WeightFormat::int4, weft::WeightFormat::q8_0}) {
    weft::NamedTensors feeds;
    // Without int8 activations: a sum with another rounding error may be rounded to another
    // integer.
    const weft::QuantizedModel model =
        weft::testing::quantised_network(format, weft::ActivationFormat::none, feeds);
    weft::Session session(*model.graph, model.store, {.threads = 1});
    writer.write(fmt::format("quantised-{}", weft::weight_format_name(format)), model.programs[0],
                 session, feeds, 1e-4);
  }
  for (const weft::OpRecord* op : weft::builtin_ops()->all()) write_op(writer, *op);
  for (const auto& path : weft::golden::find_model_cases("*", "case.json")) {
    if (weft::golden::is_supported(path.parent_path())) write_model(writer, path.parent_path());
  }
  return 0;
}
