// Reads, builds and writes the classes of the GPT family: base model, language model and sequence
// classifier. The differences between the model types are in the table gpt_types().
#include "weft/models/hf/gpt.h"

#include <fmt/format.h>

#include <algorithm>

#include "weft/core/error.h"
#include "weft/graph/functions.h"
#include "weft/models/hf/decoders/gpt_types.h"
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
  if (c.experts > 0) c.expert_inner = c.expert_width();
  type.keys.write(config, c);
}

/// Declares the parameters of a class and maps their names.
GptModel declare(Graph& graph, const GptType& type, const GptConfig& c,
                 const std::string& architecture) {
  GptNames names = type.names;
  if (type.adjust_names != nullptr) type.adjust_names(c, names);
  const std::string base = architecture == type.prefix + "Model" ? "" : names.base;
  Model model;
  model.model_type = type.name;
  model.architecture = architecture;
  model.family = c;
  model.unused_buffers = {"attn.bias", "attn.masked_bias", "attn.causal_mask", "position_ids",
                          "attention.bias", "attention.masked_bias", "rotary_emb.inv_freq",
                          // heads of other classes
                          "score.weight", "score.bias", "classifier.weight", "classifier.bias",
                          names.head + ".weight", names.head + ".bias"};
  for (const std::string& pattern : names.unused) model.unused_buffers.insert(base + pattern);
  model.base_prefix = names.base;
  model.names.add("lm_head", names.head);
  model.names.add("transformer.h", base + names.blocks);
  for (const auto& [ours, theirs] : names.modules)
    model.names.add("transformer." + ours, base + theirs);
  model.names.add_layers(c.layers, "transformer.h", base + names.blocks, names.block_modules);
  for (std::int64_t i = 0; i < c.layers; ++i) {
    for (FileLayout layout : names.layouts) {
      layout.ours = fmt::format("transformer.h.{}.{}", i, layout.ours);
      layout.theirs = fmt::format("{}{}.{}.{}", base, names.blocks, i, layout.theirs);
      model.layouts.add(std::move(layout));
    }
  }
  Gpt gpt(Scope(graph).evaluation(), c,
          architecture == type.language_model_class() ? GptHead::language_model : GptHead::none);
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

Linear score_layer(Request& request, const GptConfig& config, const std::string& name,
                   std::int64_t classes, bool bias) {
  return make_linear(Scope(request.graph) / name, DType::f32, config.embeddings(), classes,
                     {.bias = bias, .initializer = Initializer::normal(config.initializer_range)});
}

void classify(Request& request, Model& model, const GptConfig& config, Value ids, Value h,
              std::int64_t padding_id, std::string_view batch) {
  const std::int64_t classes = request.config.labels();
  const Linear score = score_layer(request, config, "score", classes, false);
  const Value logits = last_token_scores(score(h), ids, padding_id);
  model.outputs["logits"] = logits;
  if (const Value loss = sequence_label_loss(request, logits, classes, batch); loss.defined())
    model.outputs["loss"] = loss;
}

/// Labels of -100 are ignored.
void classify_tokens(Request& request, Model& model, const GptType& type, const GptConfig& config,
                     Value h) {
  const std::int64_t classes = request.config.labels();
  const Value logits = score_layer(request, config, type.token_scores, classes, true)(h);
  model.outputs["logits"] = logits;
  if (const Value labels = request.input("labels", {"batch", "seq"}); labels.defined())
    model.outputs["loss"] = cross_entropy(logits, labels, {.class_axis = -1, .ignore_index = -100});
}

/// Adds the scores of the routers and the load-balancing loss.
void put_routers(Model& model, const GptOutputs& out, const GptConfig& config,
                 const GptInputs& inputs) {
  for (std::size_t i = 0; i < out.routings.size(); ++i) {
    const Value logits = out.routings[i].logits;
    model.outputs["router_logits." + std::to_string(i)] =
        reshape(logits, {inputs.ids.size(0), inputs.ids.size(1), logits.size(1)});
  }
  if (!out.routings.empty() && config.router_scores == RouterScores::softmax)
    model.outputs["aux_loss"] = joint_balancing_loss(out.routings, inputs.attention_mask);
}

Model build(const GptType& type, Request& request) {
  request.architecture = type.library_class(request.architecture);
  const GptConfig config = read(type, request.config);
  const bool has_head = request.architecture == type.language_model_class();
  const std::string task = has_head ? type.language_model : request.task();
  const bool classifies = task == "ForSequenceClassification" && type.has_sequence_classifier;
  const bool tags = task == "ForTokenClassification" && !type.token_scores.empty();
  if (!has_head && task != "Model" && !classifies && !tags) request.unsupported_architecture();
  auto [gpt, model] = declare(request.graph, type, config, request.architecture);
  std::int64_t padding_id = std::max(type.default_pad_id, type.defaults.padding_id);
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
  } else if (tags) {
    classify_tokens(request, model, type, config, out.last_hidden_state);
  } else if (out.logits.defined()) {
    model.outputs["logits"] = out.logits;
    put_routers(model, out, config, inputs);
    if (const Value labels = request.input("labels", {"batch", "seq"}); labels.defined())
      model.outputs["loss"] = with_router_losses(next_token_loss(out.logits, labels), config, out,
                                                 inputs.attention_mask);
  }
  return std::move(model);
}

}  // namespace

bool is_gpt(const std::string& config_json) {
  return find_type(ConfigReader(config_json).model_type()) != nullptr;
}

std::string gpt_base_class(const std::string& config_json) {
  return find_type(ConfigReader(config_json).model_type())->prefix + "Model";
}

std::int64_t default_bos_id(const std::string& config_json) {
  const GptType* type = find_type(ConfigReader(config_json).model_type());
  return type == nullptr ? -1 : type->default_bos_id;
}

bool is_gpt_language_model(const std::string& config_json) {
  const GptType* type = find_type(ConfigReader(config_json).model_type());
  if (type == nullptr) return false;
  const std::string named = type->library_class(architecture_of(config_json));
  return named.empty() || named == type->language_model_class() || named == type->prefix + "Model";
}

GptConfig gpt_config(const std::string& config_json) {
  ConfigReader config(config_json);
  return read(type_of(config), config);
}

GptModel build_gpt_model(Graph& graph, const std::string& config_json) {
  ConfigReader config(config_json);
  const GptType& type = type_of(config);
  GptModel built = declare(graph, type, read(type, config), type.language_model_class());
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
                     },
                     type.language_model, type.language_model_class()});
  }
  return types;
}

}  // namespace weft::hf
