#include "weft/models/tasks/image_text/image_text_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "weft/core/error.h"
#include "weft/graph/functions.h"
#include "weft/models/data/batching/shuffle.h"
#include "weft/models/data/batching/token_rows.h"
#include "weft/models/hf/config_reader.h"
#include "weft/models/inputs/folder_encoder.h"
#include "weft/models/inputs/preprocessor.h"
#include "weft/models/tasks/common/text_encoder.h"
#include "weft/models/training/gathered_rows.h"
#include "weft/models/training/run_distributed.h"
#include "weft/models/training/trainable.h"
#include "weft/models/training/weighted_mean.h"

namespace weft {
namespace {

/// Number of texts or images per run.
constexpr std::int64_t kRowsPerRun = 64;

/// Adds all programs to a model without variables. `trained_here` limits the scale of the logits as
/// in CLIP's training, and adds the program "train".
void add_image_text_programs(ImageTextModel& model, bool trained_here) {
  const ImageTextConfig& c = model.config;
  Graph& graph = *model.graph;
  const ImageText towers(Scope(graph), c);
  const Precision precision = model.settings.precision;
  const auto add = [&](const char* name) -> Program& {
    return model.add_program(name).precision(precision);
  };
  EncoderInputs inputs{.ids = graph.input("tokens", DType::i32, {"batch", "seq"})};
  if (c.text_pooling != TextTowerPooling::last)
    inputs.attention_mask = graph.input("mask", DType::i32, {"batch", "seq"});
  const Value texts = towers.in(Mode::evaluation).text(inputs).vectors;
  add("text_vectors").output("vectors", texts);
  if (!c.has_images()) return;
  const Value pixels = normalised(
      graph.input("images", DType::f32,
                  {"batch", c.image.channels, c.image.image_height, c.image.image_width}),
      model.images.normalisation);
  const Value images = towers.in(Mode::evaluation).image(pixels).vectors;
  add("image_vectors").output("vectors", images);
  const bool softmax = c.loss == ImageTextLoss::softmax;
  const double largest = trained_here && softmax ? kLargestLogitScale : 0;
  const auto logits = [&](const Value& image_vectors, const Value& text_vectors) {
    return towers.logits(unit_vectors(image_vectors), unit_vectors(text_vectors), largest);
  };
  const auto loss = [&](const Value& scores) {
    return softmax ? clip_loss(scores) : siglip_loss(scores);
  };
  add("compare").output("logits",
                        logits(graph.input("image_vectors", DType::f32, {"images", c.projection}),
                               graph.input("text_vectors", DType::f32, {"texts", c.projection})));
  add("evaluate")
      .output("loss", loss(logits(images, texts)))
      .output("image_vectors", unit_vectors(images))
      .output("text_vectors", unit_vectors(texts));
  if (!trained_here) return;
  const ImageText training = towers.in(Mode::training);
  Value image_rows = training.image(pixels).vectors, text_rows = training.text(inputs).vectors;
  if (model.settings.shards > 1) {
    const Value rows = graph.input("rows", DType::i64, {"batch"});
    image_rows = gathered_rows(image_rows, rows, model.settings.batch);
    text_rows = gathered_rows(text_rows, rows, model.settings.batch);
  }
  model.add_program("train").output("loss", loss(logits(image_rows, text_rows)));
}

std::vector<const TextRow*> pointers_to(std::span<const TextRow> rows) {
  std::vector<const TextRow*> pointers;
  for (const TextRow& row : rows) pointers.push_back(&row);
  return pointers;
}

/// Returns the fractions of rows of `queries` for which a row of `others` with the same caption as
/// the query's is the most similar one, and one of the five most similar ones.
std::pair<double, double> recalls(const Tensor& queries, const Tensor& others,
                                  const std::vector<std::string>& captions) {
  std::int64_t first = 0, among = 0;
  const auto ranked = most_similar(queries, others, 5);
  for (std::size_t i = 0; i < ranked.size(); ++i) {
    const auto same = [&](const Similar& found) {
      return captions[static_cast<std::size_t>(found.row)] == captions[i];
    };
    first += same(ranked[i].front()) ? 1 : 0;
    among += std::any_of(ranked[i].begin(), ranked[i].end(), same) ? 1 : 0;
  }
  const auto count = static_cast<double>(ranked.size());
  return {static_cast<double>(first) / count, static_cast<double>(among) / count};
}

}  // namespace

const ModelLayout& ImageTextModel::file_layout() {
  static const ModelLayout layout =
      ModelLayout{.kind = "image-text model",
                  .uses = {Use::classify, Use::embed},
                  .programs = {"text_vectors", "image_vectors", "compare", "evaluate"},
                  // A text tower alone has only the first program.
                  .added_programs = {"image_vectors", "compare", "evaluate"}}
          .config(&ImageTextModel::config)
          .tokenizer(&ImageTextModel::tokenizer)
          .part(kReadingPart, "weft.reading", &ImageTextModel::reading)
          .part("model.images", "weft.images", &ImageTextModel::images)
          .part("train.augmentation", "weft.train.augmentation", &ImageTextModel::augmentation);
  return layout;
}

void ImageTextModel::check() const {
  config.check();
  augmentation.check();
  if (config.has_images()) images.normalisation.check(config.image.channels);
  check_vocabulary(config.text, tokenizer, reading);
}

FolderModel ImageTextModel::to_folder() const {
  FolderModel folder;
  folder.library.family = config;
  folder.library.endings = {"Model"};
  if (!config.has_images()) folder.library.endings = {"TextModelWithProjection", "TextModel"};
  folder.tokenizer = tokenizer;
  folder.longest = config.text.max_tokens();
  if (config.has_images()) folder.images = images;
  if (history.train.empty() || config.loss != ImageTextLoss::softmax) return folder;
  // Classes of transformers do not limit the scale.
  folder.weights = [](TensorMap weights) {
    Tensor& scale = weights.at("logit_scale");
    const auto most = static_cast<float>(std::log(kLargestLogitScale));
    scale = Tensor::full(DType::f32, scale.sizes(), std::min(scale.data<float>()[0], most));
    return weights;
  };
  return folder;
}

std::unique_ptr<ImageEncoder> ImageTextModel::image_encoder() const {
  if (!config.has_images()) throw ArgumentError("the model has no image tower");
  ImageTextConfig tower = config;
  tower.towers = ImageTextTowers::image;
  return image_encoder_of(*this, tower, images, image_size(), [&](const Value& pixels) {
    return ImageText(Scope(pixels.graph()).evaluation(), tower).image(pixels).vectors;
  });
}

std::vector<std::vector<ClassScore>> ImageTextModel::most_likely_classes(
    Session&, const std::vector<std::string>&, const ClassifyOptions&) const {
  throw ArgumentError(
      "the model compares images with texts and has no fixed classes: give the labels of the "
      "classes (weft classify --labels; zero_shot_classes() in C++)");
}

NamedTensors ImageTextModel::text_inputs(std::span<const TextRow* const> rows) const {
  std::vector<std::vector<std::int32_t>> ids;
  for (const TextRow* row : rows) ids.push_back(row->ids);
  const bool last = config.text_pooling == TextTowerPooling::last;
  const std::int64_t most = config.text.max_tokens();
  const TokenRows batch = pad_rows(ids, padding_id(config.text, tokenizer), last ? most : 16, most);
  if (last) return {{"tokens", batch.ids}};
  return {{"tokens", batch.ids}, {"mask", batch.mask}};
}

ImageTextModel build_image_text_model(const ImageTextConfig& config, const Tokenizer& tokenizer,
                                      const std::optional<TextReading>& reading,
                                      const ImageInfo& images,
                                      const ImageAugmentation& augmentation,
                                      const TrainSettings& settings) {
  settings.check();
  if (config.towers != ImageTextTowers::both)
    throw ArgumentError("training needs both towers: towers must be both");
  ImageTextModel model;
  model.task = "image-text";
  model.settings = settings;
  model.config = config;
  model.tokenizer = tokenizer;
  model.reading = reading;
  model.images = images;
  model.images.classes.clear();
  model.augmentation = augmentation;
  model.check();
  add_image_text_programs(model, true);
  return model;
}

std::unique_ptr<ImageTextModel> image_text_model_of(const hf::Folder& folder,
                                                    const FolderTokenizer& text) {
  const std::string type = hf::ConfigReader(folder.config).model_type();
  if (!type.starts_with("clip") && !type.starts_with("siglip")) return nullptr;
  const hf::InputTypes inputs = hf::minimal_inputs(folder.config);
  if (!inputs.contains("input_ids")) return nullptr;
  Graph graph;
  const hf::Model built = hf::build_model(graph, folder.config, inputs);
  if (!built.family || !std::holds_alternative<ImageTextConfig>(*built.family)) return nullptr;
  auto model = std::make_unique<ImageTextModel>();
  model->task = "image-text";
  model->config = std::get<ImageTextConfig>(*built.family);
  model->tokenizer = require_tokenizer(text);
  model->reading = TextReading{.truncation_side = truncation_side(folder, model->tokenizer)};
  if (model->config.has_images()) model->images = folder_preprocessing(folder, model->image_size());
  hf::with_folder_name(folder.path, [&] { model->check(); });
  add_image_text_programs(*model, false);
  model->store = hf::load_weights(built, *model->graph, folder);
  return model;
}

Tensor text_tower_vectors(Session& session, const ImageTextModel& model,
                          std::span<const std::string> texts, const OnCut& on_cut) {
  const std::vector<TextRow> rows = model.reader().rows(texts, on_cut);
  const std::vector<const TextRow*> all = pointers_to(rows);
  return vectors_of_rows(
      session, model.program("text_vectors"), std::ssize(all), kRowsPerRun,
      [&](std::int64_t begin, std::int64_t end) {
        return model.text_inputs(std::span(all).subspan(static_cast<std::size_t>(begin),
                                                        static_cast<std::size_t>(end - begin)));
      });
}

Tensor image_tower_vectors(Session& session, const ImageTextModel& model, const Tensor& images) {
  const ImageSet set{
      images, std::vector<std::int32_t>(static_cast<std::size_t>(images.size(0))), {}};
  return vectors_of_rows(session, model.program("image_vectors"), set.count(), kRowsPerRun,
                         [&](std::int64_t begin, std::int64_t end) -> NamedTensors {
                           return {{"images", set.slice(begin, end).images}};
                         });
}

std::vector<Metric> ImageTextEvaluation::metrics() const {
  return {{"image_recall@1", image_recall_1},
          {"image_recall@5", image_recall_5},
          {"text_recall@1", text_recall_1},
          {"text_recall@5", text_recall_5}};
}

ImageTextEvaluation evaluate_image_text(Session& session, const ImageTextModel& model,
                                        const ImageCaptions& data) {
  if (data.size() == 0) throw DataError("there are no images to evaluate on");
  const std::vector<TextRow> rows = model.reader().rows(data.captions, [](const CutText&) {});
  const std::vector<const TextRow*> all = pointers_to(rows);
  const std::int64_t batch = std::max<std::int64_t>(model.settings.batch, 1);
  const std::int64_t width = model.config.projection;
  Tensor images = Tensor::empty(DType::f32, {data.size(), width}),
         texts = Tensor::empty(DType::f32, {data.size(), width});
  auto *image_out = images.mutable_data<float>(), *text_out = texts.mutable_data<float>();
  WeightedMean loss;
  run_distributed(
      session, model.program("evaluate"), (data.size() + batch - 1) / batch,
      [&](std::int64_t i) {
        const std::int64_t begin = i * batch, end = std::min(begin + batch, data.size());
        NamedTensors inputs = model.text_inputs(std::span(all).subspan(
            static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin)));
        inputs.emplace_back("images", data.images.slice(begin, end).images);
        return inputs;
      },
      [&](std::int64_t, const Results& results) {
        const Tensor &image = results["image_vectors"], &text = results["text_vectors"];
        loss.add(results["loss"].item<float>(), static_cast<double>(image.size(0)));
        image_out = std::copy_n(image.data<float>(), image.numel(), image_out);
        text_out = std::copy_n(text.data<float>(), text.numel(), text_out);
      });
  ImageTextEvaluation result{.loss = loss.value()};
  std::tie(result.image_recall_1, result.image_recall_5) = recalls(images, texts, data.captions);
  std::tie(result.text_recall_1, result.text_recall_5) = recalls(texts, images, data.captions);
  return result;
}

