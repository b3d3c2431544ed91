// weft train vit --task classify
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <optional>

#include "weft/models/program/console.h"
#include "weft/models/program/train/train_vit.h"
#include "weft/models/train/image_classifier.h"
#include "weft/models/train/pretrained_vit.h"
#include "weft/models/train/svg_heat_map.h"
#include "weft/models/train/vit_presets.h"

namespace weft::program {
namespace {

void check_options(const VitArguments& args) {
  args.refuse({"--mask-ratio", "--mask-unit"}, "is for --task masked-image");
  if (args.from.empty() && !args.anew.empty()) throw UsageError("--new needs --from");
}

ImageClassifier resumed_model(const VitArguments& args) {
  ImageClassifier model = load_image_classifier(args.resume);
  if (!model.can_train())
    throw UsageError(fmt::format("{} cannot be trained: it has no training step", args.resume));
  model.settings = resumed_settings(model.settings, args);
  return model;
}

/// Those for new models may be meant with --from, too.
std::vector<Preset<VitRecipe>> presets(const VitArguments& args) {
  std::vector<Preset<VitRecipe>> all = vit_presets();
  if (!args.from.empty())
    all.insert(all.begin(), vit_fine_tuning_presets().begin(), vit_fine_tuning_presets().end());
  return all;
}

/// A new model: with the weights of --from and a new head, or on its own. Loads the data, too,
/// whose images are of the model's size.
ImageClassifier new_model(const VitArguments& args, ImageParts& parts) {
  const Preset<VitRecipe> preset = chosen_preset(presets(args), args);
  std::optional<PretrainedVit> base;
  if (!args.from.empty()) base = load_pretrained_vit(args.from);
  const VitConfig config = model_config(base ? base->config : preset.model.model, args);
  const ImageAugmentation augmentation =
      as_usage([&] { return with_fields(preset.model.augmentation, args.augmentation); });
  parts =
      load_parts(args, {config.channels, config.image_height, config.image_width}, preset.training);
  const bool as_before = base && base->normalisation;
  ImageClassifier model = as_usage([&] {
    return make_image_classifier(config, parts.train.classes,
                                 as_before ? *base->normalisation : normalisation_of(parts.train),
                                 augmentation, preset.training,
                                 FineTuneOptions{args.freeze, args.layer_lr_decay});
  });
  if (!base) return model;
  // A head for other classes says nothing of these.
  std::vector<std::string> anew = args.anew;
  if (base->classes != parts.train.classes) anew.emplace_back("classifier.*");
  const StartReport report = as_fitting([&] {
    return start_from(*model.store, *model.graph, parameters_for(*base, config), args.from, anew);
  });
  say("from      {}: {}\nsettings  those of training, of preset {}\n", args.from, report.str(),
      preset.name);
  say("pixels    less mean ({:.3f}), by deviation ({:.3f}) of {}\n",
      fmt::join(model.normalisation.mean, ", "), fmt::join(model.normalisation.deviation, ", "),
      as_before ? "the trained model" : "these images");
  return model;
}

/// The one look at the test set, after training: figures and pictures.
void report_test(Session& session, const ImageClassifier& model, const ImageSet& test,
                 const VitArguments& args) {
  if (test.count() == 0) return;
  const ImageEvaluation found = evaluate_images(session, model, test);
  say("{}", found.report.table());
  const OutputFile confusion = args.file(kConfusion), attention = args.file(kAttention);
  write_text(confusion,
             svg_heat_maps({found.report.heat_map()},
                           {.title = fmt::format("test set: {} of {} right", found.report.correct(),
                                                 found.report.total())}));
  const std::string& truth = model.classes[static_cast<std::size_t>(test.labels.front())];
  write_text(attention,
             attention_svg(model, test.image(0),
                           fmt::format("where the layers look: test image 0, class {}", truth)));
  say("pictures  {}, {}\n", confusion.path(), attention.path());
  say("test      loss {:.4f}, accuracy {:.4f} ({} of {})\n", found.loss, found.report.accuracy(),
      found.report.correct(), found.report.total());
}

}  // namespace

int train_image_classifier(const VitArguments& args) {
  check_options(args);
  ImageClassifier model;
  ImageParts parts;
  if (args.resume.empty()) {
    model = new_model(args, parts);
  } else {
    model = resumed_model(args);
    parts = load_parts(args, model.image_size(), model.settings);
    if (parts.train.classes != model.classes) {
      throw DataError(fmt::format("{} knows the classes ({}), not those of {} ({})", args.resume,
                                  fmt::join(model.classes, ", "), args.data,
                                  fmt::join(parts.train.classes, ", ")));
    }
  }
  Session session(*model.graph, model.store, args.session_options(model.settings));
  print_vit(model.config, *model.graph);
  say("data      {}: {} classes, images {}\n", args.data, parts.train.classes.size(),
      parts.train.size().str());
  print_split(parts, model.settings);
  print_training(model.settings, "images", image_values(model.config));
  const TrainTask task = image_task(session, model, parts.train, parts.validation);
  print_plan(session, model.programs.train, task.batch(0).inputs, args);
  const TrainOutcome outcome =
      run_training(session, run_of(model, task, &save_image_classifier, command_line(args)), args);
  if (!outcome.stopped) report_test(session, model, parts.data.test, args);
  return 0;
}

}  // namespace weft::program
