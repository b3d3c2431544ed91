// weft train vit: a classifier of images.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <memory>
#include <optional>

#include "weft/models/data/image_folder.h"
#include "weft/models/program/console.h"
#include "weft/models/program/train/train_command.h"
#include "weft/models/train/image_classifier.h"
#include "weft/models/train/pretrained_vit.h"
#include "weft/models/train/vit_presets.h"

namespace weft::program {
namespace {

struct VitArguments : TrainArguments {
  std::string data, from;
  std::vector<std::string> freeze, anew;
  double layer_lr_decay = 1;
  FieldValues augmentation = FieldValues::object();
};

ImageClassifier resume_model(const VitArguments& args) {
  for (const auto& [field, value] : args.augmentation.items()) {
    throw UsageError(
        fmt::format("{} cannot be given with --resume: the training images change as the file says",
                    option_name(field)));
  }
  check_resume(args);
  if (!args.from.empty() || !args.freeze.empty() || !args.anew.empty() || args.layer_lr_decay != 1)
    throw UsageError("--from, --new, --freeze and --layer-lr-decay cannot be given with --resume");
  ImageClassifier model = load_image_classifier(args.resume);
  if (!model.can_train())
    throw UsageError(fmt::format("{} cannot be trained: it has no training step", args.resume));
  model.settings = resumed_settings(model.settings, args);
  return model;
}

/// The data with a part of the training images put aside to validate on.
struct Sets {
  ImageData data;
  ImageSet train, validation;
};

Sets load_sets(const VitArguments& args, const ImageSize& size, const TrainSettings& settings) {
  Sets sets{load_image_data(args.data, size, settings.seed), {}, {}};
  std::tie(sets.train, sets.validation) =
      split(sets.data.train, settings.validation_fraction, settings.seed);
  return sets;
}

void print_model(const ImageClassifier& model) {
  const VitConfig& c = model.config;
  std::int64_t count = 0;
  for (const Variable& v : model.graph->parameters()) count += v.shape().numel().constant();
  fmt::print("model     ViT: {} layers, {} heads, width {}, {} patches of {} x {}: {} parameters\n",
             c.layers, c.heads, c.width, c.rows() * c.columns(), c.patch_height, c.patch_width,
             grouped(count));
}

void print_data(const VitArguments& args, const Sets& sets, const TrainSettings& settings) {
  fmt::print("data      {}: {} classes, images {}\n", args.data, sets.train.classes.size(),
             sets.train.size().str());
  fmt::print(
      "split     {} to train on, {} of them put aside to validate on (seed {}); {} to test "
      "on at the end ({})\n",
      grouped(sets.data.train.count()), grouped(sets.validation.count()), settings.seed,
      grouped(sets.data.test.count()), sets.data.about);
}

/// The one look at the test set, after training: figures and pictures.
void report_test(Session& session, const ImageClassifier& model, const ImageSet& test,
                 const std::string& out) {
  if (test.count() == 0) return;
  const ImageEvaluation found = evaluate_images(session, model, test);
  fmt::print("{}", found.report.table());
  const auto beside = [&](const char* ending) {
    return std::filesystem::path(out).replace_extension(ending).string();
  };
  write_text(beside(".confusion.svg"),
             svg_heat_maps({found.report.heat_map()},
                           {.title = fmt::format("test set: {} of {} right", found.report.correct(),
                                                 found.report.total())}));
  const std::string& truth = model.classes[static_cast<std::size_t>(test.labels.front())];
  write_text(beside(".attention.svg"),
             attention_svg(model, test.image(0),
                           fmt::format("where the layers look: test image 0, class {}", truth)));
  fmt::print("pictures  {}, {}\n", beside(".confusion.svg"), beside(".attention.svg"));
  fmt::print("test      loss {:.4f}, accuracy {:.4f} ({} of {})\n", found.loss,
             found.report.accuracy(), found.report.correct(), found.report.total());
}

/// A new model: with the weights of --from and a new head, or on its own. Loads the data, too,
/// whose images are of the model's size.
ImageClassifier new_model(const VitArguments& args, Sets& sets) {
  if (args.from.empty() && !args.anew.empty()) throw UsageError("--new needs --from");
  const Preset<VitRecipe> preset =
      chosen_preset(args.from.empty() ? vit_presets() : vit_fine_tuning_presets(), args);
  std::optional<PretrainedVit> base;
  if (!args.from.empty()) base = as_usage([&] { return load_pretrained_vit(args.from); });
  const VitConfig config =
      as_usage([&] { return with_fields(base ? base->config : preset.model.model, args.model); });
  const ImageAugmentation augmentation =
      as_usage([&] { return with_fields(preset.model.augmentation, args.augmentation); });
  sets =
      load_sets(args, {config.channels, config.image_height, config.image_width}, preset.training);
  const bool as_before = base && base->normalisation;
  ImageClassifier model = as_usage([&] {
    return make_image_classifier(
        config, sets.train.classes, as_before ? *base->normalisation : normalisation_of(sets.train),
        augmentation, preset.training, FineTuneOptions{args.freeze, args.layer_lr_decay});
  });
  if (!base) return model;
  // A head for other classes says nothing of these.
  std::vector<std::string> anew = args.anew;
  if (base->classes != sets.train.classes) anew.emplace_back("classifier.*");
  const StartReport report = as_usage([&] {
    return start_from(*model.store, *model.graph, parameters_for(*base, config), args.from, anew);
  });
  fmt::print("from      {}: {}\nsettings  those of training, of preset {}\n", args.from,
             report.str(), preset.name);
  fmt::print("pixels    less mean ({:.3f}), by deviation ({:.3f}) of {}\n",
             fmt::join(model.normalisation.mean, ", "),
             fmt::join(model.normalisation.deviation, ", "),
             as_before ? "the trained model" : "these images");
  return model;
}

int train(const VitArguments& args) {
  if (args.data.empty()) {
    throw UsageError(
        "--data is required: a folder with MNIST's or optdigits's files or with a "
        "folder per class, or a .csv file");
  }
  args.destination();
  ImageClassifier model;
  Sets sets;
  if (args.resume.empty()) {
    model = new_model(args, sets);
  } else {
    model = resume_model(args);
    sets = load_sets(args, model.image_size(), model.settings);
    if (sets.train.classes != model.classes) {
      throw UsageError(fmt::format("{} knows the classes ({}), not those of {} ({})", args.resume,
                                   fmt::join(model.classes, ", "), args.data,
                                   fmt::join(sets.train.classes, ", ")));
    }
  }
  Session session(*model.graph, model.store, args.session_options(model.settings));
  print_model(model);
  print_data(args, sets, model.settings);
  print_training(model.settings, "images");
  const TrainTask task = image_task(session, model, sets.train, sets.validation);
  print_plan(session, model.programs.train, task.batch(0).inputs, args);
  const TrainOutcome outcome =
      run_training(session,
                   {.task = task,
                    .settings = model.settings,
                    .history = model.history,
                    .save =
                        [&](const std::string& path, const TrainHistory& history) {
                          model.history = history;
                          save_image_classifier(path, model);
                        },
                    .command = "weft train vit --data " + args.data},
                   args);
  if (!outcome.stopped) report_test(session, model, sets.data.test, args.destination());
  return 0;
}

}  // namespace

void add_train_vit(CLI::App& app, Action& action) {
  CLI::App* vit = app.add_subcommand("vit", "Train a vision transformer to classify images");
  const auto args = std::make_shared<VitArguments>();
  vit->add_option("--data", args->data,
                  "images: a folder with MNIST's files, with optdigits (.tra, .tes), with train/ "
                  "and test/ or with a folder per class; or a .csv file");
  vit->add_option("--from", args->from,
                  "start from the weights in this .weft file, or of a ViT or DeiT in a folder as "
                  "Hugging Face's library writes it, with a new head unless the classes are the "
                  "same (preset: fine-tune)");
  vit->add_option("--new", args->anew,
                  "patterns of parameters that start anew though --from has them");
  vit->add_option("--freeze", args->freeze,
                  "patterns of parameters that stay as they are: \"layers.0.*\"");
  vit->add_option("--layer-lr-decay", args->layer_lr_decay,
                  "every layer learns at this share of the rate of the one above (default 1)");
  add_train_options(*vit, preset_help(vit_presets()), VitConfig{}.to_json(),
                    {"family", "distillation"}, *args);
  add_field_options(*vit, "Augmentation", ImageAugmentation{}.to_json(), {}, args->augmentation);
  vit->callback([args, &action] { action = [args] { return train(*args); }; });
}

}  // namespace weft::program
