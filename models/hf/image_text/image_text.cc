// CLIP and SigLIP: models with an image tower and a text tower, and their single towers.
#include <fmt/format.h>

#include <string_view>

#include "weft/core/error.h"
#include "weft/graph/functions.h"
#include "weft/models/families/image_text.h"
#include "weft/models/hf/sequence_labels.h"

namespace weft::hf {
namespace {

/// A config, and the keys of its towers that are not fields of the towers.
struct TowerParts {
  ImageTextConfig config;
  /// Widths of the projections of single towers; 0 = the width of the tower.
  std::int64_t text_projection = 512, image_projection = 512;
  bool image_head = true;  // SigLIP's image tower has a pooling head

  friend bool operator==(const TowerParts&, const TowerParts&) = default;
};

/// What distinguishes CLIP from SigLIP.
struct ImageTextStyle {
  std::string name, prefix;    // "clip", "CLIP"
  ImageTextConfig defaults;    // of the keys, and the fields that have no key
  std::string text_head;       // name of the projection of texts
  bool single_towers_project;  // CLIP's towers project only in the classes ...WithProjection
  Keys<TowerParts> keys, text_keys, image_keys;
};

template <class Config, class Tower>
void tower_keys(Config& config, Tower& c) {
  config.field("hidden_size", c.width)
      .field("intermediate_size", c.inner)
      .field("num_hidden_layers", c.layers)
      .field("num_attention_heads", c.heads)
      .field("hidden_act", c.activation)
      .field("layer_norm_eps", c.layer_norm_eps)
      .field("attention_dropout", c.attention_dropout)
      .field("initializer_range", c.initializer_range)
      .ignore({"dropout", "initializer_factor", "pad_token_id", "tie_word_embeddings"});
}

template <class Config>
void text_tower_keys(Config& config, EncoderConfig& c) {
  tower_keys(config, c);
  config.field("vocab_size", c.vocab).field("max_position_embeddings", c.context);
}

template <class Config>
void image_tower_keys(Config& config, VitConfig& c) {
  tower_keys(config, c);
  config.field("num_channels", c.channels)
      .size("image_size", c.image_height, c.image_width)
      .size("patch_size", c.patch_height, c.patch_width);
}

ImageTextStyle clip_style() {
  const Keys<TowerParts> keys = [](auto& config, TowerParts& parts) {
    config.field("projection_dim", parts.config.projection)
        .field("logit_scale_init_value", parts.config.logit_scale);
  };
  const Keys<TowerParts> text = [](auto& config, TowerParts& parts) {
    ImageTextConfig& c = parts.config;
    text_tower_keys(config, c.text);
    // The first files name a wrong id, 2. In these files, the end-of-text token has the largest id.
    constexpr std::int64_t kWrongId = 2;
    const bool largest = c.text_pooling == TextTowerPooling::largest_id;
    std::int64_t end_id = largest ? kWrongId : c.end_id;
    config.field("eos_token_id", end_id).field("projection_dim", parts.text_projection);
    c.text_pooling =
        end_id == kWrongId ? TextTowerPooling::largest_id : TextTowerPooling::end_of_text;
    if (end_id != kWrongId) c.end_id = end_id;
  };
  const Keys<TowerParts> image = [](auto& config, TowerParts& parts) {
    image_tower_keys(config, parts.config.image);
    config.field("projection_dim", parts.image_projection);
  };
  return {"clip", "CLIP", ImageTextConfig(), "text_projection", false, keys, text, image};
}

ImageTextStyle siglip_style() {
  ImageTextConfig c;
  c.text.vocab = 32000;
  c.text.context = 64;
  c.text.heads = 12;
  c.text.width = 768;
  c.text.inner = 3072;
  c.text.causal = false;
  c.image = VitConfig();
  c.image.pooling = VitPooling::attention;
  c.text.activation = c.image.activation = Activation::gelu_tanh;
  c.text.layer_norm_eps = c.image.layer_norm_eps = 1e-6;
  c.text_pooling = TextTowerPooling::last;
  c.text_projection_bias = true;
  c.image_projection = false;
  c.loss = ImageTextLoss::sigmoid;
  c.logit_scale = 0;
  const Keys<TowerParts> keys = [](auto&, TowerParts&) {};
  const Keys<TowerParts> text = [](auto& config, TowerParts& parts) {
    text_tower_keys(config, parts.config.text);
    parts.text_projection =
        parts.config.projection == 0 ? parts.config.text.width : parts.config.projection;
    config.optional_size("projection_size", parts.text_projection);
    if (parts.text_projection == 0) parts.text_projection = parts.config.text.width;
  };
  const Keys<TowerParts> image = [](auto& config, TowerParts& parts) {
    image_tower_keys(config, parts.config.image);
    config.field("vision_use_head", parts.image_head);
  };
  c.projection = 0;
  return {"siglip", "Siglip", c, "text_model.head", true, keys, text, image};
}

enum class Tower { text, image };

const char* section_of(Tower tower) {
  return tower == Tower::text ? "text_config" : "vision_config";
}
std::string type_of(const ImageTextStyle& style, Tower tower) {
  return style.name + (tower == Tower::text ? "_text_model" : "_vision_model");
}
const Keys<TowerParts>& keys_of(const ImageTextStyle& style, Tower tower) {
  return tower == Tower::text ? style.text_keys : style.image_keys;
}

/// Reads the section of a tower. Files written before version 4.27 of transformers also contain it
/// under a second key.
void read_tower(ConfigReader& config, const ImageTextStyle& style, Tower tower, TowerParts& parts) {
  const std::string key = section_of(tower), legacy = key + "_dict";
  const auto read = [&](const std::string& name) {
    TowerParts result = parts;
    ConfigReader section = config.section(name.c_str());
    section.ignore_labels().fixed("model_type", type_of(style, tower),
                                  "the tower of this model has another type");
    keys_of(style, tower).read(section, result);
    section.finish();
    return result;
  };
  const bool has_both =
      config.find(key.c_str()) != nullptr && config.find(legacy.c_str()) != nullptr;
  const TowerParts current = read(key), old = read(legacy);
  if (has_both && !(current == old)) {
    throw ArgumentError(
        fmt::format("config.json: {0} and {1}, which describe the same tower, contradict each "
                    "other: correct the file, or ignore one of them (--ignore-config-key {1})",
                    key, legacy));
  }
  parts = config.find(key.c_str()) != nullptr ? current : old;
}

/// Writes the section of a tower.
void write_tower(ConfigWriter& config, const ImageTextStyle& style, Tower tower, TowerParts parts) {
  ConfigWriter section;
  section.field("model_type", type_of(style, tower));
  keys_of(style, tower).write(section, parts);
  config.field(section_of(tower), section.object());
}

/// The modules of a layer, which are the same in both towers.
const ModuleNames& layer_modules() {
  static const ModuleNames modules = {
      {"attention.query", "self_attn.q_proj"}, {"attention.key", "self_attn.k_proj"},
      {"attention.value", "self_attn.v_proj"}, {"attention.out", "self_attn.out_proj"},
      {"attention_norm", "layer_norm1"},       {"feed_forward.up", "mlp.fc1"},
      {"feed_forward.down", "mlp.fc2"},        {"feed_forward_norm", "layer_norm2"}};
  return modules;
}

/// Adds the names of the parameters of a text tower.
void add_text_names(Model& model, const ImageTextStyle& style, const EncoderConfig& config) {
  NameMap& names = model.names;
  names.add("text.embeddings.tokens", "text_model.embeddings.token_embedding");
  names.add("text.embeddings.positions", "text_model.embeddings.position_embedding");
  names.add("text.final_norm", "text_model.final_layer_norm");
  names.add("text_projection", style.text_head);
  names.add_layers(config.layers, "text.layers", "text_model.encoder.layers", layer_modules());
}

/// Adds the names and layouts of the parameters of an image tower. `ours` is the prefix of our
/// names.
void add_image_names(Model& model, const VitConfig& config, const std::string& ours) {
  const std::string theirs = "vision_model.";
  NameMap& names = model.names;
  for (const auto& [our_name, their_name] : {std::pair{"patches", "embeddings.patch_embedding"},
                                             {"class_token", "embeddings.class_embedding"},
                                             {"positions", "embeddings.position_embedding.weight"},
                                             {"embedding_norm", "pre_layrnorm"},
                                             {"norm", "post_layernorm"}})
    names.add(ours + our_name, theirs + their_name);
  names.add_layers(config.layers, ours + "layers", theirs + "encoder.layers", layer_modules());
  model.layouts.add({.ours = ours + "class_token",
                     .theirs = theirs + "embeddings.class_embedding",
                     .squeezed = 2});
  model.layouts.add({.ours = ours + "positions",
                     .theirs = theirs + "embeddings.position_embedding.weight",
                     .squeezed = 1});
  if (config.pooling != VitPooling::attention) return;
  for (const auto& [our_name, their_name] : {std::pair{"query", "probe"},
                                             {"attention.out", "attention.out_proj"},
                                             {"norm", "layernorm"},
                                             {"feed_forward.up", "mlp.fc1"},
                                             {"feed_forward.down", "mlp.fc2"}})
    names.add(ours + "pool." + our_name, theirs + "head." + their_name);
  for (const char* kind : {"weight", "bias"}) {
    std::int64_t part = 0;
    for (const char* projection : {"query", "key", "value"}) {
      model.layouts.add({.ours = fmt::format("{}pool.attention.{}.{}", ours, projection, kind),
                         .theirs = fmt::format("{}head.attention.in_proj_{}", theirs, kind),
                         .part = part++,
                         .parts = 3,
                         .rows = true});
    }
  }
}

/// Builds a class of CLIP or SigLIP.
class ImageTextTask {
 public:
  ImageTextTask(Request& request, const ImageTextStyle& style)
      : request_(request), style_(style), root_(Scope(request.graph).evaluation()) {
    parts_.config = style.defaults;
    // Buffers in files of earlier versions.
    model_.unused_buffers = {"position_ids"};
  }

