#include "weft/models/train/image_classifier.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "weft/core/error.h"
#include "weft/graph/functions.h"
#include "weft/models/data/image_transform.h"
#include "weft/models/families/vit.h"
#include "weft/models/layers/linear.h"
#include "weft/models/train/model_file.h"
#include "weft/models/train/training_step.h"

namespace weft {
namespace {

constexpr const char* kConfigType = "weft.config.vit";
constexpr const char* kImages = "model.images";
constexpr const char* kAugmentation = "train.augmentation";
/// Images that are run at once where no gradient needs them: their size only costs memory.
constexpr std::int64_t kEvaluationBatch = 250;

Value per_channel(Graph& graph, const std::vector<double>& values) {
  const std::vector<float> floats(values.begin(), values.end());
  return graph.constant(Tensor::of({static_cast<std::int64_t>(values.size()), 1, 1}, floats));
}

void check(const VitConfig& config, const std::vector<std::string>& classes,
           const ImageNormalisation& normalisation) {
  if (classes.size() < 2)
    throw ArgumentError(
        fmt::format("a classifier needs two classes or more, not {}", classes.size()));
  const auto channels = static_cast<std::size_t>(config.channels);
  if (normalisation.mean.size() != channels || normalisation.deviation.size() != channels) {
    throw ArgumentError(fmt::format("{} means and {} deviations for images of {} channels",
                                    normalisation.mean.size(), normalisation.deviation.size(),
                                    channels));
  }
  for (const double d : normalisation.deviation) {
    if (!(d > 0)) throw ArgumentError(fmt::format("a deviation must be positive, not {}", d));
  }
}

ImageClassifierPrograms build(Graph& graph, const VitConfig& config, std::int64_t classes,
                              const ImageNormalisation& normalisation,
                              const TrainSettings& settings, const FineTuneOptions& options,
                              SourceLocation loc) {
  const Value images =
      graph.input("images", DType::f32,
                  {"batch", config.channels, config.image_height, config.image_width}, loc);
  const Value labels = graph.input("labels", DType::i32, {"batch"}, loc);
  const Value pixels = (images - per_channel(graph, normalisation.mean)) /
                       per_channel(graph, normalisation.deviation);
  const Vit vit(Scope(graph), config, false, loc);
  const Linear head =
      make_linear(Scope(graph, "classifier"), DType::f32, config.width, classes,
                  {.initializer = Initializer::normal(config.initializer_range)}, loc);
  const auto logits = [&](bool training) {
    return head(vit.pool(vit(pixels, {}, training, loc).last_hidden_state));
  };

  ImageClassifierPrograms programs;
  freeze(graph, options.freeze);
  add_training_step(programs.train, cross_entropy(logits(true), labels),
                    layer_groups(graph, options.layer_lr_decay), settings, loc);
  const Value found = logits(false), predictions = argmax(found, 1);
  programs.evaluate.precision(settings.precision)
      .output("loss", cross_entropy(found, labels), loc)
      .output("predictions", predictions, loc);
  programs.classify.precision(settings.precision)
      .output("probabilities", softmax(found, 1), loc)
      .output("predictions", predictions, loc);
  return programs;
}

std::string images_to_json(const ImageClassifier& model) {
  nlohmann::ordered_json out;
  out["classes"] = model.classes;
  out["mean"] = model.normalisation.mean;
  out["deviation"] = model.normalisation.deviation;
  return out.dump();
}

/// Classes and normalisation from their attachment.
void read_images(const std::string& text, ImageClassifier& model) {
  try {
    const auto parsed = nlohmann::json::parse(text);
    model.classes = parsed.at("classes").get<std::vector<std::string>>();
    model.normalisation = {parsed.at("mean").get<std::vector<double>>(),
                           parsed.at("deviation").get<std::vector<double>>()};
    check(model.config, model.classes, model.normalisation);
  } catch (const nlohmann::json::exception& e) {
    throw FormatError(
        fmt::format("the attachment '{}' is no description of images: {}", kImages, e.what()));
  } catch (const ArgumentError& e) {
    throw FormatError(fmt::format("the attachment '{}': {}", kImages, e.what()));
  }
}

/// `images` [count, ...] are of the model's size.
void require_size(const ImageClassifier& model, const Tensor& images) {
  const ImageSize size = model.image_size();
  if (images.rank() != 4 || images.dtype() != DType::f32 ||
      ImageSize{images.size(1), images.size(2), images.size(3)} != size) {
    throw ShapeError(
        fmt::format("the model takes images f32[count, {}, {}, {}], not {}: "
                    "fit_image() makes them fit",
                    size.channels, size.height, size.width, images.type_str()));
  }
}

ImageSet set_of(const Tensor& images) {
  return {images, std::vector<std::int32_t>(static_cast<std::size_t>(images.size(0)), 0), {}};
}

/// Evenly spread over the set: its order may be that of the classes.
ImageSet spread(const ImageSet& set, std::int64_t count) {
  if (count >= set.count()) return set;
  std::vector<std::int64_t> places;
  for (std::int64_t i = 0; i < count; ++i) places.push_back(i * set.count() / count);
  return set.pick(places);
}

}  // namespace

ImageNormalisation normalisation_of(const ImageSet& set) {
  ChannelStatistics found = channel_statistics(set);
  std::replace(found.deviation.begin(), found.deviation.end(), 0.0, 1.0);
  return {found.mean, found.deviation};
}

ImageClassifier make_image_classifier(const VitConfig& config,
                                      const std::vector<std::string>& classes,
                                      const ImageNormalisation& normalisation,
                                      const ImageAugmentation& augmentation,
                                      const TrainSettings& settings, const FineTuneOptions& options,
                                      SourceLocation loc) {
  settings.check();
  config.check();
  augmentation.check();
  check(config, classes, normalisation);
  auto graph = std::make_shared<Graph>();
  ImageClassifierPrograms programs =
      build(*graph, config, static_cast<std::int64_t>(classes.size()), normalisation, settings,
            options, loc);
  return {std::move(graph),
          std::move(programs),
          std::make_shared<VariableStore>(),
          config,
          classes,
          normalisation,
          augmentation,
          settings,
          {}};
}

void save_image_classifier(const std::string& path, const ImageClassifier& model) {
  std::vector<Program> programs = {model.programs.evaluate, model.programs.classify};
  if (model.can_train()) programs.insert(programs.begin(), model.programs.train);
  save_checkpoint(
      path, *model.store, programs,
      {.attachments = {{kConfigAttachment, kConfigType, model.config.to_json()},
                       {kImages, "weft.images", images_to_json(model)},
                       {kAugmentation, "weft.train.augmentation", model.augmentation.to_json()},
                       {kSettingsAttachment, "weft.train.settings", model.settings.to_json()},
                       {kHistoryAttachment, "weft.train.history", model.history.to_json()}}});
}

ImageClassifier load_image_classifier(const std::string& path) {
  const ModelFile file(path, kConfigType, "image classifier");
  ImageClassifier model{
      file.checkpoint().shared_graph(),
      {file.program_if_there("train"), file.program("evaluate"), file.program("classify")},
      file.checkpoint().store(),
      VitConfig::from_json(file.attachment(kConfigAttachment)),
      {},
      {},
      ImageAugmentation::from_json(file.attachment(kAugmentation)),
      TrainSettings::from_json(file.attachment(kSettingsAttachment)),
      TrainHistory::from_json(file.attachment(kHistoryAttachment))};
  read_images(file.attachment(kImages), model);
  return model;
}

Tensor class_probabilities(Session& session, const ImageClassifier& model, const Tensor& images) {
  require_size(model, images);
  const auto classes = static_cast<std::int64_t>(model.classes.size());
  const ImageSet set = set_of(images);
  Tensor all = Tensor::empty(DType::f32, {set.count(), classes});
  auto* out = all.mutable_data<float>();
  for (std::int64_t begin = 0; begin < set.count(); begin += kEvaluationBatch) {
    const ImageSet part = set.slice(begin, std::min(begin + kEvaluationBatch, set.count()));
    const Tensor found =
        session.run(model.programs.classify, {{"images", part.images}})["probabilities"];
    out = std::copy_n(found.data<float>(), found.numel(), out);
  }
  return all;
}

std::vector<ClassScore> classify(Session& session, const ImageClassifier& model,
                                 const Tensor& image, std::int64_t most) {
  const auto [channels, height, width] = model.image_size();
  const Tensor fitted = fit_image(image, channels, height, width);
  const Tensor found =
      class_probabilities(session, model, fitted.reshape({1, channels, height, width}));
  std::vector<ClassScore> scores;
  for (std::size_t c = 0; c < model.classes.size(); ++c)
    scores.push_back({model.classes[c], found.at(static_cast<std::int64_t>(c))});
  std::stable_sort(scores.begin(), scores.end(), [](const ClassScore& a, const ClassScore& b) {
    return a.probability > b.probability;
  });
  scores.resize(std::min(scores.size(), static_cast<std::size_t>(std::max<std::int64_t>(most, 0))));
  return scores;
}

ImageEvaluation evaluate_images(Session& session, const ImageClassifier& model,
                                const ImageSet& set) {
  require_size(model, set.images);
  if (set.classes != model.classes) {
    throw DataError(fmt::format("the images are of the classes ({}), the model knows ({})",
                                fmt::join(set.classes, ", "), fmt::join(model.classes, ", ")));
  }
  if (set.count() == 0) throw DataError("there are no images to measure on");
  ImageEvaluation result{0, ClassificationReport(model.classes)};
  for (std::int64_t begin = 0; begin < set.count(); begin += kEvaluationBatch) {
    const ImageSet part = set.slice(begin, std::min(begin + kEvaluationBatch, set.count()));
    const Results found =
        session.run(model.programs.evaluate,
                    {{"images", part.images}, {"labels", Tensor::of({part.count()}, part.labels)}});
    result.loss += static_cast<double>(found["loss"].item<float>()) *
                   static_cast<double>(part.count()) / static_cast<double>(set.count());
    const Tensor predictions = found["predictions"];
    for (std::int64_t i = 0; i < part.count(); ++i)
      result.report.add(part.labels[static_cast<std::size_t>(i)],
                        predictions.data<std::int64_t>()[i]);
  }
  return result;
}

TrainTask image_task(Session& session, const ImageClassifier& model, const ImageSet& train,
                     const ImageSet& validation) {
  const TrainSettings& settings = model.settings;
  const auto batches =
      std::make_shared<ImageBatches>(train, settings.batch, model.augmentation, settings.seed);
  TrainTask task{.train = &model.programs.train,
                 .batch =
                     [batches](std::int64_t step) {
                       const ImageSet batch = (*batches)(step);
                       return TrainBatch{{{"images", batch.images},
                                          {"labels", Tensor::of({batch.count()}, batch.labels)}},
                                         batch.count()};
                     },
                 .unit = "images"};
  if (validation.count() > 0) {
    task.evaluate = [&session, &model, &validation](bool whole) {
      const std::int64_t count = model.settings.eval_batches * model.settings.batch;
      const ImageEvaluation found = evaluate_images(
          session, model, whole || count == 0 ? validation : spread(validation, count));
      return Evaluation{found.loss, {{"accuracy", found.report.accuracy()}}};
    };
  }
  return task;
}

}  // namespace weft
