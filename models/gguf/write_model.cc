#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "weft/core/error.h"
#include "weft/graph/weights/quantized_weights.h"
#include "weft/models/families/gpt.h"
#include "weft/models/gguf/architecture.h"
#include "weft/models/gguf/config.h"
#include "weft/models/gguf/model.h"
#include "weft/models/gguf/tensors.h"
#include "weft/models/gguf/tokenizer.h"
#include "weft/ops/op.h"
#include "weft/serialization/gguf/blocks.h"
#include "weft/serialization/match_tensors.h"

namespace weft::gguf {
namespace {

constexpr std::string_view kOutTypes[] = {"auto", "f32", "f16", "bf16", "q8_0", "q4_0"};

/// Returns a copy of an f32 tensor with its last two axes swapped.
Tensor swapped(const Tensor& tensor) {
  const auto rank = static_cast<int>(tensor.rank());
  const std::int64_t rows = tensor.size(rank - 2), columns = tensor.size(rank - 1);
  Sizes sizes = tensor.sizes();
  std::swap(sizes[static_cast<std::size_t>(rank) - 2], sizes[static_cast<std::size_t>(rank) - 1]);
  Tensor result = Tensor::empty(DType::f32, sizes);
  const float* from = tensor.data<float>();
  float* to = result.mutable_data<float>();
  const std::int64_t matrix = rows * columns;
  for (std::int64_t first = 0; first < tensor.numel(); first += matrix) {
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < columns; ++j)
        to[first + j * rows + i] = from[first + i * columns + j];
    }
  }
  return result;
}

/// The parameters of a model.
class Weights {
 public:
  explicit Weights(const ModelToWrite& model) : model_(model) {
    for (QuantizedRead& read : quantized_reads(*model.graph)) reads_.emplace(read.name, read);
  }

  const QuantizedRead* find_quantized(const std::string& name) const {
    const auto found = reads_.find(name);
    return found == reads_.end() ? nullptr : &found->second;
  }
  QuantizedMatrix quantized(const QuantizedRead& read) const {
    return {model_.store->tensor(read.stored.name()), model_.store->tensor(read.scale.name())};
  }
  /// Returns the f32 values of a parameter, with the sizes that programs read.
  Tensor wide(const std::string& name) const {
    const QuantizedRead* read = find_quantized(name);
    if (read == nullptr) return model_.store->tensor(name).to(DType::f32);
    const QuantizedWeight& w = read->weight;
    const Tensor stored = model_.store->tensor(read->stored.name());
    if (w.format == WeightFormat::bf16) {
      const Tensor value = stored.to(DType::f32);
      return w.out_in ? value : swapped(value);
    }
    const OpSet& ops = read->stored.graph().ops();
    return evaluate_op(ops.at("dequantize"), {stored, model_.store->tensor(read->scale.name())},
                       {{"inputs", w.inputs}, {"outputs", w.outputs}, {"transposed", w.out_in}})[0];
  }

 private:
  const ModelToWrite& model_;
  std::map<std::string, QuantizedRead, std::less<>> reads_;
};

/// Converts the parameters of a model to tensors of a file.
class TensorWriter {
 public:
  TensorWriter(const ModelToWrite& model, const Architecture& architecture, OutType type)
      : model_(model), architecture_(architecture), type_(type), weights_(model) {}

  std::vector<GgufTensor> tensors(std::vector<std::string>& notes) {
    Graph graph;
    const Gpt gpt(Scope(graph), model_.config);
    for (const Variable& variable : weight_variables(graph)) add(variable);
    if (architecture_.needs_head && model_.config.tied_head) {
      GgufTensor head = result_.front();  // the token embeddings are the first parameter
      head.name = "output.weight";
      result_.push_back(std::move(head));
    }
    for (GgufTensor& tensor : config_tensors(model_.config)) result_.push_back(std::move(tensor));
    if (!narrow_.empty())
      notes.push_back(fmt::format(
          "{} of {} matrices were written as F16, because their rows are not a multiple "
          "of 32: {}",
          narrow_.size(), matrices_.size() + narrow_.size(), fmt::join(first_names(), ", ")));
    if (rounded_ > 0)
      notes.push_back(fmt::format(
          "{} int8 matrices were rounded to Q8_0, which has a scale per 32 inputs", rounded_));
    return std::move(result_);
  }
  /// The number of general.file_type: that of the type of most matrices.
  std::uint32_t file_type() const {
    std::map<GgmlType, int> counts;
    for (const GgmlType type : matrices_) ++counts[type];
    GgmlType most = GgmlType::f32;
    for (const auto& [type, count] : counts) {
      if (count > counts[most]) most = type;
    }
    switch (most) {
      case GgmlType::f16: return 1;
      case GgmlType::q4_0: return 2;
      case GgmlType::q8_0: return 7;
      case GgmlType::bf16: return 32;
      default: return 0;
    }
  }

 private:
  std::vector<std::string> first_names() const {
    const auto count = static_cast<std::ptrdiff_t>(std::min<std::size_t>(narrow_.size(), 3));
    std::vector<std::string> names(narrow_.begin(), narrow_.begin() + count);
    if (narrow_.size() > 3) names.emplace_back("...");
    return names;
  }

