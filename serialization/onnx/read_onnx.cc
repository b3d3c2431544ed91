// Reading of ONNX models.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

#include "weft/core/error.h"
#include "weft/core/excerpt.h"
#include "weft/serialization/files/foreign_file.h"
#include "weft/serialization/onnx/attachments.h"
#include "weft/serialization/onnx/import/graph_import.h"
#include "weft/serialization/onnx/onnx.h"

namespace weft {
namespace onnx {
namespace {

constexpr std::int64_t kOldestIr = 3, kNewestIr = 11;

std::shared_ptr<const onnx_proto::Model> parse(const std::string& path) {
  const auto file = MappedFile::open(path);
  if (file->bytes() > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
    throw FormatError(fmt::format(
        "{}: an ONNX file cannot exceed 2 GiB, but it has {} bytes: large models store their "
        "weights in external data",
        path, file->bytes()));
  }
  auto model = std::make_shared<onnx_proto::Model>();
  const std::string_view bytes(reinterpret_cast<const char*>(file->data()), file->bytes());
  if (!model->ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) || !model->has_graph()) {
    throw FormatError(
        fmt::format("{}: this is no ONNX model, or it is damaged or nested too deeply{}", path,
                    foreign_hint(bytes.substr(0, 512), path)));
  }
  if (model->ir_version() < kOldestIr || model->ir_version() > kNewestIr) {
    throw FormatError(fmt::format("{}: IR version {} is not supported; versions {} to {} are", path,
                                  model->ir_version(), kOldestIr, kNewestIr));
  }
  return model;
}

// The sizes that fixed inputs determine are added to those of the options.
using SymbolSizes = std::map<std::string, std::int64_t, std::less<>>;

// Symbols of files may be expressions ("seq/2 + 1"). Characters that Weft's symbols cannot have are
// replaced by '_'.
std::string symbol_name(const std::string& name) {
  std::string result = name;
  for (char& c : result) {
    const bool valid = static_cast<unsigned char>(c) >= 128 || std::isalnum(c) != 0 || c == '_' ||
                       c == '.' || c == '/';
    if (!valid) c = '_';
  }
  for (std::size_t at; (at = result.find("//")) != std::string::npos;) result[at] = '_';
  if (!Dim::is_symbol_name(result)) result.insert(0, "_");
  return Dim::is_symbol_name(result) ? result : "_";
}

Shape declared_shape(const onnx_proto::Shape& shape, const std::string& name, Graph& graph,
                     const SymbolSizes& sizes) {
  Shape result;
  for (int axis = 0; axis < shape.dim_size(); ++axis) {
    const auto& dim = shape.dim(axis);
    if (dim.has_dim_value() && dim.dim_value() >= 0) {
      result.push_back(dim.dim_value());
      continue;
    }
    const bool named = dim.has_dim_param() && !dim.dim_param().empty();
    const std::string symbol = named ? dim.dim_param() : fmt::format("{}.{}", name, axis);
    const auto known = sizes.find(symbol);
    result.push_back(known != sizes.end() ? Dim(known->second) : graph.dim(symbol_name(symbol)));
  }
  return result;
}

std::vector<std::string> names_of(
    const google::protobuf::RepeatedPtrField<onnx_proto::Value>& values) {
  std::vector<std::string> names;
  for (const auto& value : values) names.push_back(value.name());
  return names;
}

class ModelImport {
 public:
  ModelImport(const std::string& path, std::shared_ptr<const onnx_proto::Model> model,
              const OnnxReadOptions& options, const std::vector<std::string>& fixed)
      : file_(path, std::move(model), options),
        main_(file_, opsets_of(file_.model->opset_import()), nullptr, "the main graph"),
        fixed_(fixed) {}

  OnnxModel read() {
    const onnx_proto::Model& model = *file_.model;
    const onnx_proto::Graph& graph = model.graph();
    main_.initializers(graph);
    const SymbolSizes sizes = symbol_sizes(graph);
    for (const auto& input : graph.input()) add_input(input, sizes);

    std::vector<std::string> outputs = file_.options.outputs;
    if (outputs.empty()) outputs = names_of(graph.output());
    main_.nodes(graph.node(), outputs);

    Program program("predict");
    for (const std::string& name : outputs) add_output(program, name, main_.value(name));
    freeze_unused(program);

    OnnxModel result;
    const Opsets& opsets = main_.opsets();
    result.opset = opsets.count("") != 0 ? opsets.at("") : 0;
    result.graph_name = graph.name();
    result.description = model.doc_string();
    for (const auto& entry : model.metadata_props()) result.metadata[entry.key()] = entry.value();
    result.fixed_inputs = fixed_;
    result.checkpoint = Checkpoint(file_.graph, {program}, std::move(file_.tensors),
                                   take_attachments(result.metadata));
    return result;
  }

