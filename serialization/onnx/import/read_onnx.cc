// Reading of ONNX models.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "weft/core/error.h"
#include "weft/core/excerpt.h"
#include "weft/serialization/onnx/attachments.h"
#include "weft/serialization/onnx/import/graph_import.h"
#include "weft/serialization/onnx/onnx.h"

namespace weft {
namespace onnx {
namespace {

constexpr std::int64_t kOldestIr = 3, kNewestIr = 11;

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
        main_(file_, file_.opsets, nullptr, "the main graph"),
        fixed_(fixed) {}

  OnnxModel read() {
    const onnx_proto::Model& model = *file_.messages->model;
    const onnx_proto::Graph& graph = model.graph();
    main_.initializers(graph);
    const SymbolSizes sizes = symbol_sizes(graph);
    for (const auto& input : graph.input()) add_input(input, sizes);

    std::vector<std::string> outputs = file_.options.outputs;
    if (outputs.empty()) outputs = names_of(graph.output());
    main_.nodes(pointers_to(graph.node()), outputs);

    Program program("predict");
    for (const std::string& name : outputs) add_output(program, name, main_.value(name));
    freeze_unused(program);
    // Bodies that were translated in another way in the end leave tensors without variables.
    std::erase_if(file_.tensors,
                  [&](const auto& entry) { return !file_.graph->has_variable(entry.first); });

    OnnxModel result;
    result.opset = file_.opsets.count("") != 0 ? file_.opsets.at("") : 0;
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

  // Returns the given value of an input if the input has the sizes of this value, or null.
  const Tensor* sized_value(const std::string& name) const {
    const auto value = file_.options.input_values.find(name);
    const bool given = value != file_.options.input_values.end();
    return given && (is_fixed(name) || file_.options.fixed_sizes) ? &value->second : nullptr;
  }

  // Returns the sizes of symbols: those of the options and those of inputs with fixed sizes.
  SymbolSizes symbol_sizes(const onnx_proto::Graph& graph) const {
    SymbolSizes sizes = file_.options.sizes;
    for (const auto& input : graph.input()) {
      const Tensor* value = sized_value(input.name());
      if (value == nullptr || !input.type().tensor_type().has_shape()) continue;
      const auto& shape = input.type().tensor_type().shape();
      const auto fail = [&](const std::string& expected) {
        throw FormatError(
            fmt::format("{}: input '{}' is {} in OnnxReadOptions::input_values, but {}", file_.path,
                        excerpt(input.name()), value->type_str(), expected));
      };
      if (shape.dim_size() != value->rank())
        fail(fmt::format("the file declares rank {}", shape.dim_size()));
      for (int axis = 0; axis < value->rank(); ++axis) {
        const auto& dim = shape.dim(axis);
        std::int64_t declared = dim.dim_value();
        if (!dim.dim_param().empty())
          declared = sizes.emplace(dim.dim_param(), value->size(axis)).first->second;
        else if (!dim.has_dim_value() || declared < 0)
          continue;
        if (declared != value->size(axis))
          fail(fmt::format("the size of axis {} is {}", axis, declared));
      }
    }
    return sizes;
  }

  // Declares an input. A sequence x consists of the inputs x.0, x.1, ... whose values are in the
  // options, because its length must be known. An optional input exists if its value is given.
  void add_input(const onnx_proto::Value& input, const SymbolSizes& sizes) {
    // Before IR version 4, initialisers are also inputs.
    if (main_.initializer(input.name())) return;
    main_.define(input.name(), input_value(input.name(), input.type(), sizes));
  }

  ImportedValue input_value(const std::string& name, const onnx_proto::TypeInfo& type,
                            const SymbolSizes& sizes) {
    const TensorMap& values = file_.options.input_values;
    if (type.has_tensor_type()) return input_tensor(name, type.tensor_type(), sizes);
    if (type.has_sequence_type()) {
      return sequence_input(name, type.sequence_type().elem_type(), sizes);
    }
    if (type.has_optional_type()) {
      const bool given = values.count(name) != 0 || values.count(name + ".0") != 0;
      return given ? input_value(name, type.optional_type().elem_type(), sizes)
                   : ImportedValue::none();
    }
    throw FormatError(
        fmt::format("{}: input '{}' is no tensor, sequence or optional, which is not "
                    "supported",
                    file_.path, excerpt(name)));
  }

  ImportedValue sequence_input(const std::string& name, onnx_proto::TypeInfo type,
                               const SymbolSizes& sizes) {
    const TensorMap& values = file_.options.input_values;
    std::vector<std::string> names;
    bool same_sizes = true;
    for (auto found = values.end();
         (found = values.find(fmt::format("{}.{}", name, names.size()))) != values.end();) {
      names.push_back(found->first);
      same_sizes = same_sizes && found->second.sizes() == values.at(names[0]).sizes();
    }
    // A symbol of the type may have another size in every element.
    if (!same_sizes && type.has_tensor_type()) type.mutable_tensor_type()->clear_shape();
    std::vector<ImportedValue> elements;
    for (const std::string& element : names) elements.push_back(input_value(element, type, sizes));
    return ImportedValue::sequence_of(std::move(elements));
  }

  Value input_tensor(const std::string& name, const onnx_proto::TypeInfo::TensorType& type,
                     const SymbolSizes& sizes) {
    const std::string what = fmt::format("{}: input '{}'", file_.path, excerpt(name));
    const std::optional<DType> dtype = dtype_of_number(type.elem_type());
    if (!dtype) {
      throw FormatError(fmt::format("{}: tensors of type {} are not supported", what,
                                    data_type_name(type.elem_type())));
    }
    const auto value = file_.options.input_values.find(name);
    const bool given = value != file_.options.input_values.end();
    if (given && value->second.dtype() != *dtype) {
      throw FormatError(fmt::format("{} is {}, but OnnxReadOptions::input_values has {}", what,
                                    dtype_name(*dtype), value->second.type_str()));
    }
    if (is_fixed(name)) return file_.graph->constant(value->second);
    if (!type.has_shape() && !given) {
      throw FormatError(fmt::format(
          "{} has no declared rank: pass a value with its sizes in OnnxReadOptions::input_values",
          what));
    }
    const Tensor* sized = sized_value(name);
    const Shape shape = sized != nullptr   ? Shape(sized->sizes())
                        : type.has_shape() ? declared_shape(type.shape(), name, *file_.graph, sizes)
                                           : Shape(value->second.sizes());
    return file_.graph->input(name, ValueType{*dtype, shape},
                              SourceLocation{file_.path.c_str(), 0});
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
  const auto model = onnx::parse_model(path);
  if (model->ir_version() < onnx::kOldestIr || model->ir_version() > onnx::kNewestIr) {
    throw FormatError(fmt::format("{}: IR version {} is not supported; versions {} to {} are", path,
                                  model->ir_version(), onnx::kOldestIr, onnx::kNewestIr));
  }
  std::vector<std::string> fixed;
  while (true) {
    try {
      return onnx::ModelImport(path, model, options, fixed).read();
    } catch (const onnx::FixInput& input) {
      fixed.push_back(input.name);
    } catch (const Error& e) {
      const std::string_view message = e.what();
      onnx::throw_for_file(
          e, message.find(path) == 0 ? std::string(message) : fmt::format("{}: {}", path, message));
    }
  }
}

}  // namespace weft
