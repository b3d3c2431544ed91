// ViT, DeiT and MSN.
#include <fmt/format.h>

#include "weft/core/error.h"
#include "weft/graph/functions.h"
#include "weft/models/hf/vision/vision_task.h"

namespace weft::hf {
namespace {

void reconstruct_pixels(VisionTask& task, std::int64_t stride) {
  const VitConfig& c = task.config;
  if (c.rows() != c.columns())
    throw ArgumentError("masked image modelling requires a square grid of patches");
  if (stride != c.patch_height || stride != c.patch_width)
    throw ArgumentError(
        fmt::format("config.json: encoder_stride {} must equal the patch_size, {} x {}", stride,
                    c.patch_height, c.patch_width));
  task.model.names.add("pixels", "decoder.0");
  // As in Hugging Face transformers, DeiT's class drops the first and the last token instead of
  // the two tokens before the patches.
  const std::int64_t end = c.tokens() - (c.distillation ? 1 : 0);
  const Value h = slice(task.last_hidden_state, 1, {.begin = Dim(1), .end = Dim(end)});
  const Value pixels = make_pixel_head(task.root / "pixels", c, stride)(h, c.rows(), c.columns());
  task.model.outputs["logits"] = pixels;
  if (task.mask.defined())
    task.model.outputs["loss"] = masked_pixel_loss(c, task.images, pixels, task.mask);
}

void classify_with_teacher(VisionTask& task) {
  const std::int64_t count = task.request.config.labels();
  const auto head = [&](const char* name, std::int64_t token) {
    return task.head(name, count, select(task.last_hidden_state, 1, Dim(token)));
  };
  const Value class_logits = head("cls_classifier", 0);
  const Value teacher_logits = head("distillation_classifier", 1);
  task.model.outputs["cls_logits"] = class_logits;
  task.model.outputs["distillation_logits"] = teacher_logits;
  task.model.outputs["logits"] = (class_logits + teacher_logits) / 2;
  // The Hugging Face class has no loss. This loss is the one in the paper; the labels serve as
  // the hard teacher.
  if (const Value labels = task.request.input("labels", {"batch"}); labels.defined())
    task.model.outputs["loss"] =
        0.5 * label_loss(class_logits, labels) + 0.5 * label_loss(teacher_logits, labels);
}

template <class Config>
void vit_keys(Config& config, VitConfig& c, std::int64_t& stride) {
  vision_keys(config, c);
  vision_dropout_keys(config, c);
  config.field("intermediate_size", c.inner)
      .field("qkv_bias", c.qkv_bias)
      .field("encoder_stride", stride);
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
    VisionTask task(request, c,
                    {.base = name,
                     .modules = vit_module_names(),
                     .layers = "encoder.layer",
                     .layer = vit_layer_names(),
                     .pooler = VisionClasses::Pooler::dense},
                    request.task() == "ForMaskedImageModeling");
    task.model.heads.stride = stride;
    return task.build([&](const std::string& ending) {
      if (ending == "ForMaskedImageModeling") {
        reconstruct_pixels(task, stride);
      } else if (ending == "ForImageClassificationWithTeacher" && distillation) {
        classify_with_teacher(task);
      } else {
        return false;
      }
      return true;
    });
  };
  const auto write = [](ConfigWriter& config, const FamilyConfig& family, const HeadFacts& heads) {
    auto c = std::get<VitConfig>(family);
    std::int64_t stride = heads.stride;
    vit_keys(config, c, stride);
  };
  return {name, prefix, build, write};
}

template <class Config>
void msn_keys(Config& config, VitConfig& c) {
  vision_keys(config, c);
  vision_dropout_keys(config, c);
  config.field("intermediate_size", c.inner).field("qkv_bias", c.qkv_bias);
}

ModelType msn_type() {
  const auto build = [](Request& request) {
    VitConfig c{.layer_norm_eps = 1e-6};
    msn_keys(request.config, c);
    request.config.ignore_labels();
    return VisionTask(request, c,
                      {.base = "vit",
                       .modules = vit_module_names(),
                       .layers = "encoder.layer",
                       .layer = vit_layer_names(),
                       .pooler = VisionClasses::Pooler::none,
                       .ties_last_hidden = true})
        .build();
  };
  const auto write = [](ConfigWriter& config, const FamilyConfig& family, const HeadFacts&) {
    auto c = std::get<VitConfig>(family);
    msn_keys(config, c);
  };
  return {"vit_msn", "ViTMSN", build, write};
}

}  // namespace

ModelTypes vit_model_types() {
  return {vit_type("vit", "ViT", false), vit_type("deit", "DeiT", true), msn_type()};
}

}  // namespace weft::hf
