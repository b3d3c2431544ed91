#include "weft/serialization/checkpoint.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <set>
#include <tuple>

#include "weft/core/closest.h"
#include "weft/core/error.h"
#include "weft/graph/weights/extract.h"
#include "weft/graph/weights/matrices.h"
#include "weft/serialization/container.h"
#include "weft/serialization/graph_proto.h"

namespace weft {
namespace {

constexpr std::uint32_t kFormatVersion = 1;
constexpr std::string_view kProducer = "weft 0.1";

// The graph of programs that one file can hold.
Graph& graph_to_save(const std::vector<Program>& programs) {
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

const Record* find(const Container& file, RecordType type) {
  for (const Record& r : file.records()) {
    if (r.is(type)) return &r;
  }
  return nullptr;
}

std::string list(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& n : names) text += fmt::format("{}'{}'", text.empty() ? "" : ", ", n);
  return text.empty() ? "none" : text;
}

/// Of a file whose format version this program reads.
v1::Header read_header(const Container& file) {
  const Record* head = find(file, RecordType::header);
  if (head == nullptr || head != &file.records()[0]) {
    file.fail(kFirstRecord, "the first record is not the header");
  }
  auto header = parse_record<v1::Header>(file, *head);
  if (header.format_version() != kFormatVersion) {
    file.fail(head->offset,
              fmt::format("the file has format version {}; this program reads version {}",
                          header.format_version(), kFormatVersion));
  }
  return header;
}

const Record& variables_record(const Container& file) {
  const Record* variables = find(file, RecordType::variables);
  if (variables == nullptr) file.fail(file.bytes(), "the file has no list of variables");
  return *variables;
}

/// Of a variable that is saved, so that its sizes are numbers.
Sizes known_sizes(const v1::Variable& variable) {
  Sizes sizes;
  for (const std::string& dim : variable.type().shape().dims()) {
    std::int64_t size = 0;
    const auto [end, error] = std::from_chars(dim.data(), dim.data() + dim.size(), size);
    if (error != std::errc() || end != dim.data() + dim.size() || size < 0) {
      throw FormatError(
          fmt::format("variable '{}': '{}' is no size of a tensor", variable.name(), dim));
    }
    sizes.push_back(size);
  }
  return sizes;
}

}  // namespace

void write_checkpoint(const std::string& path, const std::vector<Program>& programs,
                      const std::function<Tensor(const VariableInfo&)>& value,
                      const SaveOptions& options) {
  Graph& graph = graph_to_save(programs);
  const std::vector<Node*> nodes = reachable_nodes(needed_values(graph, programs, true));
  ContainerWriter writer(path);
  v1::Header header;
  header.set_format_version(kFormatVersion);
  header.set_producer(std::string(kProducer));
  writer.add(RecordType::header, message_bytes(header));

  DataList data;
  GraphWriter graphs(writer, data);
  graphs.write(graph, nodes);
  v1::Programs program_list;
  for (const Program& p : programs) *program_list.add_programs() = graphs.program(p);
  writer.add(RecordType::programs, message_bytes(program_list));

  v1::Variables manifest;
  for (const Node* n : nodes) {
    if (n->op().name != "variable") continue;
    const Variable v(const_cast<Node*>(n)->output(0));
    std::uint64_t number = 0;
    if (v.info().kind != VariableKind::cache) {
      Tensor t = value(v.info());
      check_value(v.info(), t);
      number = data.add(std::move(t));
    }
    *manifest.add_variables() = GraphWriter::variable(v.info(), number);
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
  data.write(writer);
  writer.finish();
}

Checkpoint load_checkpoint(const std::string& path, const LoadOptions& options) {
  const Container file(path);
  if (options.verify) file.check_data();
  Checkpoint result;
  result.producer_ = read_header(file).producer();
  const Record* variables = &variables_record(file);
  const auto manifest = parse_record<v1::Variables>(file, *variables);
  GraphReader reader(file, options.ops);
  result.graph_ = reader.read(manifest);
  result.programs_ = reader.programs();
  if (!options.programs.empty()) {
    std::vector<Program> chosen;
    for (const std::string& name : options.programs) chosen.push_back(result.program(name));
    std::tie(result.graph_, result.programs_) = extract(chosen);
  }
  for (const v1::Variable& v : manifest.variables()) {
    if (!result.graph_->has_variable(v.name())) continue;
    const VariableInfo& info = result.graph_->find_variable(v.name()).info();
    if (info.kind == VariableKind::cache) continue;
    Tensor t = file.tensor(info.type.dtype, info.type.shape.constant(), v.data(),
                           fmt::format("variable '{}'", v.name()), variables->offset);
    // Read-only as a mapping is, so that stores share it.
    if (options.mode == LoadOptions::Mode::copy) t = t.clone().read_only();
    result.tensors_.emplace(v.name(), std::move(t));
  }
  if (const Record* record = find(file, RecordType::attachments)) {
    const auto attachments = parse_record<v1::Attachments>(file, *record);
    std::uint64_t copied = 0;
    for (const v1::Attachment& a : attachments.attachments()) {
      const Record& bytes =
          file.data_record(a.data(), fmt::format("attachment '{}'", a.name()), record->offset);
      copied += bytes.length;
      // Many that share one record would make any number of bytes of a few.
      if (copied > file.bytes())
        file.fail(record->offset, "its attachments have more bytes than the file");
      result.attachments_.push_back(
          {a.name(), a.type(),
           std::string(reinterpret_cast<const char*>(file.payload(bytes)), bytes.length)});
    }
  }
  return result;
}

const Program& Checkpoint::program(std::string_view name) const {
  std::vector<std::string> names;
  for (const Program& p : programs_) {
    if (p.name() == name) return p;
    names.push_back(p.name());
  }
  throw ArgumentError(fmt::format("the checkpoint has no program '{}'{}; there are: {}", name,
                                  did_you_mean(name, names), list(names)));
}

bool Checkpoint::has_program(std::string_view name) const {
  return std::any_of(programs_.begin(), programs_.end(),
                     [&](const Program& p) { return p.name() == name; });
}

const Attachment* Checkpoint::find_attachment(std::string_view name) const {
  for (const Attachment& a : attachments_) {
    if (a.name == name) return &a;
  }
  return nullptr;
}

const Attachment& Checkpoint::attachment(std::string_view name) const {
  if (const Attachment* a = find_attachment(name)) return *a;
  std::vector<std::string> names;
  for (const Attachment& a : attachments_) names.push_back(a.name);
  throw ArgumentError(fmt::format("the checkpoint has no attachment '{}'{}; there are: {}", name,
                                  did_you_mean(name, names), list(names)));
}

void extract(const std::string& from, const std::string& to,
             const std::vector<std::string>& programs, const std::vector<std::string>& attachments,
             const LoadOptions& options) {
  if (programs.empty())
    throw ArgumentError(fmt::format("extract from {}: there is no program to extract", from));
  LoadOptions chosen = options;
  chosen.programs = programs;
  const Checkpoint file = load_checkpoint(from, chosen);
  std::vector<std::string> names;
  for (const Attachment& a : file.attachments()) names.push_back(a.name);
  for (const std::string& pattern : attachments) {
    if (std::none_of(names.begin(), names.end(),
                     [&](const std::string& name) { return matches(pattern, name); })) {
      throw ArgumentError(fmt::format("extract from {}: no attachment fits '{}'; there are: {}",
                                      from, pattern, list(names)));
    }
  }
  SaveOptions kept;
  for (const Attachment& a : file.attachments()) {
    if (matches_any(attachments, a.name)) kept.attachments.push_back(a);
  }
  save_checkpoint(to, *file.store(), file.programs(), kept);
}

void verify_file(const std::string& path, std::shared_ptr<const OpSet> ops) {
  load_checkpoint(path, {.verify = true, .ops = std::move(ops)});
}

std::vector<SavedVariable> saved_variables(const std::string& path) {
  const Container file(path);
  read_header(file);
  const Record& record = variables_record(file);
  std::vector<SavedVariable> result;
  const auto manifest = parse_record<v1::Variables>(file, record);
  for (const v1::Variable& v : manifest.variables()) {
    try {
      const auto& dims = v.type().shape().dims();
      const DType dtype = GraphReader::dtype(v.type().dtype());
      const VariableKind kind = GraphReader::kind(v.kind());
      Tensor value;
      if (kind != VariableKind::cache) {
        value = file.tensor(dtype, known_sizes(v), v.data(), fmt::format("variable '{}'", v.name()),
                            record.offset);
      }
      result.push_back(
          {v.name(),
           kind,
           v.trainable(),
           fmt::format("{}[{}]", dtype_name(dtype), fmt::join(dims.begin(), dims.end(), ", ")),
           {v.aliases().begin(), v.aliases().end()},
           std::move(value)});
    } catch (const Error& e) {
      file.fail(record.offset, e.what());
    }
  }
  return result;
}

bool is_weft_file(const std::string& path) {
  constexpr std::string_view kMagic = "\x89weft\r\n\x1a";
  const auto file = MappedFile::open(path);
  return file->bytes() >= kMagic.size() &&
         std::memcmp(file->data(), kMagic.data(), kMagic.size()) == 0;
}

}  // namespace weft
