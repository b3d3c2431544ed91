#include "weft/models/tasks/masked_image/task.h"

#include <fmt/format.h>

#include <algorithm>

#include "weft/core/error.h"
#include "weft/models/data/batching/shuffle.h"
#include "weft/models/families/vit.h"
#include "weft/models/fields/numbers.h"
#include "weft/models/tasks/common/image_data.h"
#include "weft/models/tasks/masked_image/masked_image_task.h"
#include "weft/models/tasks/masked_image/presets.h"

namespace weft {
namespace {

constexpr const char* kMasking = "Masked images";
constexpr const char* kPicture = ".reconstruction.svg";

class MaskedImageRun final : public RunOf<MaskedImageModel> {
 public:
  MaskedImageRun(std::unique_ptr<MaskedImageModel> model, ImageParts parts, std::string path)
      : RunOf(std::move(model)), parts_(std::move(parts)), path_(std::move(path)) {}

  std::string describe() override {
    const VitConfig& c = model_->config;
    const std::int64_t unit = model_->masking.mask_unit;
    std::string text = describe_images_model(c, *model_->graph);
    text +=
        fmt::format("data      {}: images {}, labels ignored\n", path_, parts_.train.size().str());
    text += describe_split(parts_, model_->settings);
    text +=
        fmt::format("masked    {} of {} patches of every image",
                    hidden_patches(model_->masking, c.rows(), c.columns()), c.rows() * c.columns());
    if (unit > 1) text += fmt::format(", in squares of {} x {}", unit, unit);
    return text + "\n";
  }
  std::string batch_unit() const override { return "images"; }
  std::int64_t row_size() const override {
    const auto [channels, height, width] = model_->image_size();
    return channels * height * width;
  }

  TrainTask task(Session& session) override {
    return weft::masked_image_task(session, *model_, parts_.train, parts_.validation);
  }

  TaskReport report(Session& session, const TrainOutcome&, const std::string&) override {
    const ImageSet& test = parts_.data.test;
    if (test.count() == 0) return {};
    // Each pixel is an element of the SVG document, so show fewer images if they are large.
    const ImageSize size = model_->image_size();
    const std::vector<std::int64_t> places = evenly_spread(
        test.count(), std::clamp<std::int64_t>(14000 / (3 * size.height * size.width), 1, 6));
    const double loss = masked_image_loss(session, *model_, test);
    const MaskedImageBaselines without = masked_image_baselines(*model_, parts_.train, test);
    return {
        fmt::format(
            "test      loss {:.4f} over the masked pixels of {} images; baselines: "
            "{:.4f} (mean of the visible pixels in the image), {:.4f} (median of each pixel over "
            "training images)\n",
            loss, grouped(test.count()), without.visible_mean, without.training_median),
        {{kPicture, reconstruction_svg(session, *model_, test.pick(places).images,
                                       held_out_masks(*model_, places), "test images")}}};
  }

  Evaluation measure(Session& session, const TrainedModel& model) override {
    return {masked_image_loss(session, model_as<MaskedImageModel>(model), parts_.data.test), {}};
  }
  std::string measure_report(Session& session, const TrainedModel& model) override {
    return fmt::format("test      loss {:.4f} over the masked pixels of {} images ({})\n",
                       require_finite(measure(session, model).loss, "the loss"),
                       parts_.data.test.count(), parts_.data.about);
  }

 private:
  ImageParts parts_;
  std::string path_;
};

class MaskedImageTask final : public TaskOf<MaskedImageModel> {
 public:
  const TaskInfo& info() const override {
    static const TaskInfo info{
        .id = "masked-image",
        .family = "vit",
        .name = "masked-image",
        .about = "pre-training: reconstruct masked image patches (SimMIM, MAE)",
        .help = {{"batch", "images per step"},
                 {"validation_fraction",
                  "fraction of the training images held out for validation"}},
        .plots = {kPicture},
        .loss_unit = "deviations"};
    return info;
  }
  TaskOptions options() const override {
    TaskOptions options;
    add_image_data(options)
        .field_group(kAugmentationGroup, ImageAugmentation::fields())
        .field_group(kMasking, PatchMasking::fields());
    return options;
  }
  TaskFields config_fields() const override {
    return {"Model", &VitConfig::fields(), {"distillation", "mask_token", "mask_ratio"}};
  }
  std::vector<PresetDescription> presets() const override {
    return preset_descriptions(vit_pretraining_presets());
  }

  std::unique_ptr<TaskRun> start(const TaskArguments& args) const override {
    const std::string& path = image_path(args.options);
    const Preset<VitPretrainingRecipe> preset = chosen_preset(vit_pretraining_presets(), args);
    const auto& recipe = preset.model;
    const FieldTexts& given = args.options.fields(kMasking);
    PatchMasking masking = PatchMasking::fields().with(recipe.masking, given);
    const bool mae = masking.objective == MaskedImageObjective::mae;
    if (mae && !given.contains("mask_ratio")) masking.mask_ratio = VitConfig{}.mask_ratio;
    VitConfig base = base_config(recipe.model, args);
    if (base.positions != VitPositions::fixed) {
      VitConfig made = pretraining_config(base, masking.objective);
      if (args.from) {
        made.positions = base.positions;
        made.pooling = base.pooling;
      }
      base = made;
    }
    if (mae) base.mask_ratio = masking.mask_ratio;
    const VitConfig config = chosen_config(base, args);
    if (!mae) refuse_decoder_fields(args.model);
    const auto augmentation = ImageAugmentation::fields().with(
        recipe.augmentation, args.options.fields(kAugmentationGroup));
    const ImageGeometry geometry = chosen_geometry(args, config);
    ImageParts parts = load_image_parts(path, image_size(config), geometry, preset.training);
    const bool as_before = args.from && args.from->normalisation;
    auto model = std::make_unique<MaskedImageModel>(build_masked_image_model(
        config, as_before ? *args.from->normalisation : normalisation_of(parts.train), augmentation,
        masking, preset.training));
    model->images.geometry = geometry;
    auto loaded = start_image_weights(*model, config, args);
    return new_run<MaskedImageRun>(preset.name, std::move(loaded), "", std::move(model),
                                   std::move(parts), path);
  }

  std::unique_ptr<TaskRun> open_model(std::unique_ptr<MaskedImageModel> model,
                                      const OptionValues& options) const override {
    const std::string& path = image_path(options);
    ImageParts parts =
        load_image_parts(path, model->image_size(), model->images.geometry, model->settings);
    return std::make_unique<MaskedImageRun>(std::move(model), std::move(parts), path);
  }
};

}  // namespace

const Task& masked_image_task() {
  static const MaskedImageTask task;
  return task;
}

}  // namespace weft
