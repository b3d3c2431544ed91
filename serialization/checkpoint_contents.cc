#include "weft/serialization/checkpoint_contents.h"

#include <fmt/format.h>

#include <set>

#include "weft/core/error.h"
#include "weft/graph/weights/extract.h"
#include "weft/serialization/checkpoint_files.h"
#include "weft/serialization/stale_shards.h"

namespace weft {
namespace {

constexpr std::string_view kProducer = "weft 0.1";

// Returns the graph of the programs. Throws GraphError if the programs cannot be saved in one file.
const Graph& graph_to_save(const std::vector<Program>& programs) {
  std::set<std::string> names;
  for (const Program& p : programs) {
    if (!names.insert(p.name()).second) {
      throw GraphError(fmt::format("save: there are two programs called '{}'", p.name()));
    }
    if (p.graph() == nullptr) {
      throw GraphError(fmt::format("save: program '{}' is empty", p.name()));
    }
  }
  Graph* graph = common_graph(programs);
  if (graph == nullptr) throw GraphError("save: there is no program to save");
  return *graph;
}

}  // namespace

void check_value(const VariableInfo& info, const Tensor& t) {
  if (!t.defined()) {
    throw GraphError(fmt::format("save: variable '{}' has no value yet", info.name));
  }
  if (t.dtype() != info.type.dtype) {
    throw DTypeError(fmt::format("save: variable '{}' is {}, but its value is {}", info.name,
                                 info.type.str(), t.type_str()));
  }
  if (t.sizes() != info.type.shape.constant()) {
    throw ShapeError(fmt::format("save: variable '{}' is {}, but its value is {}", info.name,
                                 info.type.str(), t.type_str()));
  }
}

void write_header(ContainerWriter& writer) {
  v1::Header header;
  header.set_format_version(kFormatVersion);
  header.set_producer(std::string(kProducer));
  writer.add(RecordType::header, message_bytes(header));
}

CheckpointContents::CheckpointContents(const std::vector<Program>& programs)
    : programs_(programs),
      graph_(graph_to_save(programs)),
      nodes_(reachable_nodes(needed_values(graph_, programs, true))) {}

std::vector<VariableInfo> CheckpointContents::variables() const {
  std::vector<VariableInfo> result;
  for (Node* n : nodes_) {
    if (n->op().name != "variable") continue;
    const VariableInfo& info = graph_.variable_info(*n);
    if (info.kind != VariableKind::cache) result.push_back(info);
  }
  return result;
}

void CheckpointContents::write(ContainerWriter& writer, DataList& data,
                               FunctionRef<void(const VariableInfo&, v1::Variable&)> place,
                               const SaveOptions& options) const {
  write_header(writer);
  GraphWriter graphs(writer, data);
  graphs.write(graph_, nodes_);
  v1::Programs program_list;
  for (const Program& p : programs_) *program_list.add_programs() = graphs.program(p);
  writer.add(RecordType::programs, message_bytes(program_list));

  v1::Variables manifest;
  for (const Node* n : nodes_) {
    if (n->op().name != "variable") continue;
    const VariableInfo& info = graph_.variable_info(*n);
    v1::Variable& variable = *manifest.add_variables();
    variable = GraphWriter::variable(info);
    if (info.kind != VariableKind::cache) place(info, variable);
  }
  writer.add(RecordType::variables, message_bytes(manifest));

  v1::Attachments attachments;
  std::set<std::string> names;
  for (const Attachment& a : options.attachments) {
    if (!names.insert(a.name).second) {
      throw ArgumentError(fmt::format("save: there are two attachments called '{}'", a.name));
    }
    v1::Attachment& out = *attachments.add_attachments();
    out.set_name(a.name);
    out.set_type(a.type);
    out.set_data(data.add(a.bytes));
  }
  writer.add(RecordType::attachments, message_bytes(attachments));
}

void write_checkpoint(const std::string& path, const std::vector<Program>& programs,
                      const std::function<Tensor(const VariableInfo&)>& value,
                      const SaveOptions& options) {
  const CheckpointContents contents(programs);
  ContainerWriter writer(path);
  DataList data;
  const auto place = [&](const VariableInfo& info, v1::Variable& variable) {
    Tensor t = value(info);
    check_value(info, t);
    variable.set_data(data.add(std::move(t)));
  };
  contents.write(writer, data, place, options);
  data.write(writer);
  writer.finish();
  remove_stale_shards(path);
}

}  // namespace weft