  Model build() {
    const std::string type = request_.config.model_type(), task = request_.task();
    const bool has_text = type != type_of(style_, Tower::image),
               has_images = type != type_of(style_, Tower::text);
    read_keys(has_text, has_images);
    ImageTextConfig& c = parts_.config;
    if (task == "Model" && has_text && has_images) {
      build_towers();
    } else if (task.starts_with("TextModel") && has_text) {
      c.towers = ImageTextTowers::text;
      build_text(projects(task.substr(9)));
    } else if (task.starts_with("VisionModel") && has_images) {
      c.towers = ImageTextTowers::image;
      build_image(projects(task.substr(11)));
    } else if (task == "ForImageClassification" && has_text && has_images) {
      build_classifier();
    } else {
      request_.unsupported_architecture();
    }
    return std::move(model_);
  }

 private:
  /// Reads the keys of a file with both towers, or with one tower at the top level.
  void read_keys(bool has_text, bool has_images) {
    ConfigReader& config = request_.config;
    if (has_text && has_images) {
      config.ignore_labels().ignore({"initializer_factor", "tie_word_embeddings"});
      read_tower(config, style_, Tower::text, parts_);
      read_tower(config, style_, Tower::image, parts_);
      style_.keys.read(config, parts_);
    } else {
      config.ignore_labels();
      keys_of(style_, has_text ? Tower::text : Tower::image).read(config, parts_);
    }
  }