 private:
  bool is_fixed(const std::string& name) const {
    return std::find(fixed_.begin(), fixed_.end(), name) != fixed_.end();
  }

  // Returns the sizes of symbols: those of the options and those of fixed inputs.
  SymbolSizes symbol_sizes(const onnx_proto::Graph& graph) const {
    SymbolSizes sizes = file_.options.sizes;
    for (const auto& input : graph.input()) {
      if (!is_fixed(input.name())) continue;
      const Tensor& value = file_.options.input_values.find(input.name())->second;
      const auto& shape = input.type().tensor_type().shape();
      for (int axis = 0; axis < std::min(shape.dim_size(), value.rank()); ++axis)
        if (shape.dim(axis).has_dim_param())
          sizes.emplace(shape.dim(axis).dim_param(), value.size(axis));
    }
    return sizes;
  }

  void add_input(const onnx_proto::Value& input, const SymbolSizes& sizes) {
    const std::string& name = input.name();
    // Before IR version 4, initialisers are also inputs.
    if (main_.initializer(name)) return;
    const std::string what = fmt::format("{}: input '{}'", file_.path, excerpt(name));
    if (!input.type().has_tensor_type())
      throw FormatError(fmt::format("{}: inputs that are no tensors are not supported", what));
    const auto& type = input.type().tensor_type();
    const std::optional<DType> dtype = dtype_of_number(type.elem_type());
    if (!dtype) {
      throw FormatError(fmt::format("{}: tensors of type {} are not supported", what,
                                    data_type_name(type.elem_type())));
    }
    Graph& graph = *file_.graph;
    if (is_fixed(name)) {
      const Tensor& value = file_.options.input_values.find(name)->second;
      if (value.dtype() != *dtype) {
        throw FormatError(fmt::format("{} is {}, but OnnxReadOptions::input_values has {}", what,
                                      dtype_name(*dtype), value.type_str()));
      }
      main_.define(name, graph.constant(value));
      return;
    }
    if (!type.has_shape()) {
      throw FormatError(fmt::format("{} has no declared rank, which is not supported", what));
    }
    const SourceLocation location{file_.path.c_str(), 0};
    main_.define(
        name, graph.input(name, ValueType{*dtype, declared_shape(type.shape(), name, graph, sizes)},
                          location));
  }

  void add_output(Program& program, const std::string& name, const ImportedValue& value) {
    switch (value.kind) {
      case ImportedValue::Kind::tensor:
        program.output(name, value.tensor);
        if (file_.graph->name_of(value.tensor).empty()) file_.graph->set_name(name, value.tensor);
        break;
      case ImportedValue::Kind::sequence:
        for (std::size_t i = 0; i < value.sequence.size(); ++i)
          add_output(program, fmt::format("{}.{}", name, i), value.sequence[i]);
        break;
      case ImportedValue::Kind::none: break;
    }
  }

  // Initialisers that were only needed to compute sizes have no gradient.
  void freeze_unused(const Program& program) {
    std::set<std::string_view> read;
    for (const Variable& variable : program.variables()) read.insert(variable.name());
    for (const Variable& parameter : file_.graph->parameters())
      if (read.count(parameter.name()) == 0) file_.graph->set_trainable(parameter, false);
  }

  FileImport file_;
  GraphImport main_;
  const std::vector<std::string>& fixed_;
};

}  // namespace
}  // namespace onnx

OnnxModel read_onnx(const std::string& path, const OnnxReadOptions& options) {
  const auto model = onnx::parse(path);
  std::vector<std::string> fixed;
  while (true) {
    try {
      return onnx::ModelImport(path, model, options, fixed).read();
    } catch (const onnx::FixInput& input) {
      fixed.push_back(input.name);
    }
  }
}

}  // namespace weft
