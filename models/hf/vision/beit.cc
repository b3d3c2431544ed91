// BEiT and the vision models of data2vec.
#include <fmt/format.h>

#include "weft/core/error.h"
#include "weft/graph/functions.h"
#include "weft/models/families/size_limits.h"
#include "weft/models/fields/check.h"
#include "weft/models/hf/vision/vision_task.h"

namespace weft::hf {
namespace {

/// Reads the boolean `value` of a key.
bool flag(const json& value, const char* key) {
  bool result = false;
  read_json(value, key, result);
  return result;
}

template <class Config>
void beit_keys(Config& config, VitConfig& c) {
  vision_keys(config, c);
  vision_dropout_keys(config, c);
  config.field("intermediate_size", c.inner)
      .field("use_mask_token", c.mask_token)
      .field("use_relative_position_bias", c.relative_bias)
      .field("use_shared_relative_position_bias", c.shared_relative_bias)
      .field("drop_path_rate", c.drop_path)
      .converted(
          "use_absolute_position_embeddings",
          [&](const json& value) {
            c.positions = flag(value, "use_absolute_position_embeddings") ? VitPositions::learned
                                                                          : VitPositions::none;
          },
          [&]() -> json { return c.positions == VitPositions::learned; })
      .converted(
          "layer_scale_init_value",
          [&](const json& value) {
            read_json(value, "layer_scale_init_value", c.layer_scale_init);
            c.layer_scale = c.layer_scale_init > 0;
          },
          [&]() -> json { return c.layer_scale ? c.layer_scale_init : 0; })
      .converted(
          "use_mean_pooling",
          [&](const json& value) {
            c.final_norm = !flag(value, "use_mean_pooling");
            c.pooling = c.final_norm ? VitPooling::class_token : VitPooling::patch_mean;
          },
          [&]() -> json { return c.pooling == VitPooling::patch_mean; });
}

/// Predicts the visual tokens of masked patches. The loss is over the masked patches; their labels
/// [masked patches] are in row-major order.
void predict_tokens(VisionTask& task, bool has_own_norm, std::int64_t vocabulary) {
  const VitConfig& c = task.config;
  Value h = task.last_hidden_state;
  if (has_own_norm) h = layer_norm(task.root / "token_norm", h, {.eps = c.layer_norm_eps});
  // In this case, the base model has no norm.
  if (!has_own_norm)
    task.model.outputs["last_hidden_state"] =
        task.model.outputs.at(fmt::format("hidden.{}", c.layers));
  const Value logits = task.head("tokens", vocabulary, slice(h, 1, {.begin = Dim(1)}));
  task.model.outputs["logits"] = logits;
  Request& request = task.request;
  const Value labels = request.input("labels", {"masked"});
  if (!labels.defined()) return;
  if (!task.mask.defined())
    throw ArgumentError(
        fmt::format("{} requires the input bool_masked_pos with labels", request.architecture));
  // The k-th masked patch has label k: gather the labels, and ignore those of visible patches.
  const Value masked =
      reshape(cast(task.mask, DType::boolean), {Dim(logits.size(0)) * logits.size(1)});
  const Value place = where(masked, cumsum(cast(masked, DType::i64), 0) - 1, 0);
  const Value each = where(masked, take(cast(labels, DType::i64), place, 0), -100);
  task.model.outputs["loss"] =
      cross_entropy(reshape(logits, {masked.size(0), vocabulary}), each, {.ignore_index = -100});
}

ModelType beit_type(const std::string& name, const std::string& prefix, const std::string& base,
                    bool has_pooler) {
  const auto build = [=](Request& request) {
    VitConfig c{.positions = VitPositions::none, .pooling = VitPooling::patch_mean};
    c.interpolation = VitInterpolation::bicubic;
    c.layer_scale = true;
    c.layer_scale_init = 0.1;
    c.drop_path = 0.1;
    c.key_bias = c.final_norm = false;
    beit_keys(request.config, c);
    std::int64_t vocabulary = 8192;
    const std::string ending = request.task();
    const bool predicts = ending == "ForMaskedImageModeling" && has_pooler;
    if (predicts) {
      request.config.field("vocab_size", vocabulary);
      check::at_least("vocab_size", vocabulary, 1);
      check::at_most({{"vocab_size", vocabulary, size_limits::kVocab}});
    } else {
      request.config.ignore({"vocab_size"});
    }
    request.config.ignore_labels().ignore(
        {"add_fpn", "auxiliary_channels", "auxiliary_concat_input", "auxiliary_loss_weight",
         "auxiliary_num_convs", "out_features", "out_indices", "pool_scales",
         "reshape_hidden_states", "semantic_loss_ignore_index", "semantic_out_indices",
         "stage_names", "use_auxiliary_head"});
    const VitConfig family = c;
    const bool pools_mean = c.pooling == VitPooling::patch_mean;
    std::string norm = pools_mean ? "pooler.layernorm" : "layernorm";
    // The class for pre-training has another norm. With mean pooling, the base model lacks its
    // norm.
    if (predicts && pools_mean) c.final_norm = true;
    if (ending == "Model" && !has_pooler && pools_mean) c.pooled_norm = false;
    ModuleNames modules = vit_module_names();
    ModuleNames layer = vit_layer_names();
    std::erase_if(modules, [](const auto& pair) { return pair.first == "norm"; });
    if (!(predicts && pools_mean)) modules.emplace_back("norm", norm);
    constexpr const char* kTable = "relative_position_bias.relative_position_bias_table";
    modules.emplace_back("relative_bias", std::string("encoder.") + kTable);
    layer.emplace_back("attention.relative_bias", std::string("attention.attention.") + kTable);
    layer.emplace_back("attention_scale", "lambda_1");
    layer.emplace_back("feed_forward_scale", "lambda_2");
    using enum VisionClasses::Pooler;
    VisionTask task(request, c,
                    {.base = base,
                     .modules = std::move(modules),
                     .layers = "encoder.layer",
                     .layer = std::move(layer),
                     .pooler = has_pooler ? pool : none});
    task.model.family = family;
    task.model.unused_buffers.merge(std::set<std::string>{"*relative_position_index", "lm_head.*",
                                                          "layernorm.*", "decode_head.*",
                                                          "auxiliary_head.*", "fpn1.*", "fpn2.*"});
    if (predicts) {
      task.model.names.add(pools_mean ? "norm" : "token_norm", "layernorm");
      task.model.names.add("tokens", "lm_head");
    }
    return task.build([&](const std::string&) {
      if (predicts) predict_tokens(task, !pools_mean, vocabulary);
      return predicts;
    });
  };
  const auto write = [](ConfigWriter& config, const FamilyConfig& family, const HeadFacts&) {
    auto c = std::get<VitConfig>(family);
    beit_keys(config, c);
  };
  return {name, prefix, build, write};
}

}  // namespace

ModelTypes beit_model_types() {
  return {beit_type("beit", "Beit", "beit", true),
          beit_type("data2vec-vision", "Data2VecVision", "data2vec_vision", false)};
}

}  // namespace weft::hf
