// weft train vit --task masked-image
#include <fmt/format.h>

#include <algorithm>

#include "weft/models/program/console.h"
#include "weft/models/program/train/train_vit.h"
#include "weft/models/train/masked_image_task.h"
#include "weft/models/train/vit_presets.h"

namespace weft::program {
namespace {

MaskedImageModel new_model(const VitArguments& args, ImageParts& parts) {
  const Preset<VitPretrainingRecipe> preset = chosen_preset(vit_pretraining_presets(), args);
  const auto [config, augmentation, masking] = as_usage([&] {
    return VitPretrainingRecipe{model_config(preset.model.model, args),
                                with_fields(preset.model.augmentation, args.augmentation),
                                with_fields(preset.model.masking, args.masking)};
  });
  parts =
      load_parts(args, {config.channels, config.image_height, config.image_width}, preset.training);
  return as_usage([&, &c = config, &a = augmentation, &m = masking] {
    return make_masked_image_model(c, normalisation_of(parts.train), a, m, preset.training);
  });
}

MaskedImageModel resumed_model(const VitArguments& args) {
  args.refuse({"--mask-ratio", "--mask-unit"},
              "cannot be given with --resume: it is as the file says");
  MaskedImageModel model = load_masked_image_model(args.resume);
  if (!model.can_train())
    throw UsageError(fmt::format("{} cannot be trained: it has no training step", args.resume));
  model.settings = resumed_settings(model.settings, args);
  return model;
}

void print_masking(const MaskedImageModel& model) {
  const VitConfig& c = model.config;
  const std::int64_t unit = model.masking.mask_unit;
  say("hidden    {} of {} patches of every image",
      hidden_patches(model.masking, c.rows(), c.columns()), c.rows() * c.columns());
  if (unit > 1) say(", in squares of {} x {}", unit, unit);
  say("\n");
}

/// The one look at the test set, after training: figures and a picture.
void report_test(Session& session, const MaskedImageModel& model, const ImageParts& parts,
                 const VitArguments& args) {
  const ImageSet& test = parts.data.test;
  if (test.count() == 0) return;
  // A cell of the picture is an element of the document: large images are shown fewer.
  const ImageSize size = model.image_size();
  const std::vector<std::int64_t> places = evenly_spread(
      test.count(), std::clamp<std::int64_t>(14000 / (3 * size.height * size.width), 1, 6));
  const OutputFile picture = args.file(kReconstruction);
  write_text(picture, reconstruction_svg(session, model, test.pick(places).images,
                                         held_out_masks(model, places), "test images"));
  const double loss = masked_image_loss(session, model, test);
  const MaskedImageBaselines without = masked_image_baselines(model, parts.train, test);
  say("picture   {}\n", picture.path());
  say("test      loss {:.4f} over the hidden pixels of {} images; without a model: {:.4f} (the "
      "image's mean of visible pixels), {:.4f} (the pixel's median in training)\n",
      loss, grouped(test.count()), without.visible_mean, without.training_median);
}

}  // namespace

int train_masked_images(const VitArguments& args) {
  args.refuse({"--from", "--new", "--freeze", "--layer-lr-decay"}, "is for --task classify");
  MaskedImageModel model;
  ImageParts parts;
  if (args.resume.empty()) {
    model = new_model(args, parts);
  } else {
    model = resumed_model(args);
    parts = load_parts(args, model.image_size(), model.settings);
  }
  Session session(*model.graph, model.store, args.session_options(model.settings));
  print_vit(model.config, *model.graph);
  say("data      {}: images {}, labels are not read\n", args.data, parts.train.size().str());
  print_split(parts, model.settings);
  print_masking(model);
  print_training(model.settings, "images", image_values(model.config));
  const TrainTask task = masked_image_task(session, model, parts.train, parts.validation);
  print_plan(session, model.programs.train, task.batch(0).inputs, args);
  TrainRun run = run_of(model, task, &save_masked_image_model, command_line(args));
  run.loss_unit = "deviations";
  const TrainOutcome outcome = run_training(session, run, args);
  if (!outcome.stopped) report_test(session, model, parts, args);
  return 0;
}

}  // namespace weft::program
