// weft train vit: a classifier of images.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <memory>

#include "weft/models/data/image_folder.h"
#include "weft/models/program/console.h"
#include "weft/models/program/train/train_command.h"
#include "weft/models/train/image_classifier.h"
#include "weft/models/train/vit_presets.h"

namespace weft::program {
namespace {

struct VitArguments : TrainArguments {
  std::string data;
  FieldValues augmentation = FieldValues::object();
};

ImageClassifier resume_model(const VitArguments& args) {
  for (const auto& [field, value] : args.augmentation.items()) {
    throw UsageError(
        fmt::format("{} cannot be given with --resume: the training images change as the file says",
                    option_name(field)));
  }
  check_resume(args);
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
    const Preset<VitRecipe> preset = chosen_preset(vit_presets(), args);
    const VitConfig config = as_usage([&] { return with_fields(preset.model.model, args.model); });
    const ImageAugmentation augmentation =
        as_usage([&] { return with_fields(preset.model.augmentation, args.augmentation); });
    sets = load_sets(args, {config.channels, config.image_height, config.image_width},
                     preset.training);
    model = as_usage([&] {
      return make_image_classifier(config, sets.train.classes, normalisation_of(sets.train),
                                   augmentation, preset.training);
    });
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
  add_train_options(*vit, preset_help(vit_presets()), VitConfig{}.to_json(),
                    {"family", "distillation"}, *args);
  add_field_options(*vit, "Augmentation", ImageAugmentation{}.to_json(), {}, args->augmentation);
  vit->callback([args, &action] { action = [args] { return train(*args); }; });
}

}  // namespace weft::program
