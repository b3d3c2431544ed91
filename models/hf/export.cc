#include "weft/models/hf/export.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <utility>

#include "weft/core/error.h"
#include "weft/graph/ir/program.h"
#include "weft/models/families/layer_pattern.h"
#include "weft/models/hf/request.h"
#include "weft/serialization/match_tensors.h"

namespace weft::hf {
namespace {

/// Returns true for fields that affect training but not the outputs of a model. Some Hugging Face
/// configs have no corresponding keys.
bool is_training_only(std::string_view field) {
  static const std::set<std::string_view> names = {"embedding_dropout",
                                                   "attention_dropout",
                                                   "residual_dropout",
                                                   "hidden_dropout",
                                                   "attention_out_dropout",
                                                   "inner_dropout",
                                                   "dropout",
                                                   "activation_dropout",
                                                   "final_dropout",
                                                   "encoder_layer_dropout",
                                                   "decoder_layer_dropout",
                                                   "label_smoothing",
                                                   "balancing_weight",
                                                   "router_z_weight",
                                                   "correction_speed",
                                                   "initializer_range",
                                                   "initializer_factor",
                                                   "trainable_positions",
                                                   "drop_path",
                                                   "drop_path_increases",
                                                   "layer_scale_init",
                                                   "position_shift",
                                                   "position_jitter",
                                                   "position_rescale",
                                                   "frozen_padding",
                                                   "logit_scale",
                                                   "logit_bias"};
  // Fields of the towers of image-text models.
  for (const std::string_view tower : {"text_", "vision_"}) {
    if (field.starts_with(tower)) field.remove_prefix(tower.size());
  }
  return names.contains(field);
}

/// Resets the fields that the kind of scaling does not use.
template <class Config>
void reset_unused_scaling(Config& c) {
  using enum RotaryScalingKind;
  const Config usual;
  const auto reset = [&](auto Config::*field, std::initializer_list<RotaryScalingKind> kinds) {
    if (std::find(kinds.begin(), kinds.end(), c.rotary_scaling) == kinds.end())
      c.*field = usual.*field;
  };
  reset(&Config::rotary_factor, {linear, dynamic, llama3, yarn, longrope});
  reset(&Config::rotary_low_factor, {llama3});
  reset(&Config::rotary_high_factor, {llama3});
  reset(&Config::rotary_context, {dynamic, llama3, yarn, longrope});
  reset(&Config::rotary_attention_factor, {yarn, longrope});
  reset(&Config::rotary_beta_fast, {yarn});
  reset(&Config::rotary_beta_slow, {yarn});
  reset(&Config::rotary_truncate, {yarn});
}

// Normalises configs for comparison: sets fields that are derived from other fields, and resets
// fields that have no effect.
void make_explicit(GptConfig& c) {
  c.inner = c.inner_width();
  c.kv_heads = c.key_heads();
  c.head_dim = c.head_size();
  // padding_id affects gradients only.
  c.padding_id = -1;
  c.embedding_width = c.embeddings();
  c.value_dim = c.kv_rank == 0 ? 0 : c.value_size();
  if (c.latent_norm_eps == 0) c.latent_norm_eps = c.layer_norm_eps;
  if (c.kv_rank == 0) c.latent_norm_eps = 0;
  const GptConfig usual;
  for (std::string* pattern :
       {&c.window_layers, &c.rotary_layers, &c.expert_layers, &c.query_growth_layers})
    *pattern = shortest_pattern(*pattern, c.layers);
  if (c.bias) c.attention_bias = c.mlp_bias = c.norm_bias = false;
  if (c.bias || c.attention_bias) c.qkv_bias = c.attention_out_bias = false;
  if (c.norm == GptNorm::rms_norm) c.norm_bias = false;
  if (c.attention_scale == 0 && c.scale_attention)
    c.attention_scale = 1 / std::sqrt(static_cast<double>(c.head_size()));
  if (c.attention_scale == 0) c.attention_scale = 1;
  c.scale_attention = true;
  if (c.query_growth == 0) {
    c.query_growth_context = usual.query_growth_context;
    c.query_growth_offset = usual.query_growth_offset;
  }
  if (c.positions != GptPositions::linear_bias) {
    c.linear_bias_max = usual.linear_bias_max;
    c.linear_bias_scale = usual.linear_bias_scale;
  }
  if (c.experts > 0) {
    c.expert_inner = c.expert_width();
    if (c.router_groups == 1) c.router_group_score = usual.router_group_score;
  } else {
    c.experts_per_token = usual.experts_per_token;
    c.normalize_experts = usual.normalize_experts;
    c.expert_scale = usual.expert_scale;
    c.experts_transposed = usual.experts_transposed;
  }
  if (!c.qk_norm) c.qk_norm_bias = usual.qk_norm_bias;
  if (c.positions != GptPositions::rotary) {
    c.rotary_base = usual.rotary_base;
    c.rotary_share = usual.rotary_share;
    c.rotary_scaling = usual.rotary_scaling;
  }
  reset_unused_scaling(c);
}
void make_explicit(EncoderConfig& c) {
  c.embedding_width = c.embeddings();
  c.head_size = c.head_width();
  c.kv_heads = c.key_heads();
  c.window_layers = shortest_pattern(c.window_layers, c.layers);
  c.head_activation = choice_name(c.activation_in_heads());
  if (c.rms_norm) c.norm_bias = false;
  const EncoderConfig usual;
  if (c.positions != EncoderPositions::rotary) {
    c.rotary_base = usual.rotary_base;
    c.rotary_share = usual.rotary_share;
  }
  if (c.positions != EncoderPositions::relative_bias) {
    c.relative_buckets = usual.relative_buckets;
    c.relative_max_distance = usual.relative_max_distance;
  }
  reset_unused_scaling(c);
  if (c.conv_kernel == 0) {
    c.conv_groups = usual.conv_groups;
    c.conv_least_kernel = usual.conv_least_kernel;
    c.conv_activation = usual.conv_activation;
  }
  if (c.positions == EncoderPositions::disentangled) return;
  c.content_to_position = usual.content_to_position;
  c.position_to_content = usual.position_to_content;
  c.relative_attention = usual.relative_attention;
  c.max_relative = usual.max_relative;
  c.position_buckets = usual.position_buckets;
}
void make_explicit(EncoderDecoderConfig& c) {
  const Seq2SeqStack encoder = c.encoder(), decoder = c.decoder();
  c.head_size = encoder.head_size;
  c.decoder_head_size = decoder.head_size;
  c.decoder_width = decoder.width;
  c.encoder_kv_heads = encoder.kv_heads;
  c.decoder_kv_heads = decoder.kv_heads;
  if (c.positions == Seq2SeqPositions::rotary) {
    c.encoder_attention_scale = encoder.attention_scale;
    c.decoder_attention_scale = decoder.attention_scale;
    c.scale_scores = true;
    c.decoder_rotary_base = decoder.rotary_base;
  } else {
    c.rotary_base = c.decoder_rotary_base = 0;
  }
  if (c.bias) c.attention_bias = c.mlp_bias = false;
  c.encoder_window_layers = shortest_pattern(c.encoder_window_layers, c.encoder_layers);
  c.decoder_window_layers = shortest_pattern(c.decoder_window_layers, c.decoder_layers);
  if (c.positions != Seq2SeqPositions::learned) c.context = c.position_offset = 0;
  if (!c.reads_speech()) c.source_context = 0;
  c.key_bias = c.key_bias && c.bias;
  if (c.positions != Seq2SeqPositions::relative_bias)
    c.relative_buckets = c.relative_max_distance = 0;
}
void make_explicit(VitConfig& c) {
  const VitConfig usual;
  c.interpolation = usual.interpolation;  // affects other image sizes only
  c.mask_token = usual.mask_token;        // nothing in the classes reads an absent token
  if (!c.qkv_bias) c.query_bias = c.key_bias = c.value_bias = true;
  if (!c.layer_scale) c.layer_scale_init = usual.layer_scale_init;
  if (c.final_norm) c.pooled_norm = usual.pooled_norm;
  if (c.drop_path == 0) c.drop_path_increases = usual.drop_path_increases;
  if (c.positions != VitPositions::rotary_2d) {
    c.rotary_base = usual.rotary_base;
    c.position_shift = usual.position_shift;
    c.position_jitter = usual.position_jitter;
    c.position_rescale = usual.position_rescale;
  }
  if (c.positions != VitPositions::fixed) {
    c.decoder_layers = usual.decoder_layers;
    c.decoder_heads = usual.decoder_heads;
    c.decoder_width = usual.decoder_width;
    c.decoder_inner = usual.decoder_inner;
    c.mask_ratio = usual.mask_ratio;
    c.normalise_pixel_loss = usual.normalise_pixel_loss;
  }
}
void make_explicit(SwinConfig&) {}
void make_explicit(ImageTextConfig& c) {
  const ImageTextConfig usual;
  if (!c.has_text()) c.text = usual.text;
  if (!c.has_images()) c.image = usual.image;
  make_explicit(c.text);
  make_explicit(c.image);
  c.text.padding_id = -1;  // affects gradients only
  if (c.text_pooling != TextTowerPooling::end_of_text) c.end_id = usual.end_id;
  // Single towers have only their own projection, and no logits.
  if (!c.has_text() || c.projection == 0) c.text_projection_bias = usual.text_projection_bias;
  if (!c.has_images() || c.projection == 0) c.image_projection = usual.image_projection;
  if (c.towers == ImageTextTowers::both) return;
  c.loss = usual.loss;
  c.logit_scale = usual.logit_scale;
  c.logit_bias = usual.logit_bias;
}

/// Returns the number of pixels per patch of the last layer, for heads that predict pixels.
std::int64_t pixel_stride(const FamilyConfig& family) {
  if (const auto* vit = std::get_if<VitConfig>(&family)) return vit->patch_height;
  const auto* swin = std::get_if<SwinConfig>(&family);
  return swin == nullptr ? 0 : swin->patch_height << (swin->stages() - 1);
}

json fields_of(FamilyConfig family) {
  return std::visit(
      [](auto& config) {
        make_explicit(config);
        return json::parse(config.to_json());
      },
      family);
}

/// Differences between a Hugging Face class and the model to export. Each difference has one entry.
struct Differences {
  std::vector<std::string> problems;  // differences that affect results
  std::vector<std::string> left_out;  // training settings for which the class has no key
  std::size_t settings = 0;           // number of problems of the config and the head
};

void compare_configs(const FamilyConfig& wanted, const Model& built, Differences& found) {
  const json want = fields_of(wanted), got = fields_of(built.family.value());
  for (const auto& [field, value] : want.items()) {
    if (got.at(field) == value) continue;
    if (is_training_only(field)) {
      found.left_out.push_back(fmt::format("{} = {}", field, value.dump()));
      continue;
    }
    found.problems.push_back(
        fmt::format("no Hugging Face model type supports {} = {} in combination with the rest of "
                    "this config: the "
                    "closest type, \"{}\", has {}",
                    field, value.dump(), built.model_type, got.at(field).dump()));
  }
}

void compare_heads(const ModelToExport& model, const Model& built, Differences& found) {
  const auto differs = [&](const char* what, const auto& wanted, const auto& got) {
    if (wanted == got) return;
    found.problems.push_back(fmt::format("the head of {} has {}, but the head of the model has {}",
                                         built.architecture, fmt::format("{} {}", what, got),
                                         fmt::format("{} {}", what, wanted)));
  };
  if (model.pooler)
    differs("the activation", library_name(*model.pooler), library_name(built.heads.pooler));
  if (!model.masked_lm) return;
  differs("the activation", library_name(model.masked_lm->activation),
          library_name(built.heads.masked_lm.activation));
  differs("layer_norm_eps", model.masked_lm->layer_norm_eps, built.heads.masked_lm.layer_norm_eps);
}

/// Returns the config keys of the model. Keys that only repeat other keys are marked.
ConfigWriter keys_of(const ModelType& type, const FamilyConfig& family, const HeadFacts& heads) {
  ConfigWriter writer;
  type.write(writer, family, heads);
  return writer;
}

/// Updates those keys of an object within a config that differ between `before` and `after`.
void patch_object(json& object, const json& before, const json& after) {
  for (const auto& [key, value] : after.items()) {
    if (!before.contains(key) || before.at(key) != value) object[key] = value;
  }
  for (const auto& [key, value] : before.items()) {
    if (!after.contains(key)) object.erase(key);
  }
}

/// Updates the keys of `config` whose values differ between the writers `before` and `after`.
void patch(json& config, const ConfigWriter& before, const ConfigWriter& after) {
  for (const auto& [key, value] : after.object().items()) {
    const auto old = before.object().find(key);
    const bool same = old != before.object().end() && *old == value;
    if (same || (after.is_repeated(key) && !config.contains(key))) continue;
    // Early files of CLIP describe each tower twice. The second description has the old values.
    if (value.is_object()) config.erase(key + "_dict");
    if (value.is_object() && config.contains(key) && config[key].is_object() &&
        old != before.object().end()) {
      patch_object(config[key], *old, value);
    } else {
      config[key] = value;
    }
  }
  for (const auto& [key, value] : before.object().items()) {
    if (!after.object().contains(key)) config.erase(key);
  }
}

void put_labels(json& config, const std::string& architecture, const ModelToExport& model) {
  const auto forget = [&] {
    for (const char* key : {"id2label", "label2id", "num_labels", "_num_labels"}) config.erase(key);
  };
  if (model.labels.empty()) {
    // These classes always have two labels, regardless of the class in the original folder.
    const bool two =
        architecture.ends_with("ForQuestionAnswering") || architecture.ends_with("ForPreTraining");
    if (two && ConfigReader(config.dump()).labels() != 2) forget();
    return;
  }
  if (model.problem_type) {
    config["problem_type"] = *model.problem_type;
    if (model.problem_type->empty()) config.erase("problem_type");
  }
  const json ids = config.value("id2label", json::object());
  bool same = ids.size() == model.labels.size();
  for (std::size_t i = 0; same && i < model.labels.size(); ++i) {
    const auto found = ids.find(std::to_string(i));
    same = found != ids.end() && *found == model.labels[i];
  }
  // Hugging Face transformers uses these names by default.
  bool usual = ids.empty() && ConfigReader(config.dump()).labels() == std::ssize(model.labels);
  for (std::size_t i = 0; usual && i < model.labels.size(); ++i)
    usual = model.labels[i] == fmt::format("LABEL_{}", i);
  if (same || usual) return;
  forget();
  for (std::size_t i = 0; i < model.labels.size(); ++i) {
    config["id2label"][std::to_string(i)] = model.labels[i];
    config["label2id"][model.labels[i]] = i;
  }
}

/// Sets the dtype to float32, because weights are written in float32.
void put_dtype(json& config, bool is_new) {
  for (const char* key : {"torch_dtype", "dtype"}) {
    if (config.contains(key) && config[key] != "float32") config[key] = "float32";
  }
  if (is_new) config["torch_dtype"] = "float32";
}

std::string write_config(const ModelToExport& model, const ModelType& type,
                         const std::string& architecture, const std::string& base) {
  HeadFacts heads;
  json config = json::object();
  const bool pixels = architecture.ends_with("ForMaskedImageModeling");
  if (!base.empty()) {
    Graph graph;
    const std::string named = architecture_of(base);
    const Model before =
        build_model(graph, base, minimal_inputs(base), named.empty() ? architecture : named);
    config = json::parse(base);
    heads = before.heads;
    const ConfigWriter old = keys_of(type, before.family.value(), heads);
    if (model.pooler) heads.pooler = *model.pooler;
    if (pixels) heads.stride = pixel_stride(model.family);
    patch(config, old, keys_of(type, model.family, heads));
  } else {
    if (model.pooler) heads.pooler = *model.pooler;
    heads.stride = pixel_stride(model.family);
    const ConfigWriter written = keys_of(type, model.family, heads);
    for (const auto& [key, value] : written.object().items()) {
      if (!written.is_repeated(key)) config[key] = value;
    }
  }
  config["model_type"] = type.name;
  config["architectures"] = json::array({architecture});
  put_labels(config, architecture, model);
  if (!model.pair_activation.empty()) {
    config.erase("sbert_ce_default_activation_function");
    config["sentence_transformers"] = {{"activation_fn", model.pair_activation}};
  }
  put_dtype(config, base.empty());
  return !base.empty() && config == json::parse(base) ? base : config.dump(2) + "\n";
}

/// Returns the weights with zeros for missing tensors that do not affect the outputs: untrained
/// tensors, and tensors that a class has but never reads, so that programs omit them (for example,
/// BERT's absolute position table if positions are relative).
TensorMap add_unread_weights(const ModelToExport& model, const Model& built, const Graph& graph) {
  Program outputs("outputs");
  for (const auto& [name, value] : built.outputs) outputs.output(name, value);
  std::set<std::string> read;
  for (const Variable& variable : outputs.variables()) read.insert(variable.name());
  TensorMap weights = model.weights;
  for (const Variable& variable : weight_variables(graph)) {
    const std::string& name = variable.name();
    const bool needed =
        read.contains(name) &&
        std::none_of(model.untrained.begin(), model.untrained.end(),
                     [&](const std::string& front) { return name.starts_with(front); });
    if (needed || weights.contains(name)) continue;
    weights[variable.name()] =
        Tensor::zeros(variable.dtype(), variable.info().type.shape.evaluate({}));
  }
  return weights;
}

/// A class to which the model could be exported, and its differences from the model.
struct Candidate {
  ExportedModel exported;
  Differences differences;
};

Candidate try_class(const ModelToExport& model, const ModelType& type, const std::string& ending,
                    const std::string& base) {
  Candidate candidate;
  ExportedModel& exported = candidate.exported;
  exported.type = type.name;
  exported.architecture = type.class_name(ending);
  exported.config = write_config(model, type, exported.architecture, base);
  Graph graph;
  const Model built = build_model(graph, exported.config, minimal_inputs(exported.config));
  Differences& found = candidate.differences;
  compare_configs(model.family, built, found);
  compare_heads(model, built, found);
  exported.left_out = found.left_out;
  found.settings = found.problems.size();
  if (model.weights.empty()) return candidate;
  const Match match =
      find_matches(weight_variables(graph), add_unread_weights(model, built, graph));
  for (const std::string& problem : match.problems)
    found.problems.push_back(
        fmt::format("the weights do not fit {}: {}", exported.architecture, problem));
  TensorMap weights;
  for (const auto& [variable, tensor] : match.pairs) {
    weights[variable.name()] = tensor;
    for (const std::string& alias : variable.info().aliases) {
      // A parameter may have the same name in the file as its alias.
      const std::string name = built.names.theirs(alias);
      if (name != built.names.theirs(variable.name())) exported.tied[name] = tensor;
    }
  }
  exported.weights = file_tensors(built, std::move(weights));
  return candidate;
}

/// Moves the class that the original folder names to the front if it is one of the candidates.
std::vector<std::string> in_order(std::vector<std::string> endings, const ModelType& type,
                                  const std::string& base) {
  const std::string named = base.empty() ? std::string() : architecture_of(base);
  std::stable_partition(endings.begin(), endings.end(), [&](const std::string& ending) {
    return named == type.class_name(ending);
  });
  return endings;
}

}  // namespace

ExportedModel export_model(const ModelToExport& model, const std::string& base) {
  const ModelTypes types = base.empty()
                               ? model_types(model.family.index())
                               : ModelTypes{*find_model_type(ConfigReader(base).model_type())};
  std::vector<std::string> nearest;
  std::pair<std::size_t, std::size_t> distance;  // settings first, then weights
  std::string refused;
  for (const ModelType& type : types) {
    for (const std::string& ending : in_order(model.endings, type, base)) {
      Candidate candidate;
      try {
        candidate = try_class(model, type, ending, base);
      } catch (const ArgumentError& e) {
        // The model type has no such class or does not allow these sizes.
        if (refused.empty()) refused = e.what();
        continue;
      }
      std::vector<std::string>& problems = candidate.differences.problems;
      if (problems.empty()) return std::move(candidate.exported);
      const std::pair own{candidate.differences.settings, problems.size()};
      if (!nearest.empty() && own >= distance) continue;
      distance = own;
      nearest = std::move(problems);
    }
  }
  throw ArgumentError(nearest.empty() ? refused : nearest.front());
}

std::string config_json(const FamilyConfig& family, const std::vector<std::string>& endings) {
  return export_model({.family = family, .weights = {}, .endings = endings}).config;
}

}  // namespace weft::hf
