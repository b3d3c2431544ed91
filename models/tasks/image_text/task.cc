#include "weft/models/tasks/image_text/task.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "weft/core/error.h"
#include "weft/models/data/batching/shuffle.h"
#include "weft/models/families/vit.h"
#include "weft/models/fields/numbers.h"
#include "weft/models/hf/published.h"
#include "weft/models/plots/svg_heat_map.h"
#include "weft/models/tasks/common/data_parts.h"
#include "weft/models/tasks/common/image_data.h"
#include "weft/models/tasks/common/text_data.h"
#include "weft/models/tasks/image_text/image_text_model.h"
#include "weft/models/tasks/image_text/presets.h"
#include "weft/models/tasks/image_text/zero_shot.h"

namespace weft {
namespace {

constexpr const char* kSimilarityPlot = ".similarity.svg";
constexpr const char* kCaptionsRequired =
    "--data is required: files with lines 'image file <tab> caption'";

using CaptionParts = DataParts<ImageCaptions>;

CaptionParts read_caption_parts(const OptionValues& values, const ImageSize& size,
                                const std::optional<ImageGeometry>& geometry,
                                const TrainSettings& settings) {
  return read_data_parts(
      values, kDataOption, kCaptionsRequired, settings,
      [&](const std::vector<std::string>& paths) {
        return read_image_captions(paths, size, geometry);
      },
      [](ImageCaptions all, double fraction, std::uint64_t seed) {
        return hold_out(all, fraction, seed);
      });
}

/// Returns a heat map of the logits of a few images and their captions.
std::string similarity_svg(Session& session, const ImageTextModel& model,
                           const ImageCaptions& data) {
  constexpr std::int64_t kMost = 10;
  const std::vector<std::int64_t> places = evenly_spread(data.size(), kMost);
  std::vector<std::string> captions, names;
  for (const std::int64_t place : places) {
    captions.push_back(data.captions[static_cast<std::size_t>(place)]);
    names.push_back(fmt::format("image of: {}", captions.back()));
  }
  HeatMap map = heat_map(zero_shot_logits(session, model, data.images.pick(places).images, captions,
                                          {.on_cut = [](const CutText&) {}}));
  map.row_labels = names;
  map.column_labels = captions;
  map.decimals = 1;
  return svg_heat_maps({map}, {.title = "logits of held-out images and captions"});
}

class ImageTextRun final : public RunOf<ImageTextModel> {
 public:
  ImageTextRun(std::unique_ptr<ImageTextModel> model, CaptionParts parts)
      : RunOf(std::move(model)), parts_(std::move(parts)) {}

  std::string describe() override {
    const ImageTextConfig& c = model_->config;
    return fmt::format(
        "model     image tower: {} layers, width {}, images {}; text tower: {} layers, width {}, "
        "context {}, {} pieces; vectors of {}: {} parameters\n"
        "data      {} training images with captions, {} for validation, {} for the test\n",
        c.image.layers, c.image.width, model_->image_size().str(), c.text.layers, c.text.width,
        c.text.context, c.text.vocab, c.projection, grouped(hf::count_parameters(*model_->graph)),
        grouped(parts_.train.size()), grouped(parts_.validation.size()),
        grouped(parts_.test.size()));
  }
  std::string batch_unit() const override { return "images with captions"; }
  std::int64_t row_size() const override {
    const auto [channels, height, width] = model_->image_size();
    return channels * height * width;
  }

  TrainTask task(Session& session) override {
    return image_text_train_task(session, *model_, parts_.train, parts_.validation);
  }

  TaskReport report(Session& session, const TrainOutcome&, const std::string&) override {
    if (!parts_.has_held_out()) return {};
    return {measure_report(session, *model_),
            {{kSimilarityPlot, similarity_svg(session, *model_, held_out())}}};
  }

  Evaluation measure(Session& session, const TrainedModel& model) override {
    const ImageTextEvaluation found =
        evaluate_image_text(session, model_as<ImageTextModel>(model), held_out());
    return {found.loss, found.metrics()};
  }
  std::string measure_report(Session& session, const TrainedModel& model) override {
    const ImageTextEvaluation found =
        evaluate_image_text(session, model_as<ImageTextModel>(model), held_out());
    return fmt::format(
        "{:9} loss {:.4f}; recall from images to captions {:.4f} at 1, {:.4f} at 5, from captions "
        "to images {:.4f} at 1, {:.4f} at 5, on {} images\n",
        parts_.has_test() ? "test" : "validation", require_finite(found.loss, "the loss"),
        found.image_recall_1, found.image_recall_5, found.text_recall_1, found.text_recall_5,
        grouped(held_out().size()));
  }

 private:
  const ImageCaptions& held_out() const { return parts_.held_out("image"); }