  /// Returns true if a class with a single tower projects its vectors. `ending` is the ending of
  /// its name after "TextModel" or "VisionModel".
  bool projects(const std::string& ending) const {
    if (!ending.empty() && (ending != "WithProjection" || style_.single_towers_project))
      request_.unsupported_architecture();
    return !ending.empty();
  }

  EncoderInputs text_inputs() {
    return {.ids = request_.required("input_ids", {"batch", "seq"}),
            .attention_mask = request_.input("attention_mask", {"batch", "seq"}),
            .position_ids = request_.input("position_ids", {"batch", "seq"})};
  }
  /// Images have their own batch axis if the request has another number of images than of texts.
  Value images() {
    const bool same = request_.rank("input_ids") < 1 ||
                      request_.size("input_ids", 0) == request_.size("pixel_values", 0);
    return request_.required("pixel_values", {same ? "batch" : "images", "", "", ""});
  }

  ImageText net() {
    parts_.config.check();  // before names are added for every layer
    model_.family = parts_.config;
    if (parts_.config.has_text()) add_text_names(model_, style_, parts_.config.text);
    if (parts_.config.has_images()) {
      add_image_names(model_, parts_.config.image, "image.");
      model_.names.add("image_projection", "visual_projection");
    }
    return {root_, parts_.config};
  }

