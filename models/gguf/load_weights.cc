#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "weft/core/error.h"
#include "weft/graph/engine/nonfinite.h"
#include "weft/graph/weights/matrices.h"
#include "weft/graph/weights/quantized_weights.h"
#include "weft/models/gguf/architecture.h"
#include "weft/models/gguf/config.h"
#include "weft/models/gguf/model.h"
#include "weft/models/gguf/tensors.h"
#include "weft/serialization/gguf/blocks.h"
#include "weft/serialization/match_tensors.h"

namespace weft::gguf {
namespace {

/// Returns the sizes without leading axes of size 1.
Sizes squeezed(Sizes sizes) {
  while (sizes.size() > 1 && sizes.front() == 1) sizes.erase(sizes.begin());
  return sizes;
}

std::string described(std::string_view name, std::string_view type, const Sizes& sizes) {
  return fmt::format("'{}' {}{}", name, type, Shape(sizes).str());
}

/// Pairs the parameters of a model with the tensors of a file.
class Loader {
 public:
  Loader(const ModelFile& model, const Graph& graph)
      : model_(model), architecture_(find_architecture(model.file)) {
    for (const Variable& variable : weight_variables(graph)) add(variable);
    for (const GgufTensor& tensor : model.file.tensors) {
      if (!used_.contains(tensor.name) && !is_config_tensor(tensor.name))
        problems_.push_back(fmt::format(
            "unexpected: {}", described(tensor.name, ggml_type_name(tensor.type), tensor.sizes)));
    }
    if (problems_.empty()) return;
    throw FormatError(
        fmt::format("the tensors in {} are not those of a {} with this metadata:\n  {}",
                    model.file.path, model.architecture, fmt::join(problems_, "\n  ")));
  }

  /// Returns the tensor of a parameter with the rows in the order of the parameter, or null if the
  /// parameter consists of several tensors.
  const GgufTensor* find(const std::string& parameter) const {
    const auto found = tensors_.find(parameter);
    return found == tensors_.end() ? nullptr : found->second;
  }
  /// As find(), with the sizes of the parameter: files omit axes of size 1.
  GgufTensor ordered(const Variable& variable) const {
    GgufTensor tensor = with_rows(*find(variable.name()),
                                  rows_in_file(variable.name(), architecture_, model_.config));
    tensor.sizes = sizes_of(variable);
    return tensor;
  }
  /// Returns the f32 value of a parameter.
  Tensor wide(const Variable& variable) {
    const std::string& name = variable.name();
    if (find(name) != nullptr) {
      const GgufTensor tensor = ordered(variable);
      if (tensor.type != GgmlType::f32 && tensor.sizes.size() >= 2) ++widened_[tensor.type];
      const Tensor value = widened(tensor).to(DType::f32);
      return model_.config.norm_offset && is_norm_weight(name) ? plus(value, -1) : value;
    }
    const auto& [keys, values] = stacks_.at(name);
    ++widened_[keys->type];
    return join_latent({widened(*keys).to(DType::f32), widened(*values).to(DType::f32)},
                       model_.config);
  }
  std::vector<std::string> notes() const {
    std::vector<std::string> notes;
    for (const auto& [type, count] : widened_) {
      notes.push_back(fmt::format("{} tensor{} of type {} {} widened to f32", count,
                                  count == 1 ? "" : "s", ggml_type_name(type),
                                  count == 1 ? "was" : "were"));
    }
    return notes;
  }

 private:
  static Sizes sizes_of(const Variable& variable) {
    return variable.info().type.shape.evaluate({});
  }

