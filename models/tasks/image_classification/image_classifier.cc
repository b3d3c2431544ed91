#include "weft/models/tasks/image_classification/image_classifier.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "weft/core/error.h"
#include "weft/graph/functions.h"
#include "weft/models/data/batching/shuffle.h"
#include "weft/models/data/images/image_codec.h"
#include "weft/models/families/swin.h"
#include "weft/models/families/vit.h"
#include "weft/models/inputs/folder_encoder.h"
#include "weft/models/inputs/preprocessor.h"
#include "weft/models/layers/linear.h"
#include "weft/models/tasks/common/image_data.h"
#include "weft/models/tasks/common/run_checked.h"
#include "weft/models/training/run_distributed.h"
#include "weft/models/training/trainable.h"
#include "weft/models/training/weighted_mean.h"

namespace weft {

void add_image_inference(Programs& programs, const Value& logits, const Value& labels,
                         Precision precision, SourceLocation loc) {
  Program evaluate("evaluate"), classify("classify");
  const Value predictions = argmax(logits, 1);
  evaluate.precision(precision)
      .output("loss", cross_entropy(logits, labels), loc)
      .output("predictions", predictions, loc);
  classify.precision(precision)
      .output("probabilities", softmax(logits, 1), loc)
      .output("predictions", predictions, loc);
  programs.insert_or_assign("evaluate", evaluate);
  programs.insert_or_assign("classify", classify);
}

namespace {

std::int64_t pooled_width(const VitConfig& config) { return config.pooled_width(); }
std::int64_t pooled_width(const SwinConfig& config) { return config.final_width(); }

/// Returns the config without the mask token, which classifiers do not read.
VitConfig without_mask_token(VitConfig config) {
  config.mask_token = false;
  return config;
}
const SwinConfig& without_mask_token(const SwinConfig& config) { return config; }

/// Builds the programs for a network of type Net, Vit or Swin.
template <class Net, class Config>
Programs build_programs(Graph& graph, const Config& config, std::int64_t classes,
                        const ImageNormalisation& normalisation, const TrainSettings& settings,
                        SourceLocation loc) {
  const Value images =
      graph.input("images", DType::f32,
                  {"batch", config.channels, config.image_height, config.image_width}, loc);
  const Value labels = graph.input("labels", DType::i32, {"batch"}, loc);
  const Value pixels = normalised(images, normalisation);
  const Net network(Scope(graph), without_mask_token(config), false, loc);
  const Linear head =
      make_linear(Scope(graph, "classifier"), DType::f32, pooled_width(config), classes,
                  {.initializer = Initializer::normal(config.initializer_range)}, loc);
  const auto logits = [&](const Net& net) {
    return head(net.pool(net(pixels, {}, loc).last_hidden_state));
  };

  Program train("train");
  train.output(
      "loss",
      cross_entropy(logits(network.training()), labels, {.reduction = settings.loss_reduction()}),
      loc);
  Programs programs = {{"train", train}};
  add_image_inference(programs, logits(network.evaluation()), labels, settings.precision, loc);
  return programs;
}

/// Throws ShapeError unless `images` [count, ...] have the model's image size.
void require_size(const AnyImageClassifier& model, const Tensor& images) {
  const ImageSize size = model.image_size();
  if (images.rank() != 4 || images.dtype() != DType::f32 ||
      ImageSize{images.size(1), images.size(2), images.size(3)} != size) {
    throw ShapeError(
        fmt::format("the model requires images f32[count, {}, {}, {}], not {}: "
                    "convert them with preprocess_image()",
                    size.channels, size.height, size.width, images.type_str()));
  }
}

/// Returns the number of batches for an image set.
std::int64_t parts_of(const ImageSet& set) {
  return (set.count() + kImagesAtOnce - 1) / kImagesAtOnce;
}
ImageSet part_of(const ImageSet& set, std::int64_t i) {
  return set.slice(i * kImagesAtOnce, std::min((i + 1) * kImagesAtOnce, set.count()));
}

ImageSet set_of(const Tensor& images) {
  return {images, std::vector<std::int32_t>(static_cast<std::size_t>(images.size(0)), 0), {}};
}

template <class Model>
ModelLayout make_layout(const char* kind) {
  return ModelLayout{
      .kind = kind, .uses = {Use::classify, Use::embed}, .programs = {"evaluate", "classify"}}
      .config(&Model::config)
      .part("model.images", "weft.images", &Model::images)
      .part("train.augmentation", "weft.train.augmentation", &Model::augmentation);
}

template <class Net, class Model, class Config>
Model build(const char* task, const Config& config, const std::vector<std::string>& classes,
            const ImageNormalisation& normalisation, const ImageAugmentation& augmentation,
            const TrainSettings& settings, SourceLocation loc) {
  settings.check();
  Model model;
  model.task = task;
  model.settings = settings;
  model.config = config;
  model.images = {classes, normalisation, default_geometry(model.image_size())};
  model.augmentation = augmentation;
  model.check();
  model.programs =
      build_programs<Net>(*model.graph, config, static_cast<std::int64_t>(classes.size()),
                          normalisation, settings, loc);
  put_fixed_positions(model, config);
  return model;
}

template <class Model, class Config>
std::unique_ptr<Model> read_classifier(const hf::Folder& folder, const char* task) {
  const std::string name = hf::architecture_of(folder.config);
  if (name.find("ForImageClassification") == std::string::npos) return nullptr;
  auto model = std::make_unique<Model>();
  Graph& graph = *model->graph;
  const Sizes sizes = hf::minimal_inputs(folder.config).at("pixel_values").second;
  model->images = folder_preprocessing(folder, {sizes[1], sizes[2], sizes[3]});
  const Value images = graph.input("images", DType::f32, {"batch", sizes[1], sizes[2], sizes[3]});
  const Value labels = graph.input("labels", DType::i32, {"batch"});
  const hf::Model built = hf::build_model_over(
      graph, folder.config, {{"pixel_values", normalised(images, model->images.normalisation)}});
  if (!built.family || !std::holds_alternative<Config>(*built.family)) return nullptr;
  const Value logits = built.outputs.at("logits");
  add_image_inference(model->programs, logits, labels, model->settings.precision,
                      SourceLocation::current());
  model->task = task;
  model->config = std::get<Config>(*built.family);
  model->images.classes = label_names(folder.config, logits.size(1).constant());
  model->store = hf::load_weights(built, graph, folder);
  model->check();
  return model;
}

template <class Net, class Model>
std::unique_ptr<ImageEncoder> encoder_of(const Model& model) {
  return image_encoder_of(model, model.config, model.images, model.image_size(),
                          [&](const Value& pixels) {
                            const Net net(Scope(pixels.graph()).evaluation(), model.config);
                            return net.pool(net(pixels).last_hidden_state);
                          });
}

template <class Model>
FolderModel folder_of(const Model& model) {
  FolderModel folder;
  folder.library.family = model.config;
  folder.library.endings = {"ForImageClassification", "ForImageClassificationWithTeacher"};
  folder.library.labels = model.classes();
  folder.images = model.images;
  return folder;
}

constexpr const char *kVitTask = "image-classification", *kSwinTask = "swin-classification";

}  // namespace

void AnyImageClassifier::check() const {
  augmentation.check();
  images.normalisation.check(image_size().channels);
  if (classes().size() < 2)
    throw ArgumentError(
        fmt::format("a classifier needs at least two classes, not {}", classes().size()));
}

const ModelLayout& ImageClassifier::file_layout() {
  static const ModelLayout layout = make_layout<ImageClassifier>("image classifier");
  return layout;
}
const ModelLayout& SwinClassifier::file_layout() {
  static const ModelLayout layout = make_layout<SwinClassifier>("Swin image classifier");
  return layout;
}

void ImageClassifier::check() const {
  config.check();
  AnyImageClassifier::check();
}
void SwinClassifier::check() const {
  config.check();
  AnyImageClassifier::check();
}

ImageClassifier build_image_classifier(const VitConfig& config,
                                       const std::vector<std::string>& classes,
                                       const ImageNormalisation& normalisation,
                                       const ImageAugmentation& augmentation,
                                       const TrainSettings& settings, SourceLocation loc) {
  return build<Vit, ImageClassifier>(kVitTask, config, classes, normalisation, augmentation,
                                     settings, loc);
}
SwinClassifier build_image_classifier(const SwinConfig& config,
                                      const std::vector<std::string>& classes,
                                      const ImageNormalisation& normalisation,
                                      const ImageAugmentation& augmentation,
                                      const TrainSettings& settings, SourceLocation loc) {
  return build<Swin, SwinClassifier>(kSwinTask, config, classes, normalisation, augmentation,
                                     settings, loc);
}

std::unique_ptr<ImageClassifier> image_classifier_of(const hf::Folder& folder) {
  return read_classifier<ImageClassifier, VitConfig>(folder, kVitTask);
}
std::unique_ptr<SwinClassifier> swin_classifier_of(const hf::Folder& folder) {
  return read_classifier<SwinClassifier, SwinConfig>(folder, kSwinTask);
}

std::unique_ptr<ImageEncoder> ImageClassifier::image_encoder() const {
  return encoder_of<Vit>(*this);
}
std::unique_ptr<ImageEncoder> SwinClassifier::image_encoder() const {
  return encoder_of<Swin>(*this);
}

FolderModel ImageClassifier::to_folder() const { return folder_of(*this); }
FolderModel SwinClassifier::to_folder() const { return folder_of(*this); }

Tensor class_probabilities(Session& session, const AnyImageClassifier& model,
                           const Tensor& images) {
  require_size(model, images);
  const auto classes = static_cast<std::int64_t>(model.classes().size());
  const ImageSet set = set_of(images);
  Tensor all = Tensor::empty(DType::f32, {set.count(), classes});
  auto* out = all.mutable_data<float>();
  run_distributed(
      session, model.program("classify"), parts_of(set),
      [&](std::int64_t i) -> NamedTensors {
        return {{"images", part_of(set, i).images}};
      },
      [&](std::int64_t, const Results& results) {
        check_results(results);
        const Tensor& found = results["probabilities"];
        out = std::copy_n(found.data<float>(), found.numel(), out);
      });
  return all;
}

std::vector<ClassScore> classify(Session& session, const AnyImageClassifier& model,
                                 const Tensor& image, std::int64_t most, std::string_view name) {
  const auto [channels, height, width] = model.image_size();
  const Tensor fitted = preprocess_image(image, model.image_size(), model.images.geometry, name);
  const Tensor found =
      class_probabilities(session, model, fitted.reshape({1, channels, height, width}));
  const auto values = found.span<float>();
  return top_classes(model.classes(), std::vector<double>(values.begin(), values.end()), most);
}

std::vector<std::vector<ClassScore>> AnyImageClassifier::most_likely_classes(
    Session& session, const std::vector<std::string>& paths, const ClassifyOptions& options) const {
  std::vector<std::vector<ClassScore>> found;
  for (const std::string& path : paths)
    found.push_back(
        classify(session, *this, read_image(path, image_size().channels), options.most, path));
  return found;
}

ImageEvaluation evaluate_images(Session& session, const AnyImageClassifier& model,
                                const ImageSet& set) {
  require_size(model, set.images);
  if (set.classes != model.classes()) {
    throw DataError(
        fmt::format("the images have the classes ({}), but the model has the classes ({})",
                    fmt::join(set.classes, ", "), fmt::join(model.classes(), ", ")));
  }
  if (set.count() == 0) throw DataError("there are no images to evaluate on");
  ImageEvaluation result{0, ConfusionMatrix(model.classes())};
  WeightedMean loss;
  run_distributed(
      session, model.program("evaluate"), parts_of(set),
      [&](std::int64_t i) -> NamedTensors {
        const ImageSet part = part_of(set, i);
        return {{"images", part.images}, {"labels", Tensor::of({part.count()}, part.labels)}};
      },
      [&](std::int64_t i, const Results& found) {
        const auto predictions = found["predictions"].span<std::int64_t>();
        loss.add(found["loss"].item<float>(), static_cast<double>(predictions.size()));
        const auto first = static_cast<std::size_t>(i * kImagesAtOnce);
        for (std::size_t k = 0; k < predictions.size(); ++k)
          result.matrix.add(set.labels[first + k], predictions[k]);
      });
  result.loss = loss.value();
  return result;
}

TrainTask image_task(Session& session, const AnyImageClassifier& model, const ImageSet& train,
                     const ImageSet& validation) {
  TrainTask task = train_task(
      model, "images",
      [batches = ImageBatches(train, model.settings.batch, model.augmentation,
                              model.settings.seed)](const BatchPart& part) {
        const ImageSet batch = batches(part);
        return TrainBatch{
            {{"images", batch.images}, {"labels", Tensor::of({batch.count()}, batch.labels)}},
            batch.count()};
      });
  if (validation.count() > 0) {
    task.evaluate = [&session, &model, &validation](bool whole) {
      const std::int64_t count = model.settings.eval_batches * model.settings.batch;
      const ImageEvaluation found = evaluate_images(
          session, model,
          whole || count == 0 ? validation
                              : validation.pick(evenly_spread(validation.count(), count)));
      return Evaluation{found.loss, {{"accuracy", found.matrix.accuracy()}}};
    };
  }
  return task;
}

}  // namespace weft