  void add(const Variable& variable) {
    const std::string& parameter = variable.name();
    const Sizes sizes = variable.info().type.shape.evaluate({});
    const std::string name = tensor_name(parameter, architecture_, model_.config);
    if (is_latent_stack(parameter)) {
      const LatentStacks stacks = split_latent(weights_.wide(parameter), model_.config);
      const std::string front = name.substr(0, name.find("attn_kv_b"));
      const GgmlType type = target(parameter);
      result_.push_back(encode(front + "attn_k_b.weight", stacks.keys, type));
      result_.push_back(encode(front + "attn_v_b.weight", stacks.values, type));
      return;
    }
    const auto rows = inverse(rows_in_file(parameter, architecture_, model_.config));
    if (is_always_f32(parameter, sizes)) {
      Tensor value = weights_.wide(parameter);
      if (model_.config.norm_offset && is_norm_weight(parameter)) value = plus(value, 1);
      result_.push_back(with_rows(encoded(name, squeezed(value), GgmlType::f32), rows));
      return;
    }
    const GgmlType type = target(parameter);
    const QuantizedRead* read = weights_.find_quantized(parameter);
    // A bf16 stack that programs read in place has the layout of the parameter.
    const bool swaps = read != nullptr && read->weight.stack > 0 && read->weight.out_in &&
                       model_.config.experts_transposed;
    if (read != nullptr && kept(*read, type) && !swaps) {
      const QuantizedWeight& w = read->weight;
      GgufTensor tensor =
          w.format == WeightFormat::bf16
              ? encoded(name, model_.store->tensor(read->stored.name()), GgmlType::bf16)
              : encoded(name, weights_.quantized(*read), w.inputs, w.outputs);
      matrices_.push_back(tensor.type);
      result_.push_back(with_rows(tensor, rows));
      return;
    }
    const bool stack = sizes.size() == 3, in_block = parameter.starts_with("transformer.h.");
    Tensor value = weights_.wide(parameter);
    if (in_block && (stack ? model_.config.experts_transposed : model_.config.transposed))
      value = swapped(value);
    if (read != nullptr && read->weight.format == WeightFormat::int8 && type_ == OutType::automatic)
      ++rounded_;
    result_.push_back(with_rows(encode(name, value, type), rows));
  }

  /// GGUF stores the vector of a shared gate without the axis of size 1.
  static Tensor squeezed(const Tensor& value) {
    return value.rank() == 2 && value.size(0) == 1 ? value.reshape({value.size(1)}) : value;
  }

  /// Returns true if the stored form of a matrix has the type.
  static bool kept(const QuantizedRead& read, GgmlType type) {
    switch (read.weight.format) {
      case WeightFormat::bf16: return type == GgmlType::bf16;
      case WeightFormat::int4: return type == GgmlType::q4_0 && read.weight.inputs % 32 == 0;
      case WeightFormat::q8_0: return type == GgmlType::q8_0 && read.weight.inputs % 32 == 0;
      case WeightFormat::int8: break;
    }
    return false;
  }

  GgmlType target(const std::string& parameter) const {
    switch (type_) {
      case OutType::f32: return GgmlType::f32;
      case OutType::f16: return GgmlType::f16;
      case OutType::bf16: return GgmlType::bf16;
      case OutType::q8_0: return GgmlType::q8_0;
      case OutType::q4_0: return GgmlType::q4_0;
      case OutType::automatic: break;
    }
    const QuantizedRead* read = weights_.find_quantized(parameter);
    if (read == nullptr) return GgmlType::f32;
    switch (read->weight.format) {
      case WeightFormat::bf16: return GgmlType::bf16;
      case WeightFormat::int4: return GgmlType::q4_0;
      case WeightFormat::int8:
      case WeightFormat::q8_0: break;
    }
    return GgmlType::q8_0;
  }

  GgufTensor encode(const std::string& name, const Tensor& value, GgmlType type) {
    if (ggml_block_elements(type) > 1 &&
        value.size(static_cast<int>(value.rank()) - 1) % ggml_block_elements(type) != 0) {
      narrow_.push_back(name);
      return encoded(name, value, GgmlType::f16);
    }
    matrices_.push_back(type);
    return encoded(name, value, type);
  }

  const ModelToWrite& model_;
  const Architecture& architecture_;
  OutType type_;
  Weights weights_;
  std::vector<GgufTensor> result_;
  std::vector<GgmlType> matrices_;
  std::vector<std::string> narrow_;
  int rounded_ = 0;
};

