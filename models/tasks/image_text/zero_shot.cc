#include "weft/models/tasks/image_text/zero_shot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "weft/core/error.h"
#include "weft/models/data/images/image_codec.h"
#include "weft/models/tasks/common/run_checked.h"

namespace weft {
namespace {

/// Returns the label in every template, template by template.
std::vector<std::string> prompts_of(const std::vector<std::string>& labels,
                                    const std::vector<std::string>& templates) {
  if (labels.empty()) throw ArgumentError("zero-shot classification needs at least one label");
  if (templates.empty()) throw ArgumentError("zero-shot classification needs a template");
  std::vector<std::string> prompts;
  for (const std::string& text : templates) {
    const std::size_t place = text.find("{}");
    if (place == std::string::npos)
      throw ArgumentError(
          fmt::format("the template '{}' lacks {{}}, the place of the label", text));
    for (const std::string& label : labels)
      prompts.push_back(std::string(text).replace(place, 2, label));
  }
  return prompts;
}

/// Returns the means over the templates of vectors [templates * labels, width] of length 1.
Tensor mean_over_templates(const Tensor& vectors, std::int64_t labels) {
  const std::int64_t width = vectors.size(1), templates = vectors.size(0) / labels;
  Tensor result = Tensor::zeros(DType::f32, {labels, width});
  auto* out = result.mutable_data<float>();
  const float* in = vectors.data<float>();
  for (std::int64_t i = 0; i < vectors.numel(); ++i)
    out[i % (labels * width)] += in[i] / static_cast<float>(templates);
  return result;
}

std::vector<double> probabilities_of(std::span<const float> logits, ImageTextLoss loss) {
  std::vector<double> result(logits.begin(), logits.end());
  if (loss == ImageTextLoss::sigmoid) {
    for (double& x : result) x = 1 / (1 + std::exp(-x));
    return result;
  }
  const double most = *std::max_element(result.begin(), result.end());
  double sum = 0;
  for (double& x : result) sum += x = std::exp(x - most);
  for (double& x : result) x /= sum;
  return result;
}

}  // namespace

Tensor zero_shot_logits(Session& session, const ImageTextModel& model, const Tensor& images,
                        const std::vector<std::string>& labels, const ZeroShotOptions& options) {
  const std::vector<std::string> prompts = prompts_of(labels, options.templates);
  const Tensor texts = mean_over_templates(
      chosen_values(text_tower_vectors(session, model, prompts, options.on_cut), {}),
      std::ssize(labels));
  const Tensor vectors = image_tower_vectors(session, model, images);
  return run_checked(session, model.program("compare"),
                     {{"image_vectors", vectors}, {"text_vectors", texts}})["logits"];
}

std::vector<std::vector<ClassScore>> zero_shot_classes(Session& session, const TrainedModel& model,
                                                       std::span<const std::string> paths,
                                                       const std::vector<std::string>& labels,
                                                       const ZeroShotOptions& options) {
  const auto* found = dynamic_cast<const ImageTextModel*>(&model);
  if (found == nullptr || !found->config.has_images()) {
    throw FormatError(fmt::format(
        "labels are for models that compare images and texts (CLIP, SigLIP), but the model is a {}",
        found == nullptr ? model.layout().kind : "text tower alone"));
  }
  if (paths.empty()) return {};
  const ImageSize size = found->image_size();
  Tensor images =
      Tensor::empty(DType::f32, {std::ssize(paths), size.channels, size.height, size.width});
  auto* out = images.mutable_data<float>();
  for (const std::string& path : paths) {
    const Tensor image =
        preprocess_image(read_image(path, size.channels), size, found->images.geometry, path);
    out = std::copy_n(image.data<float>(), image.numel(), out);
  }
  const Tensor logits = zero_shot_logits(session, *found, images, labels, options);
  std::vector<std::vector<ClassScore>> result;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    result.push_back(
        top_classes(labels,
                    probabilities_of(logits.span<float>().subspan(i * labels.size(), labels.size()),
                                     found->config.loss),
                    options.most));
  }
  return result;
}

}  // namespace weft
