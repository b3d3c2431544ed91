// Swin transformers.
#include <fmt/format.h>

#include "weft/core/error.h"
#include "weft/graph/functions.h"
#include "weft/models/families/swin.h"
#include "weft/models/hf/vision/vision_task.h"

namespace weft::hf {
namespace {

/// Adds a list of whole numbers.
template <class Config>
void whole_numbers(Config& config, const char* key, std::vector<double>& values) {
  config.converted(
      key, [&](const json& value) { read_json(value, key, values); },
      [&]() -> json {
        json list = json::array();
        for (const double value : values) list.push_back(static_cast<std::int64_t>(value));
        return list;
      });
}

template <class Config>
void swin_keys(Config& config, SwinConfig& c, std::int64_t& stride) {
  whole_numbers(config, "depths", c.depths);
  whole_numbers(config, "num_heads", c.heads);
  config.field("embed_dim", c.width)
      .field("window_size", c.window)
      .field("mlp_ratio", c.mlp_ratio)
      .field("qkv_bias", c.qkv_bias)
      .field("hidden_act", c.activation)
      .field("hidden_dropout_prob", c.dropout)
      .field("attention_probs_dropout_prob", c.attention_dropout)
      .field("drop_path_rate", c.drop_path)
      .field("use_absolute_embeddings", c.positions)
      .field("initializer_range", c.initializer_range)
      .field("layer_norm_eps", c.layer_norm_eps)
      .field("num_channels", c.channels)
      .field("encoder_stride", stride)
      .size("image_size", c.image_height, c.image_width)
      .size("patch_size", c.patch_height, c.patch_width);
  // Keys that are derived from others, which must be valid.
  c.check();
  std::int64_t stages = c.stages(), width = c.final_width();
  config.repeated("num_layers", "depths", stages).repeated("hidden_size", "embed_dim", width);
  if (stages != c.stages())
    throw ArgumentError(
        fmt::format("config.json: num_layers = {} contradicts depths, which has {} numbers", stages,
                    c.stages()));
  if (width != c.final_width())
    throw ArgumentError(fmt::format(
        "config.json: hidden_size = {} contradicts embed_dim = {} and the {} stages of depths, "
        "with which it is {}",
        width, c.width, c.stages(), c.final_width()));
}

Model build_swin(Request& request) {
  SwinConfig c;
  std::int64_t stride = 32;
  swin_keys(request.config, c, stride);
  request.config.ignore_labels().ignore(
      {"out_features", "out_indices", "path_norm", "stage_names"});
  const std::string task = request.task();
  const bool masked = task == "ForMaskedImageModeling";
  const Scope root = Scope(request.graph).evaluation();
  const Swin net(root, c, masked);
  Model model;
  model.family = c;
  model.heads.stride = stride;
  model.base_prefix = "swin.";
  model.unused_buffers = {"classifier.*", "decoder.0.*", "embeddings.mask_token",
                          "relative_position_index", "attn_mask"};
  const std::string base = task == "Model" ? "" : model.base_prefix;
  for (const auto& [ours, theirs] : {std::pair{"patches", "embeddings.patch_embeddings.projection"},
                                     {"embedding_norm", "embeddings.norm"},
                                     {"mask_token", "embeddings.mask_token"},
                                     {"positions", "embeddings.position_embeddings"},
                                     {"norm", "layernorm"}})
    model.names.add(ours, base + theirs);
  for (std::int64_t s = 0; s < c.stages(); ++s) {
    const std::string ours = fmt::format("stages.{}.", s);
    const std::string theirs = fmt::format("{}encoder.layers.{}.", base, s);
    model.names.add(ours + "merge", theirs + "downsample");
    model.names.add_layers(
        c.depth(s), ours + "blocks", theirs + "blocks",
        {{"attention.query", "attention.self.query"},
         {"attention.key", "attention.self.key"},
         {"attention.value", "attention.self.value"},
         {"attention.relative_bias", "attention.self.relative_position_bias_table"},
         {"attention.out", "attention.output.dense"},
         {"attention_norm", "layernorm_before"},
         {"feed_forward.up", "intermediate.dense"},
         {"feed_forward.down", "output.dense"},
         {"feed_forward_norm", "layernorm_after"}});
  }
  const Value images = request.required("pixel_values", {"batch", "", "", ""});
  Value mask;
  if (masked) mask = request.input("bool_masked_pos", {"batch", ""});
  if (mask.defined() && mask.size(1) != Dim(c.rows() * c.columns()))
    throw ShapeError(
        fmt::format("bool_masked_pos must be [batch, {}] (one number per patch), not [batch, {}]",
                    c.rows() * c.columns(), mask.size(1).str()));
  const VitOutputs outputs = net(images, mask);
  const Value h = outputs.last_hidden_state;
  model.outputs["last_hidden_state"] = h;
  put_hidden(model, "hidden.", outputs.hidden);
  if (task == "Model") {
    model.outputs["pooler_output"] = net.pool(h);
  } else if (task == "ForImageClassification") {
    put_classifier(request, model, root, net.pool(h), c.initializer_range);
  } else if (masked) {
    VitConfig grid = patch_grid_config(c);
    const std::int64_t shrink = std::int64_t{1} << (c.stages() - 1);
    const std::int64_t rows = (c.rows() + shrink - 1) / shrink;
    if (c.image_height % rows != 0 || c.image_height / rows != stride ||
        c.image_width != c.image_height || c.rows() * c.patch_height != c.image_height ||
        c.columns() * c.patch_width != c.image_width)
      throw ArgumentError(fmt::format(
          "config.json: masked image modelling requires square images of whole patches, and an "
          "encoder_stride with which the {} x {} patches of the last stage fill the image of {} x "
          "{}, not {}",
          rows, rows, c.image_height, c.image_width, stride));
    model.names.add("pixels", "decoder.0");
    const Value pixels = make_pixel_head(root / "pixels", grid, stride)(h, rows, rows);
    model.outputs["logits"] = pixels;
    if (mask.defined()) model.outputs["loss"] = masked_pixel_loss(grid, images, pixels, mask);
  } else {
    request.unsupported_architecture();
  }
  return model;
}

}  // namespace

ModelTypes swin_model_types() {
  const auto write = [](ConfigWriter& config, const FamilyConfig& family, const HeadFacts& heads) {
    auto c = std::get<SwinConfig>(family);
    std::int64_t stride = heads.stride;
    swin_keys(config, c, stride);
  };
  return {{"swin", "Swin", build_swin, write}};
}

}  // namespace weft::hf