TrainTask image_text_train_task(Session& session, const ImageTextModel& model,
                                const ImageCaptions& train, const ImageCaptions& validation) {
  // Captions may be truncated, as is usual in training.
  const auto rows = std::make_shared<const std::vector<TextRow>>(
      model.reader().rows(train.captions, [](const CutText&) {}));
  TrainTask task =
      train_task(model, "images",
                 [&model, rows,
                  batches = ImageBatches(train.images, model.settings.batch, model.augmentation,
                                         model.settings.seed)](const BatchPart& part) {
                   const ImageSet batch = batches(part);
                   std::vector<const TextRow*> texts;
                   for (const std::int32_t caption : batch.labels)
                     texts.push_back(&(*rows)[static_cast<std::size_t>(caption)]);
                   NamedTensors inputs = model.text_inputs(texts);
                   inputs.emplace_back("images", batch.images);
                   if (model.settings.shards > 1)
                     inputs.emplace_back("rows", row_positions(part.rows(model.settings.batch)));
                   return TrainBatch{std::move(inputs), batch.count()};
                 });
  if (validation.size() > 0) {
    task.evaluate = [&session, &model, &validation](bool whole) {
      const std::int64_t count = model.settings.eval_batches * model.settings.batch;
      ImageCaptions part;
      if (!whole && count > 0 && count < validation.size()) {
        const std::vector<std::int64_t> places = evenly_spread(validation.size(), count);
        part.images = validation.images.pick(places);
        for (const std::int64_t place : places)
          part.captions.push_back(validation.captions[static_cast<std::size_t>(place)]);
      }
      const ImageTextEvaluation found =
          evaluate_image_text(session, model, part.size() > 0 ? part : validation);
      return Evaluation{found.loss, found.metrics()};
    };
  }
  return task;
}

}  // namespace weft
