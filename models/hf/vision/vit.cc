// ViT and DeiT.
#include <fmt/format.h>

#include "weft/core/error.h"
#include "weft/graph/functions.h"
#include "weft/models/families/vit.h"
#include "weft/models/hf/sequence_labels.h"

namespace weft::hf {
namespace {

/// Builds a ViT or DeiT class.
class VitTask {
 public:
  VitTask(Request& request, const VitConfig& config, const std::string& base)
      : request_(request),
        config_(config),
        root_(Scope(request.graph).evaluation()),
        task_(request.task()),
        net_(root_, config, task_ == "ForMaskedImageModeling") {
    const std::string in_base = task_ == "Model" ? "" : base + ".";
    for (const auto& [ours, theirs] :
         {std::pair{"patches", "embeddings.patch_embeddings.projection"},
          {"class_token", "embeddings.cls_token"},
          {"distillation_token", "embeddings.distillation_token"},
          {"mask_token", "embeddings.mask_token"},
          {"positions", "embeddings.position_embeddings"},
          {"norm", "layernorm"},
          {"pooler", "pooler.dense"}})
      model_.names.add(ours, in_base + theirs);
    model_.names.add_layers(config.layers, "layers", in_base + "encoder.layer",
                            {{"attention.query", "attention.attention.query"},
                             {"attention.key", "attention.attention.key"},
                             {"attention.value", "attention.attention.value"},
                             {"attention.out", "attention.output.dense"},
                             {"attention_norm", "layernorm_before"},
                             {"feed_forward.up", "intermediate.dense"},
                             {"feed_forward.down", "output.dense"},
                             {"feed_forward_norm", "layernorm_after"}});
    model_.names.add("pixels", "decoder.0");
    model_.base_prefix = base + ".";
    // Tensors of other classes.
    model_.unused_buffers = {"classifier.*", "cls_classifier.*", "distillation_classifier.*",
                             "decoder.0.*",  "pooler.dense.*",   "embeddings.mask_token"};
  }

  Model build(std::int64_t stride) {
    model_.family = config_;
    model_.heads.stride = stride;
    images_ = request_.required("pixel_values", {"batch", "", "", ""});
    const bool masked = task_ == "ForMaskedImageModeling";
    const std::int64_t patches = config_.rows() * config_.columns();
    if (masked) mask_ = request_.input("bool_masked_pos", {"batch", ""});
    if (mask_.defined() && mask_.size(1) != Dim(patches)) {
      throw ShapeError(
          fmt::format("bool_masked_pos must be [batch, {}] (one number per patch), not "
                      "[batch, {}]",
                      patches, mask_.size(1).str()));
    }
    const VitOutputs outputs = net_(images_, mask_);
    h_ = outputs.last_hidden_state;
    model_.outputs["last_hidden_state"] = h_;
    put_hidden(model_, "hidden.", outputs.hidden);
    if (task_ == "Model") {
      model_.outputs["pooler_output"] = pooled();
    } else if (masked) {
      pixels(stride);
    } else if (task_ == "ForImageClassification") {
      const std::int64_t classes = request_.config.labels();
      model_.outputs["logits"] = head("classifier", classes, 0);
      if (const Value labels = read_labels(); labels.defined())
        model_.outputs["loss"] =
            sequence_loss(label_problem(request_, classes), model_.outputs["logits"], labels);
    } else if (task_ == "ForImageClassificationWithTeacher" && config_.distillation) {
      with_teacher(request_.config.labels());
    } else {
      request_.unsupported_architecture();
    }
    return std::move(model_);
  }

 private:
  /// Applies a linear layer to the special token with the index `token`; special tokens precede the
  /// patches.
  Value head(const std::string& name, std::int64_t outputs, std::int64_t token) const {
    const LinearOptions options{.initializer = Initializer::normal(config_.initializer_range)};
    return make_linear(root_ / name, DType::f32, config_.width, outputs,
                       options)(select(h_, 1, Dim(token)));
  }

