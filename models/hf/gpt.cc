// Reads, builds and writes the classes of the GPT family: base model, language model and sequence
// classifier. The differences between the model types are in the table gpt_types().
#include "weft/models/hf/gpt.h"

#include <fmt/format.h>

#include <algorithm>

#include "weft/core/error.h"
#include "weft/graph/functions.h"
#include "weft/models/hf/gpt_types.h"
#include "weft/models/hf/request.h"
#include "weft/models/hf/sequence_labels.h"

namespace weft::hf {
namespace {

/// Returns the model type with this name, or null if it is not a decoder of the GPT family.
const GptType* find_type(const std::string& name) {
  const auto found = std::find_if(gpt_types().begin(), gpt_types().end(),
                                  [&](const GptType& type) { return type.name == name; });
  return found == gpt_types().end() ? nullptr : &*found;
}

const GptType& type_of(const ConfigReader& config) {
  const std::string name = config.model_type();
  if (const GptType* type = find_type(name)) return *type;
  throw ArgumentError(
      fmt::format("config.json: model_type \"{}\" is not a decoder of the GPT family", name));
}

/// Reads the whole config.
GptConfig read(const GptType& type, ConfigReader& config) {
  GptConfig c = type.defaults;
  type.keys.read(config, c);
  config.ignore_labels();  // only the classifiers use them
  config.finish();
  c.check();
  return c;
}

void write(const GptType& type, ConfigWriter& config, GptConfig c) {
  if (type.defaults.inner != 0) c.inner = c.inner_width();
  if (type.defaults.head_dim != 0) c.head_dim = c.head_size();
  c.kv_heads = c.key_heads();
  type.keys.write(config, c);
}

/// Declares the parameters of a class and maps their names.
GptModel declare(Graph& graph, const GptType& type, const GptConfig& c,
                 const std::string& architecture) {
  const GptNames& names = type.names;
  const std::string base = architecture == type.prefix + "Model" ? "" : names.base;
  Model model;
  model.model_type = type.name;
  model.architecture = architecture;
  model.family = c;
  model.unused_buffers = {"attn.bias", "attn.masked_bias", "position_ids", "attention.bias",
                          "attention.masked_bias", "rotary_emb.inv_freq",
                          // heads of other classes
                          "score.weight", names.head + ".weight"};
  model.base_prefix = names.base;
  model.names.add("lm_head", names.head);
  model.names.add("transformer.h", base + names.blocks);
  for (const auto& [ours, theirs] : names.modules)
    model.names.add("transformer." + ours, base + theirs);
  model.names.add_layers(c.layers, "transformer.h", base + names.blocks, names.block_modules);
  Gpt gpt(
      Scope(graph).evaluation(), c,
      architecture == type.prefix + type.language_model ? GptHead::language_model : GptHead::none);
  gpt.set_padded_causality(type.padded);
  return {std::move(gpt), std::move(model)};
}

/// Selects the scores of the last non-padding token of each row from scores [batch, seq, classes]
/// and returns them as [batch, classes]. If a row consists of padding only, its first token is
/// used. If `padding_id` is -1, the last position is used.
Value last_token_scores(Value scores, Value ids, std::int64_t padding_id) {
  if (padding_id < 0) return select(scores, 1, scores.size(1) - 1);
  Graph& graph = scores.graph();
  const Value place = iota(graph, {ids.size(1)}, 0, DType::i64);
  const Value last = argmax(where(not_equal(ids, padding_id), place, zeros(graph, DType::i64, {})),
                            1, true);  // [batch, 1]
  const Value index = broadcast_to(unsqueeze(last, 2), {scores.size(0), Dim(1), scores.size(2)});
  return select(take_along_axis(scores, index, 1), 1, Dim(0));
}

void classify(Request& request, Model& model, const GptConfig& config, Value ids, Value h,
              std::int64_t padding_id, std::string_view batch) {
  const std::int64_t classes = request.config.labels();
  const Linear score =
      make_linear(Scope(request.graph) / "score", DType::f32, config.width, classes,
                  {.bias = false, .initializer = Initializer::normal(config.initializer_range)});
  const Value logits = last_token_scores(score(h), ids, padding_id);
  model.outputs["logits"] = logits;
  if (const Value loss = sequence_label_loss(request, logits, classes, batch); loss.defined())
    model.outputs["loss"] = loss;
}

Model build(const GptType& type, Request& request) {
  const GptConfig config = read(type, request.config);
  const std::string task = request.task();
  const bool classifies = task == "ForSequenceClassification";
  auto [gpt, model] = declare(request.graph, type, config, request.architecture);
  if (task != type.language_model && task != "Model" && !classifies)
    request.unsupported_architecture();
  std::int64_t padding_id = -1;
  request.config.optional_id("pad_token_id", padding_id);
  // If there is no padding id, the end of a row is known only if the batch has a single row.
  const std::string_view batch = classifies && padding_id < 0 ? "" : "batch";
  GptInputs inputs{.ids = request.required("input_ids", {batch, "seq"})};
  if (batch.empty() && inputs.ids.size(0) != Dim(1)) {
    throw ArgumentError(fmt::format(
        "{} cannot classify {} rows at once: config.json has no pad_token_id, so the ends of the "
        "rows are unknown",
        request.architecture, inputs.ids.size(0).str()));
  }
  inputs.attention_mask = request.input("attention_mask", {batch, "seq"});
  if (type.takes_position_ids) inputs.position_ids = request.input("position_ids", {batch, "seq"});
  if (type.takes_token_type_ids)
    inputs.token_type_ids = request.input("token_type_ids", {batch, "seq"});
  const GptOutputs out = gpt(inputs);
  model.outputs = {{"last_hidden_state", out.last_hidden_state}};
  put_hidden(model, "hidden.", out.hidden);
  model.valid_rows = inputs.attention_mask;
  if (classifies) {
    classify(request, model, config, inputs.ids, out.last_hidden_state, padding_id, batch);
  } else if (out.logits.defined()) {
    model.outputs["logits"] = out.logits;
    if (const Value labels = request.input("labels", {"batch", "seq"}); labels.defined())
      model.outputs["loss"] = next_token_loss(out.logits, labels);
  }
  return std::move(model);
}

}  // namespace

bool is_gpt(const std::string& config_json) {
  return find_type(ConfigReader(config_json).model_type()) != nullptr;
}

std::int64_t default_bos_id(const std::string& config_json) {
  const GptType* type = find_type(ConfigReader(config_json).model_type());
  return type == nullptr ? -1 : type->default_bos_id;
}

bool is_gpt_language_model(const std::string& config_json) {
  const GptType* type = find_type(ConfigReader(config_json).model_type());
  if (type == nullptr) return false;
  const std::string named = architecture_of(config_json);
  return named.empty() || named == type->prefix + type->language_model ||
         named == type->prefix + "Model";
}

GptConfig gpt_config(const std::string& config_json) {
  ConfigReader config(config_json);
  return read(type_of(config), config);
}

GptModel build_gpt_model(Graph& graph, const std::string& config_json) {
  ConfigReader config(config_json);
  const GptType& type = type_of(config);
  GptModel built = declare(graph, type, read(type, config), type.prefix + type.language_model);
  built.model.config = config_json;
  return built;
}

ModelTypes gpt_model_types() {
  ModelTypes types;
  for (const GptType& type : gpt_types()) {
    types.push_back({type.name, type.prefix,
                     [&type](Request& request) { return build(type, request); },
                     [&type](ConfigWriter& config, const FamilyConfig& family, const HeadFacts&) {
                       write(type, config, std::get<GptConfig>(family));
                     }});
  }
  return types;
}

}  // namespace weft::hf