  void build_towers() {
    ImageTextConfig& c = parts_.config;
    if (style_.single_towers_project) {
      c.projection = parts_.text_projection;
      require_image_head();
    }
    const ImageText towers = net();
    const TextTowerOutputs text = towers.text(text_inputs());
    const ImageTowerOutputs image = towers.image(images());
    const Value texts = unit_vectors(text.vectors), vectors = unit_vectors(image.vectors);
    const Value logits = towers.logits(vectors, texts);
    auto& outputs = model_.outputs;
    outputs["text_embeds"] = texts;
    outputs["image_embeds"] = vectors;
    outputs["logits_per_image"] = logits;
    outputs["logits_per_text"] = transpose(logits);
    outputs["last_hidden_state"] = text.encoder.last_hidden_state;
    outputs["text_model_output.last_hidden_state"] = text.encoder.last_hidden_state;
    outputs["text_model_output.pooler_output"] =
        style_.single_towers_project ? text.vectors : text.pooled;
    outputs["vision_model_output.last_hidden_state"] = image.vit.last_hidden_state;
    outputs["vision_model_output.pooler_output"] = image.pooled;
    if (logits.size(0) == logits.size(1)) {
      outputs["loss"] = c.loss == ImageTextLoss::softmax ? clip_loss(outputs["logits_per_text"])
                                                         : siglip_loss(outputs["logits_per_text"]);
    }
  }

  void build_text(bool projects) {
    ImageTextConfig& c = parts_.config;
    c.projection = projects || style_.single_towers_project ? parts_.text_projection : 0;
    ignore_towers({"vision_model.*", "visual_projection.*", style_.text_head + ".*"});
    const TextTowerOutputs text = net().text(text_inputs());
    model_.outputs["last_hidden_state"] = text.encoder.last_hidden_state;
    put_hidden(model_, "hidden.", text.encoder.hidden);
    model_.outputs[projects ? "text_embeds" : "pooler_output"] = text.vectors;
  }

  void build_image(bool projects) {
    ImageTextConfig& c = parts_.config;
    c.projection = projects ? parts_.image_projection : 0;
    if (!parts_.image_head) c.image.pooling = VitPooling::mean;
    ignore_towers({"text_model.*", "text_projection.*", "visual_projection.*"});
    const ImageTowerOutputs image = net().image(images());
    model_.outputs["last_hidden_state"] = image.vit.last_hidden_state;
    put_hidden(model_, "hidden.", image.vit.hidden);
    if (projects) {
      model_.outputs["image_embeds"] = image.vectors;
    } else if (parts_.image_head) {
      model_.outputs["pooler_output"] = image.pooled;
    }
  }

  /// Builds a classifier of the mean of the patches. The norm (CLIP) or head (SigLIP) of the pooled
  /// vector is in the files, but the class does not read it.
  void build_classifier() {
    VitConfig vit = parts_.config.image;
    if (!parts_.image_head) vit.pooling = VitPooling::mean;
    const Vit net(root_, vit);
    add_image_names(model_, vit, "");
    const VitOutputs outputs = net(images());
    const Value h = outputs.last_hidden_state;
    model_.outputs["last_hidden_state"] = h;
    put_hidden(model_, "hidden.", outputs.hidden);
    const std::int64_t classes = request_.config.labels();
    const Linear head = make_linear(root_ / "classifier", DType::f32, vit.width, classes,
                                    {.initializer = Initializer::normal(vit.initializer_range)});
    const Value logits = head(mean(slice(h, 1, {.begin = Dim(vit.extra_tokens())}), {1}));
    model_.outputs["logits"] = logits;
    if (const Value loss = sequence_label_loss(request_, logits, classes); loss.defined())
      model_.outputs["loss"] = loss;
    ignore_towers({"text_model.*", "text_projection.*", "visual_projection.*"});
    vit.pooling = vit.has_class_token() ? VitPooling::patch_mean : VitPooling::mean;
    vit.pooled_norm = false;
    model_.family = vit;
  }