  Value pooled() {
    Activation activation = Activation::tanh;
    std::int64_t width = config_.width;
    request_.config.field("pooler_act", activation).optional_size("pooler_output_size", width);
    return activate(activation, head("pooler", width == 0 ? config_.width : width, 0));
  }

  Value read_labels() {
    return request_.rank("labels") == 2 ? request_.input("labels", {"batch", ""})
                                        : request_.input("labels", {"batch"});
  }

  void pixels(std::int64_t stride) {
    if (config_.rows() != config_.columns())
      throw ArgumentError("masked image modelling requires a square grid of patches");
    if (stride != config_.patch_height || stride != config_.patch_width)
      throw ArgumentError(
          fmt::format("config.json: encoder_stride {} must equal the patch_size, {} x {}", stride,
                      config_.patch_height, config_.patch_width));
    // As in Hugging Face transformers, DeiT's class drops the first and the last token instead of
    // the two tokens before the patches.
    const std::int64_t end = config_.tokens() - (config_.distillation ? 1 : 0);
    const Value h = slice(h_, 1, {.begin = Dim(1), .end = Dim(end)});
    const Value pixels =
        make_pixel_head(root_ / "pixels", config_, stride)(h, config_.rows(), config_.columns());
    model_.outputs["logits"] = pixels;
    if (mask_.defined())
      model_.outputs["loss"] = masked_pixel_loss(config_, images_, pixels, mask_);
  }

  void with_teacher(std::int64_t classes) {
    const Value class_logits = head("cls_classifier", classes, 0);
    const Value teacher_logits = head("distillation_classifier", classes, 1);
    model_.outputs["cls_logits"] = class_logits;
    model_.outputs["distillation_logits"] = teacher_logits;
    model_.outputs["logits"] = (class_logits + teacher_logits) / 2;
    // The Hugging Face class has no loss. This loss is the one in the paper; the labels serve as
    // the hard teacher.
    if (const Value labels = request_.input("labels", {"batch"}); labels.defined())
      model_.outputs["loss"] =
          0.5 * label_loss(class_logits, labels) + 0.5 * label_loss(teacher_logits, labels);
  }

  Request& request_;
  VitConfig config_;
  Scope root_;
  std::string task_;
  Vit net_;
  Model model_;
  Value images_, mask_, h_;
};

template <class Config>
void vit_keys(Config& config, VitConfig& c, std::int64_t& stride) {
  config.field("hidden_size", c.width)
      .field("num_hidden_layers", c.layers)
      .field("num_attention_heads", c.heads)
      .field("intermediate_size", c.inner)
      .field("hidden_act", c.activation)
      .field("hidden_dropout_prob", c.dropout)
      .field("attention_probs_dropout_prob", c.attention_dropout)
      .field("initializer_range", c.initializer_range)
      .field("layer_norm_eps", c.layer_norm_eps)
      .field("num_channels", c.channels)
      .field("qkv_bias", c.qkv_bias)
      .field("encoder_stride", stride)
      .size("image_size", c.image_height, c.image_width)
      .size("patch_size", c.patch_height, c.patch_width);
}

ModelType vit_type(const std::string& name, const std::string& prefix, bool distillation) {
  const auto build = [=](Request& request) {
    VitConfig c;
    c.distillation = distillation;
    std::int64_t stride = 16;
    vit_keys(request.config, c, stride);
    // Only the base class has a pooler. There are no word embeddings.
    request.config.ignore_labels().ignore(
        {"pooler_act", "pooler_output_size", "tie_word_embeddings"});
    return VitTask(request, c, name).build(stride);
  };
  const auto write = [](ConfigWriter& config, const FamilyConfig& family, const HeadFacts& heads) {
    auto c = std::get<VitConfig>(family);
    std::int64_t stride = heads.stride;
    vit_keys(config, c, stride);
  };
  return {name, prefix, build, write};
}

}  // namespace

ModelTypes vit_model_types() {
  return {vit_type("vit", "ViT", false), vit_type("deit", "DeiT", true)};
}

}  // namespace weft::hf