/// Returns notes on the settings that llama.cpp ignores for the architecture, and removes them.
/// `metadata` contains the keys of the config.
std::vector<std::string> drop_ignored(GptConfig& c, const Architecture& a,
                                      const GgufMetadata& metadata) {
  std::vector<std::string> notes;
  if (c.window > 0 && !metadata.contains(a.name + ".attention.sliding_window")) {
    notes.push_back(
        fmt::format("{} files have no attention window: llama.cpp computes other results for texts "
                    "of more than {} tokens",
                    a.name, c.window));
    c.window = 0;
    c.window_layers.clear();
    c.rotary_window_base = 0;
  }
  if (c.rotary_scaling == RotaryScalingKind::yarn && !c.rotary_truncate) {
    notes.emplace_back(
        "GGUF has no key for rotary_truncate = false (truncate in rope_scaling): llama.cpp rounds "
        "the bounds between scaled and unscaled frequencies");
  }
  return notes;
}

/// Returns the differences of biases from those that llama.cpp requires.
std::vector<std::string> bias_differences(const GptConfig& c, const Architecture& a) {
  const bool attention = c.bias || c.attention_bias;
  const bool norms = c.norm == GptNorm::layer_norm && c.norm_weights && (c.bias || c.norm_bias);
  bool dense = c.experts == 0;
  for (std::int64_t i = 0; i < c.layers; ++i) dense = dense || !c.has_experts(i);
  const std::array<std::pair<const char*, bool>, 5> biases = {
      {{"queries, keys and values", attention || c.qkv_bias},
       {"the output projection of attention", attention || c.attention_out_bias},
       {"the feed-forward block", dense && (c.bias || c.mlp_bias)},
       {"the norms", norms},
       {"the head", c.head_bias}}};
  std::vector<std::string> differences;
  for (std::size_t i = 0; i < biases.size(); ++i) {
    const auto& [what, present] = biases[i];
    if (a.biases[i] == (present ? '0' : '1'))
      differences.push_back(
          fmt::format("{} {} biases", what, present ? "must not have" : "must have"));
  }
  return differences;
}

/// A file for an architecture, and its differences from the model.
struct Draft {
  const Architecture* architecture = nullptr;
  GgufMetadata metadata;
  std::vector<std::string> notes, differences;
};

Draft draft(const ModelToWrite& model, const Architecture& architecture) {
  Draft result{.architecture = &architecture, .metadata = {}, .notes = {}, .differences = {}};
  GptConfig config = model.config;
  result.metadata.set("general.architecture", architecture.name);
  if (!model.name.empty()) result.metadata.set("general.name", model.name);
  write_config(result.metadata, architecture, config);
  result.notes = drop_ignored(config, architecture, result.metadata);
  // Read the config back from a file with the names and sizes of all tensors.
  GgufFile file;
  file.path = architecture.name;
  file.metadata = result.metadata;
  Graph graph;
  const Gpt gpt(Scope(graph), config);
  for (const Variable& variable : weight_variables(graph)) {
    GgufTensor tensor;
    tensor.name = tensor_name(variable.name(), architecture, config);
    tensor.sizes = variable.info().type.shape.evaluate({});
    file.tensors.push_back(std::move(tensor));
  }
  for (GgufTensor& tensor : config_tensors(config)) file.tensors.push_back(std::move(tensor));
  std::vector<std::string> ignored;
  const GptConfig read = read_config(file, architecture, ignored);
  result.differences = config_differences(config, read, architecture);
  for (std::string& difference : bias_differences(config, architecture))
    result.differences.push_back(std::move(difference));
  return result;
}

Draft best_draft(const ModelToWrite& model) {
  std::optional<Draft> nearest;
  std::string refused;
  for (const Architecture& architecture : architectures()) {
    std::optional<Draft> made;
    try {
      made = draft(model, architecture);
    } catch (const Error& e) {  // the metadata is not a valid model of this architecture
      if (refused.empty()) refused = e.what();
      continue;
    }
    if (made->differences.empty()) return *std::move(made);
    if (!nearest || made->differences.size() < nearest->differences.size())
      nearest = std::move(made);
  }
  if (!nearest) throw ArgumentError(refused);
  throw ArgumentError(
      fmt::format("no GGUF architecture of llama.cpp can represent this model; the nearest is {}, "
                  "but:\n  {}",
                  nearest->architecture->name, fmt::join(nearest->differences, "\n  ")));
}

}  // namespace

ChoiceNames choice_names(OutType) { return {"outtype", kOutTypes}; }

WriteReport write_model(const std::string& path, const ModelToWrite& model, OutType type) {
  check_float_inputs(*model.graph, "GGUF files");
  Draft made = best_draft(model);
  WriteReport report{made.architecture->name, std::move(made.notes)};
  TensorWriter writer(model, *made.architecture, type);
  const std::vector<GgufTensor> tensors = writer.tensors(report.notes);
  GgufMetadata& metadata = made.metadata;
  metadata.set("general.file_type", writer.file_type())
      .set("general.quantization_version", std::uint32_t{2});
  if (model.tokenizer) {
    write_tokenizer(metadata, *model.tokenizer, model.config.vocab, report.notes);
    write_generation(metadata, *model.tokenizer, model.generation ? &*model.generation : nullptr);
    if (model.chat) metadata.set("tokenizer.chat_template", model.chat->source());
  } else {
    metadata.set("tokenizer.ggml.model", "none");
  }
  write_gguf(path, metadata, tensors);
  return report;
}

}  // namespace weft::gguf
