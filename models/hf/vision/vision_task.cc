#include "weft/models/hf/vision/vision_task.h"

#include <fmt/format.h>

#include "weft/core/error.h"
#include "weft/graph/functions.h"
#include "weft/models/families/size_limits.h"
#include "weft/models/fields/check.h"
#include "weft/models/hf/sequence_labels.h"

namespace weft::hf {

ModuleNames vit_module_names() {
  return {{"patches", "embeddings.patch_embeddings.projection"},
          {"class_token", "embeddings.cls_token"},
          {"distillation_token", "embeddings.distillation_token"},
          {"mask_token", "embeddings.mask_token"},
          {"positions", "embeddings.position_embeddings"},
          {"norm", "layernorm"},
          {"pooler", "pooler.dense"}};
}

ModuleNames vit_layer_names() {
  return {{"attention.query", "attention.attention.query"},
          {"attention.key", "attention.attention.key"},
          {"attention.value", "attention.attention.value"},
          {"attention.out", "attention.output.dense"},
          {"attention_norm", "layernorm_before"},
          {"feed_forward.up", "intermediate.dense"},
          {"feed_forward.down", "output.dense"},
          {"feed_forward_norm", "layernorm_after"}};
}

VisionTask::VisionTask(Request& request, const VitConfig& config, const VisionClasses& classes,
                       bool masked)
    : request(request),
      config(config),
      classes(classes),
      has_mask_token(masked || config.mask_token),
      root(Scope(request.graph).evaluation()),
      net(root, config, masked) {
  const std::string task = request.task();
  const std::string in_base = task == "Model" || classes.base.empty() ? "" : classes.base + ".";
  for (const auto& [ours, theirs] : classes.modules) model.names.add(ours, in_base + theirs);
  model.names.add_layers(config.layers, "layers", in_base + classes.layers, classes.layer);
  if (!classes.base.empty()) model.base_prefix = classes.base + ".";
  // Tensors of other classes.
  model.unused_buffers = {"classifier.*", "cls_classifier.*", "distillation_classifier.*",
                          "decoder.*",    "pooler.*",         "embeddings.mask_token"};
  if (config.registers == 0) model.unused_buffers.insert("embeddings.register_tokens");
  model.family = config;
}

Model VisionTask::build(const std::function<bool(const std::string&)>& other) {
  const std::string task = request.task();
  images = request.required("pixel_values", {"batch", "", "", ""});
  if (has_mask_token) mask = request.input("bool_masked_pos", {"batch", ""});
  if (mask.defined()) {
    // Models without learned positions of a fixed size read images of any size.
    const bool any_size = config.interpolation != VitInterpolation::none ||
                          config.positions == VitPositions::rotary_2d ||
                          config.positions == VitPositions::none;
    const std::int64_t patches = any_size ? images.size(2).constant() / config.patch_height *
                                                (images.size(3).constant() / config.patch_width)
                                          : config.rows() * config.columns();
    if (mask.size(1) != Dim(patches)) {
      throw ShapeError(
          fmt::format("bool_masked_pos must be [batch, {}] (one number per patch), not [batch, {}]",
                      patches, mask.size(1).str()));
    }
  }
  VitOutputs outputs = net(images, mask);
  last_hidden_state = outputs.last_hidden_state;
  if (classes.ties_last_hidden) outputs.hidden.back() = last_hidden_state;
  model.outputs["last_hidden_state"] = last_hidden_state;
  put_hidden(model, "hidden.", outputs.hidden);
  if (task == "Model") {
    if (classes.pooler != VisionClasses::Pooler::none) model.outputs["pooler_output"] = pooled();
  } else if (task == "ForImageClassification" && !classes.base.empty()) {
    put_classifier(request, model, root, net.pool(last_hidden_state), config.initializer_range);
  } else if (!other || !other(task)) {
    request.unsupported_architecture();
  }
  return std::move(model);
}

Value VisionTask::head(const std::string& name, std::int64_t outputs, Value x) const {
  return make_linear(root / name, DType::f32, x.size(x.rank() - 1).constant(), outputs,
                     {.initializer = Initializer::normal(config.initializer_range)})(x);
}

void put_classifier(Request& request, Model& model, const Scope& root, Value features,
                    double initializer_range) {
  const std::int64_t count = request.config.labels();
  const Value logits =
      make_linear(root / "classifier", DType::f32, features.size(1).constant(), count,
                  {.initializer = Initializer::normal(initializer_range)})(features);
  model.outputs["logits"] = logits;
  const Value labels = request.rank("labels") == 2 ? request.input("labels", {"batch", ""})
                                                   : request.input("labels", {"batch"});
  if (labels.defined())
    model.outputs["loss"] = sequence_loss(label_problem(request, count), logits, labels);
}

Value VisionTask::pooled() {
  if (classes.pooler == VisionClasses::Pooler::pool) return net.pool(last_hidden_state);
  const Value first = select(last_hidden_state, 1, Dim(0));
  if (classes.pooler == VisionClasses::Pooler::class_token) return first;
  Activation activation = Activation::tanh;
  std::int64_t width = config.width;
  request.config.field("pooler_act", activation).optional_size("pooler_output_size", width);
  check::at_least("pooler_output_size", width, 0);
  check::at_most({{"pooler_output_size", width, size_limits::kWidth}});
  return activate(activation, head("pooler", width == 0 ? config.width : width, first));
}

}  // namespace weft::hf