  CaptionParts parts_;
};

/// Returns the arguments of the text tower alone: the names of the fields lack "text_".
TaskArguments text_tower_arguments(const TaskArguments& args) {
  TaskArguments result = args;
  result.from.reset();
  result.check_size = {};
  result.model.clear();
  constexpr std::string_view kFront = "text_";
  for (const auto& [name, value] : args.model) {
    // text_pooling and text_projection_bias are fields of the whole model.
    if (name.starts_with(kFront) && name != "text_pooling" && name != "text_projection_bias")
      result.model[name.substr(kFront.size())] = value;
  }
  return result;
}

/// Returns the weights that training starts from. Positions are interpolated if the number of
/// patches differs.
TensorMap image_text_weights(const Pretrained& from, const ImageTextConfig& config) {
  TensorMap weights = from.weights;
  const VitConfig& before = from.config_of<ImageTextConfig>().image;
  const auto table = weights.find("image.positions");
  if (table != weights.end() &&
      (before.rows() != config.image.rows() || before.columns() != config.image.columns()))
    table->second = interpolate_positions(table->second, before, config.image);
  return weights;
}

class ImageTextTask final : public TaskOf<ImageTextModel> {
 public:
  const TaskInfo& info() const override {
    static const TaskInfo info{
        .id = "image-text",
        .family = "image-text",
        .name = "contrastive",
        .about =
            "train an image tower and a text tower so that images and their captions have "
            "similar vectors (CLIP, SigLIP)",
        .help = {{"batch",
                  "images with captions per step; each is compared with all others of the batch"},
                 {"validation_fraction",
                  "fraction of the --data lines held out for validation if there is no "
                  "--validation"}},
        .plots = {kSimilarityPlot},
        .folders = "CLIPModel, SiglipModel and their text towers"};
    return info;
  }
  TaskOptions options() const override {
    TaskOptions options;
    add_data_parts(options,
                   "files to train on, with lines 'image file <tab> caption'; paths of images are "
                   "relative to the folder of the file");
    add_tokenizer(options, "bpe", true);
    return options.field_group(kAugmentationGroup, ImageAugmentation::fields());
  }
  TaskFields config_fields() const override {
    return {"Model",
            &ImageTextConfig::fields(),
            {"towers", "end_id", "text_vocab", "text_padding_id", "vision_distillation"}};
  }
  std::vector<PresetDescription> presets() const override {
    return preset_descriptions(image_text_presets());
  }

  std::unique_ptr<TaskRun> start(const TaskArguments& args) const override {
    check_data_parts(args, kDataOption, kCaptionsRequired);
    TaskArguments chosen = args;
    if (args.from && args.preset.empty()) chosen.preset = "fine-tune";
    Preset<ImageTextRecipe> preset = chosen_preset(image_text_presets(), chosen);
    // The fraction is stored in the model file, so that later evaluations hold out the same lines.
    if (args.options.has(kValidationOption)) preset.training.validation_fraction = 0;
    ImageTextConfig config = chosen_config(base_config(preset.model.model, args), args);
    const ImageSize size = image_size(config.image);
    ImageGeometry geometry = default_geometry(size);
    if (args.from && args.from->geometry) {
      geometry = args.from->geometry->scaled(
          image_size(args.from->config_of<ImageTextConfig>().image), size);
    }
    const auto augmentation = ImageAugmentation::fields().with(
        preset.model.augmentation, args.options.fields(kAugmentationGroup));
    CaptionParts parts = read_caption_parts(args.options, size, geometry, preset.training);

    Tokenizer tokenizer;
    std::optional<TextReading> reading;
    std::string notes;
    if (args.from) {
      tokenizer = args.from->tokenizer();
      // Tokenizers from folders define the special tokens of texts.
      if (args.from->origin) reading.emplace();
    } else {
      NewEncoder text = new_encoder(config.text, text_tower_arguments(args),
                                    [&] { return parts.train.captions; });
      config.text = text.config;
      tokenizer = std::move(text.tokenizer);
      notes = std::move(text.notes);
      config.end_id = tokenizer.sep_id();
      if (args.check_size) args.check_size(config);
    }
    const bool as_before = args.from && args.from->normalisation;
    const ImageInfo images{
        {}, as_before ? *args.from->normalisation : normalisation_of(parts.train.images), geometry};
    auto model = std::make_unique<ImageTextModel>(
        build_image_text_model(config, tokenizer, reading, images, augmentation, preset.training));
    std::optional<LoadReport> loaded;
    if (args.from) loaded = start_weights(*model, args, image_text_weights(*args.from, config), {});
    return new_run<ImageTextRun>(preset.name, std::move(loaded), notes, std::move(model),
                                 std::move(parts));
  }

  std::unique_ptr<TrainedModel> from_folder(const hf::Folder& folder,
                                            const FolderTokenizer& text) const override {
    return image_text_model_of(folder, text);
  }

  std::unique_ptr<TaskRun> open_model(std::unique_ptr<ImageTextModel> model,
                                      const OptionValues& options) const override {
    if (!model->config.has_images())
      throw ArgumentError("the model has no image tower: it cannot be evaluated on images");
    CaptionParts parts =
        read_caption_parts(options, model->image_size(), model->images.geometry, model->settings);
    return std::make_unique<ImageTextRun>(std::move(model), std::move(parts));
  }
};

}  // namespace

const Task& image_text_task() {
  static const ImageTextTask task;
  return task;
}

}  // namespace weft
