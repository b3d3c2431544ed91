// A training run or an evaluation of an image classifier of any type.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "weft/models/data/batching/shuffle.h"
#include "weft/models/data/images/image_codec.h"
#include "weft/models/plots/svg_heat_map.h"
#include "weft/models/tasks/common/image_data.h"
#include "weft/models/tasks/image_classification/image_classifier.h"

namespace WEFT_API weft {

/// Returns the attention plot of a model, if its attention can be shown.
inline std::vector<TaskPlot> attention_plots(const ImageClassifier& model, const Tensor& image,
                                             const std::string& title) {
  return {{kAttentionPlot, attention_svg(model, image, title)}};
}
/// Attention within shifted windows has no map of the whole image, and the attention of networks
/// from ONNX files is unknown.
inline std::vector<TaskPlot> attention_plots(const AnyImageClassifier&, const Tensor&,
                                             const std::string&) {
  return {};
}

/// The data of an image classifier, and its reports.
template <class Model>
class ImageClassificationRun final : public RunOf<Model> {
 public:
  /// `pixels` is the description line on pixel normalisation; empty for models that were opened
  /// from a file.
  ImageClassificationRun(std::unique_ptr<Model> model, ImageParts parts, std::string path,
                         std::string pixels = {})
      : RunOf<Model>(std::move(model)),
        parts_(std::move(parts)),
        path_(std::move(path)),
        pixels_(std::move(pixels)) {}

  std::string describe() override {
    return describe_images_model(model_->config, *model_->graph) +
           fmt::format("data      {}: {} classes, images {}\n", path_, parts_.train.classes.size(),
                       parts_.train.size().str()) +
           pixels_ + describe_split(parts_, model_->settings);
  }
  std::string batch_unit() const override { return "images"; }
  std::int64_t row_size() const override {
    const auto [channels, height, width] = model_->image_size();
    return channels * height * width;
  }

  TrainTask task(Session& session) override {
    return image_task(session, *model_, parts_.train, parts_.validation);
  }

  TaskReport report(Session& session, const TrainOutcome&, const std::string&) override {
    const ImageSet& test = parts_.data.test;
    if (test.count() == 0) return {};
    const ImageEvaluation found = evaluate_images(session, *model_, test);
    const std::string& truth = model_->classes()[static_cast<std::size_t>(test.labels.front())];
    TaskReport report{
        found.matrix.table() + fmt::format("test      loss {:.4f}, accuracy {:.4f} ({} of {})\n",
                                           found.loss, found.matrix.accuracy(),
                                           found.matrix.correct(), found.matrix.total()),
        attention_plots(*model_, test.image(0),
                        fmt::format("attention of the layers: test image 0, class {}", truth))};
    report.plots.insert(
        report.plots.begin(),
        {kConfusionPlot,
         svg_heat_maps({found.matrix.heat_map()},
                       {.title = fmt::format("test set: {} of {} right", found.matrix.correct(),
                                             found.matrix.total())})});
    report.images = examples(session, test);
    return report;
  }

  Evaluation measure(Session& session, const TrainedModel& model) override {
    const ImageEvaluation found = evaluate(session, model);
    return {found.loss, {{"accuracy", found.matrix.accuracy()}}};
  }
  std::string measure_report(Session& session, const TrainedModel& model) override {
    const ImageEvaluation found = evaluate(session, model);
    return found.matrix.table() +
           fmt::format("test      loss {:.4f}, accuracy {:.4f} ({} of {}: {})\n",
                       require_finite(found.loss, "the loss"), found.matrix.accuracy(),
                       found.matrix.correct(), found.matrix.total(), parts_.data.about);
  }

 private:
  /// Returns a few images of the set with their classes and the predicted classes.
  std::vector<TaskImage> examples(Session& session, const ImageSet& set) const {
    constexpr std::int64_t kMost = 8;
    const ImageSet some = set.pick(evenly_spread(set.count(), kMost));
    const Tensor scores = class_probabilities(session, *model_, some.images);
    const std::vector<std::string>& classes = model_->classes();
    std::vector<TaskImage> found;
    for (std::int64_t i = 0; i < some.count(); ++i) {
      const auto row = scores.span<float>().subspan(static_cast<std::size_t>(i) * classes.size(),
                                                    classes.size());
      const auto best = std::max_element(row.begin(), row.end()) - row.begin();
      const auto truth = static_cast<std::size_t>(some.labels[static_cast<std::size_t>(i)]);
      found.push_back(
          {fmt::format("{}, predicted {}", classes[truth], classes[static_cast<std::size_t>(best)]),
           some.image(i)});
    }
    return found;
  }
  ImageEvaluation evaluate(Session& session, const TrainedModel& model) const {
    return evaluate_images(session, model_as<Model>(model), parts_.data.test);
  }

  using RunOf<Model>::model_;
  ImageParts parts_;
  std::string path_, pixels_;
};

/// Combines a model of a file with the images that the options name.
template <class Model>
std::unique_ptr<TaskRun> open_classifier(std::unique_ptr<Model> model,
                                         const OptionValues& options) {
  const std::string& path = image_path(options);
  ImageParts parts =
      load_image_parts(path, model->image_size(), model->images.geometry, model->settings);
  if (parts.train.classes != model->classes()) {
    throw DataError(fmt::format("the model has the classes ({}), but {} has the classes ({})",
                                fmt::join(model->classes(), ", "), path,
                                fmt::join(parts.train.classes, ", ")));
  }
  return std::make_unique<ImageClassificationRun<Model>>(std::move(model), std::move(parts), path);
}

}  // namespace weft