  void require_image_head() const {
    if (parts_.image_head) return;
    throw ArgumentError(fmt::format(
        "config.json: vision_config.vision_use_head is false, but {} needs the head, which "
        "computes the vectors of images",
        request_.architecture));
  }

  /// Accepts the tensors of parts of a model that a class does not have.
  void ignore_towers(std::initializer_list<std::string> names) {
    for (const std::string& name : names) model_.unused_buffers.insert(name);
    model_.unused_buffers.insert({"logit_scale", "logit_bias"});
  }

  Request& request_;
  const ImageTextStyle& style_;
  Scope root_;
  TowerParts parts_;
  Model model_;
};

/// Writes the keys of a model type.
void write_keys(ConfigWriter& config, const ImageTextStyle& style, const std::string& type,
                const FamilyConfig& family) {
  TowerParts parts{.config = style.defaults};
  if (const auto* vit = std::get_if<VitConfig>(&family)) {
    parts.config.image = *vit;
  } else {
    parts.config = std::get<ImageTextConfig>(family);
    parts.image_head = parts.config.image.pooling != VitPooling::mean;
  }
  if (parts.config.projection > 0)
    parts.text_projection = parts.image_projection = parts.config.projection;
  if (type != style.name) {
    const Tower tower = type == type_of(style, Tower::text) ? Tower::text : Tower::image;
    keys_of(style, tower).write(config, parts);
    return;
  }
  if (!std::holds_alternative<VitConfig>(family)) {
    style.keys.write(config, parts);
    write_tower(config, style, Tower::text, parts);
  }
  write_tower(config, style, Tower::image, parts);
}

}  // namespace

InputTypes image_text_inputs(ConfigReader& config) {
  const std::string type = config.model_type();
  const json architectures = config.object().value("architectures", json::array());
  std::string name;
  if (architectures.is_array() && !architectures.empty() && architectures.front().is_string())
    name = architectures.front().get<std::string>();
  const bool text_only = type.ends_with("_text_model") || name.find("TextModel") != name.npos;
  const bool images_only = type.ends_with("_vision_model") ||
                           name.find("VisionModel") != name.npos ||
                           name.ends_with("ForImageClassification");
  InputTypes inputs;
  if (!images_only) inputs["input_ids"] = {DType::i32, Sizes{1, 1}};
  if (text_only) return inputs;
  VitConfig c;
  const auto read = [&](ConfigReader reader) {
    reader.field("num_channels", c.channels).size("image_size", c.image_height, c.image_width);
  };
  if (type.ends_with("_vision_model")) {
    read(config);
  } else {
    read(config.section(config.find("vision_config") != nullptr ? "vision_config"
                                                                : "vision_config_dict"));
  }
  inputs["pixel_values"] = {DType::f32, Sizes{1, c.channels, c.image_height, c.image_width}};
  return inputs;
}

ModelTypes image_text_model_types() {
  static const std::array<ImageTextStyle, 2> styles = {clip_style(), siglip_style()};
  ModelTypes types;
  const auto add = [&](const ImageTextStyle& style, const std::string& name) {
    types.push_back(
        {name, style.prefix,
         [&style](Request& request) { return ImageTextTask(request, style).build(); },
         [&style, name](ConfigWriter& config, const FamilyConfig& family, const HeadFacts&) {
           write_keys(config, style, name, family);
         }});
  };
  for (const ImageTextStyle& style : styles) {
    add(style, style.name);
    for (const Tower tower : {Tower::text, Tower::image}) add(style, type_of(style, tower));
  }
  return types;
}

}  // namespace weft::hf