  void add(const Variable& variable) {
    const std::string& parameter = variable.name();
    const Sizes sizes = sizes_of(variable);
    const std::string name = tensor_name(parameter, architecture_, model_.config);
    if (is_latent_stack(parameter) && model_.file.find(name) == nullptr) {
      const GptConfig& c = model_.config;
      const std::int64_t keys = c.head_size() - c.latent_rotary;
      const std::string front = name.substr(0, name.find("attn_kv_b"));
      const GgufTensor* k = take(front + "attn_k_b.weight", {c.heads, c.kv_rank, keys});
      const GgufTensor* v = take(front + "attn_v_b.weight", {c.heads, c.value_size(), c.kv_rank});
      if (k != nullptr && v != nullptr) stacks_[parameter] = {k, v};
      return;
    }
    if (const GgufTensor* tensor = take(name, sizes)) tensors_[parameter] = tensor;
  }

  /// Returns the tensor of the file, or null and adds a problem.
  const GgufTensor* take(const std::string& name, const Sizes& sizes) {
    const GgufTensor* tensor = model_.file.find(name);
    if (tensor == nullptr) {
      problems_.push_back(fmt::format("missing: {}", described(name, "", sizes)));
      return nullptr;
    }
    used_.insert(name);
    if (squeezed(tensor->sizes) == squeezed(sizes)) return tensor;
    problems_.push_back(fmt::format("mismatch: {}, but the model needs {}",
                                    described(name, ggml_type_name(tensor->type), tensor->sizes),
                                    Shape(sizes).str()));
    return nullptr;
  }

  const ModelFile& model_;
  const Architecture& architecture_;
  std::map<std::string, const GgufTensor*> tensors_;
  std::map<std::string, std::pair<const GgufTensor*, const GgufTensor*>> stacks_;
  std::set<std::string> used_;
  std::vector<std::string> problems_;
  std::map<GgmlType, int> widened_;
};

/// Returns the format of a quantised matrix that has exactly the values of the encoding.
std::optional<WeightFormat> kept_format(const GgufTensor& tensor) {
  if (tensor.type == GgmlType::bf16) return WeightFormat::bf16;
  const std::optional<QuantizedFormat> format = lossless_format(tensor);
  return format ? std::optional(weight_format(*format)) : std::nullopt;
}

}  // namespace

LoadedWeights load_weights(const ModelFile& model, const std::vector<Program>& programs,
                           bool keep_formats) {
  Graph& source = common_graph(programs, "programs that need weights");
  Loader loader(model, source);
  QuantizedWeights kept;
  if (keep_formats) {
    for (const WeightMatrix& m :
         weight_matrices(source, programs, {.embeddings = true, .stacks = true})) {
      const GgufTensor* tensor = loader.find(m.name);
      if (tensor == nullptr || !m.out_in) continue;
      if (const auto format = kept_format(*tensor))
        kept[m.name] = {*format, m.inputs(), m.outputs(), true, m.stack()};
    }
  }
  LoadedWeights result;
  result.store = std::make_shared<VariableStore>();
  if (!kept.empty()) {
    RewrittenPrograms rewritten = with_quantized(programs, kept);
    result.graph = std::move(rewritten.graph);
    result.programs = std::move(rewritten.programs);
  }
  for (const Variable& variable : weight_variables(source)) {
    const VariableInfo& info = variable.info();
    const auto found = kept.find(info.name);
    if (found == kept.end()) {
      result.store->insert(info.name, info.kind, loader.wide(variable).read_only());
      continue;
    }
    const WeightFormat format = found->second.format;
    const GgufTensor tensor = loader.ordered(variable);
    std::vector<Tensor> parts;
    if (format == WeightFormat::bf16) {
      parts = {widened(tensor)};
    } else {
      QuantizedMatrix matrix = repacked(tensor);
      parts = {std::move(matrix.q), std::move(matrix.scale)};
    }
    const std::vector<std::string> names = stored_names(info.name, format);
    for (std::size_t i = 0; i < names.size(); ++i)
      result.store->insert(names[i], info.kind, std::move(parts[i]).read_only());
  }
  check_finite(*result.store, model.file.path);
  result.notes = loader.notes();
  return result;
}

}  // namespace weft::gguf
