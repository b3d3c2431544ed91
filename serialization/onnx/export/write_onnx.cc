#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <vector>

#include "weft/core/error.h"
#include "weft/core/version.h"
#include "weft/serialization/files/atomic_file.h"
#include "weft/serialization/onnx/attachments.h"
#include "weft/serialization/onnx/export/graph_export.h"
#include "weft/serialization/onnx/onnx.h"

namespace weft {
namespace {

using google::protobuf::io::CodedOutputStream;
using onnx::OnnxInitializer;

// Tensors with fewer bytes stay in the model, so that programs can read shapes without the data.
constexpr std::size_t kSmallTensor = 1024;
// Data of a tensor starts at a multiple of the page size, so that it can be mapped.
constexpr std::uint64_t kPage = 4096;
// A protobuf message cannot be larger.
constexpr std::uint64_t kMessageBytes = (std::uint64_t{1} << 31) - 1;

std::int64_t ir_version(std::int64_t opset) {
  return opset >= 23 ? 11 : opset >= 21 ? 10 : opset >= 19 ? 9 : opset >= 15 ? 8 : 7;
}

// Returns the tag and the length of a field that contains a message or bytes.
std::string field_start(int field, std::uint64_t bytes) {
  std::uint8_t buffer[20];
  std::uint8_t* end =
      CodedOutputStream::WriteVarint32ToArray(static_cast<std::uint32_t>(field) << 3 | 2, buffer);
  end = CodedOutputStream::WriteVarint64ToArray(bytes, end);
  return {reinterpret_cast<const char*>(buffer), static_cast<std::size_t>(end - buffer)};
}

void write(AtomicFile& file, const std::string& bytes) { file.write(bytes.data(), bytes.size()); }

// Writes the data of large tensors to PATH.data and stores the places in the headers.
void write_external(const std::string& path, std::vector<OnnxInitializer>& tensors) {
  const std::string data_path = path + ".data";
  const std::string name = std::filesystem::path(data_path).filename().string();
  AtomicFile file(data_path);
  const std::vector<std::byte> zeros(kPage);
  for (OnnxInitializer& t : tensors) {
    if (t.data.bytes() < kSmallTensor) continue;
    if (const std::uint64_t over = file.written() % kPage; over != 0) {
      file.write(zeros.data(), kPage - over);
    }
    const auto add = [&](const char* key, const std::string& value) {
      onnx_proto::StringEntry& entry = *t.header.add_external_data();
      entry.set_key(key);
      entry.set_value(value);
    };
    add("location", name);
    add("offset", std::to_string(file.written()));
    add("length", std::to_string(t.data.bytes()));
    t.header.set_data_location(onnx_proto::Tensor::EXTERNAL);
    file.write(t.data.raw(), t.data.bytes());
    t.data = Tensor();
  }
  file.commit();
}

// Writes the model; `graph` has no initialisers yet. The fields of a message may be written in any
// order, so the data of a tensor goes straight from the tensor to the file, without a copy.
void write_model(const std::string& path, const onnx_proto::Model& model,
                 const onnx_proto::Graph& graph, const std::vector<OnnxInitializer>& tensors) {
  std::vector<std::string> starts;  // everything before the data of each tensor
  const std::string nodes = graph.SerializeAsString();
  std::uint64_t graph_bytes = nodes.size();
  for (const OnnxInitializer& t : tensors) {
    std::string start = t.header.SerializeAsString();
    std::uint64_t bytes = 0;
    if (t.data.defined()) {
      bytes = t.data.bytes();
      start += field_start(onnx_proto::Tensor::kRawDataFieldNumber, bytes);
    }
    start.insert(0, field_start(onnx_proto::Graph::kInitializerFieldNumber, start.size() + bytes));
    graph_bytes += start.size() + bytes;
    starts.push_back(std::move(start));
  }
  const std::string head =
      model.SerializeAsString() + field_start(onnx_proto::Model::kGraphFieldNumber, graph_bytes);
  if (head.size() + graph_bytes > kMessageBytes) {
    throw ArgumentError(
        fmt::format("'{}': the model has {} bytes, but an ONNX file cannot exceed 2 GiB: set "
                    "OnnxWriteOptions::external_data_bytes to less",
                    path, head.size() + graph_bytes));
  }
  AtomicFile file(path);
  write(file, head);
  write(file, nodes);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    write(file, starts[i]);
    if (tensors[i].data.defined()) file.write(tensors[i].data.raw(), tensors[i].data.bytes());
  }
  file.commit();
}

void check_program(const Program& program, const OnnxWriteOptions& options) {
  if (options.opset < 13 || options.opset > 23) {
    throw ArgumentError(
        fmt::format("OnnxWriteOptions::opset is {}: Weft writes opsets 13 to 23", options.opset));
  }
  if (program.outputs().empty()) {
    throw ArgumentError(fmt::format("program '{}' has no outputs to write", program.name()));
  }
  if (program.shards().count > 1) {
    throw ArgumentError(
        fmt::format("program '{}' splits its batch into {} shards, which an ONNX file "
                    "cannot express: write the program without shards",
                    program.name(), program.shards().count));
  }
  for (const auto& [variable, value] : program.updates()) {
    if (variable.info().kind == VariableKind::key) continue;  // the node that draws is named below
    const std::string remedy =
        variable.info().kind == VariableKind::cache
            ? "write the program that computes all positions at once, or pass keys and values as "
              "inputs and outputs"
            : "write an inference program";
    throw ArgumentError(
        fmt::format("program '{}' updates the variable '{}', which an ONNX file "
                    "cannot express: {}\n  {}",
                    program.name(), variable.name(), remedy, value.graph().where(value.node())));
  }
}

}  // namespace

void write_onnx(const std::string& path, const Program& program, const VariableStore& store,
                const OnnxWriteOptions& options) {
  check_program(program, options);
  onnx_proto::Graph graph;
  graph.set_name(options.graph_name);
  onnx::GraphExport writer(graph, store, options.opset);
  writer.add_program(program);

  onnx_proto::Model model;
  model.set_ir_version(ir_version(options.opset));
  model.set_producer_name("weft");
  model.set_producer_version(std::string(version()));
  if (!options.description.empty()) model.set_doc_string(options.description);
  model.add_opset_import()->set_version(options.opset);
  model.mutable_opset_import(0)->set_domain("");
  std::map<std::string, std::string> metadata = options.metadata;
  onnx::add_attachments(options.attachments, metadata);
  for (const auto& [key, value] : metadata) {
    onnx_proto::StringEntry& entry = *model.add_metadata_props();
    entry.set_key(key);
    entry.set_value(value);
  }

  std::vector<OnnxInitializer>& tensors = writer.initializers();
  std::uint64_t bytes = 0;
  for (const OnnxInitializer& t : tensors) bytes += t.data.bytes();
  if (bytes > options.external_data_bytes) write_external(path, tensors);
  write_model(path, model, graph, tensors);
}

}  // namespace weft
