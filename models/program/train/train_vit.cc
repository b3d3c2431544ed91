#include "weft/models/program/train/train_vit.h"

#include <fmt/format.h>

#include <memory>

#include "weft/models/data/image_augment.h"
#include "weft/models/data/patch_mask.h"
#include "weft/models/hf/published.h"
#include "weft/models/program/console.h"
#include "weft/models/train/image_file.h"
#include "weft/models/train/vit_presets.h"

namespace weft::program {
namespace {

constexpr const char* kClassify = "classify";
constexpr const char* kMaskedImage = "masked-image";

/// What no task takes beside --resume: looked at before the file is read.
void check_resume_options(const VitArguments& args) {
  for (const auto& [field, value] : args.augmentation.items()) {
    throw UsageError(
        fmt::format("{} cannot be given with --resume: the training images change as the file says",
                    option_name(field)));
  }
  check_resume(args);
  args.refuse({"--from", "--new", "--freeze", "--layer-lr-decay"},
              "cannot be given with --resume: it is as the file says");
}

int run(VitArguments args) {
  if (args.data.empty()) {
    throw UsageError(
        "--data is required: a folder with MNIST's or optdigits's files or with a "
        "folder per class, or a .csv file");
  }
  args.destination();  // asked for before the file of --resume is read
  std::string task = args.has("--task") ? args.task : kClassify;
  if (!args.resume.empty()) {
    check_resume_options(args);
    // A file knows its task.
    task = holds_masked_image_model(load_checkpoint(args.resume)) ? kMaskedImage : kClassify;
    if (args.has("--task") && args.task != task) {
      throw UsageError(fmt::format("--task {} cannot be given with --resume: {} is of --task {}",
                                   args.task, args.resume, task));
    }
  }
  const bool masked = task == kMaskedImage;
  args.plan_files(masked ? std::vector<std::string>{kReconstruction}
                         : std::vector<std::string>{kConfusion, kAttention});
  return masked ? train_masked_images(args) : train_image_classifier(args);
}

}  // namespace

ImageParts load_parts(const VitArguments& args, const ImageSize& size,
                      const TrainSettings& settings) {
  ImageParts parts{load_image_data(args.data, size, settings.seed), {}, {}};
  std::tie(parts.train, parts.validation) =
      split(parts.data.train, settings.validation_fraction, settings.seed);
  return parts;
}

std::int64_t image_values(const VitConfig& c) {
  return c.channels * c.image_height * c.image_width;
}

void print_vit(const VitConfig& c, const Graph& graph) {
  say("model     ViT: {} layers, {} heads, width {}, {} patches of {} x {}: {} parameters\n",
      c.layers, c.heads, c.width, c.rows() * c.columns(), c.patch_height, c.patch_width,
      grouped(hf::count_parameters(graph)));
}

void print_split(const ImageParts& parts, const TrainSettings& settings) {
  say("split     {} to train on, {} of them put aside to validate on (seed {}); {} to test "
      "on at the end ({})\n",
      grouped(parts.data.train.count()), grouped(parts.validation.count()), settings.seed,
      grouped(parts.data.test.count()), parts.data.about);
}

std::string command_line(const VitArguments& args) { return "weft train vit --data " + args.data; }

void add_train_vit(CLI::App& app, Action& action) {
  CLI::App* vit = app.add_subcommand(
      "vit", "Train a vision transformer: to classify images, or on images without labels");
  const auto args = std::make_shared<VitArguments>();
  OptionList options(*vit);
  options.choice("--task", {kClassify, kMaskedImage}, args->task,
                 "classify = classes of images (default); masked-image = pre-training: some "
                 "patches are hidden, and the model learns to fill them in (SimMIM)");
  options.input("--data", args->data,
                "images: a folder with MNIST's files, with optdigits (.tra, .tes), with train/ "
                "and test/ or with a folder per class; or a .csv file");
  add_start_options(*vit, *args,
                    "classify: start from the weights in this .weft file, or of a ViT or DeiT in a "
                    "folder as Hugging Face's library writes it, with a new head unless the "
                    "classes are the same (default preset: fine-tune)",
                    "layers.0.*");
  add_train_options(*vit, preset_help(vit_presets()) + "; each task has settings of its own",
                    VitConfig{}.to_json(), {"family", "distillation"}, *args);
  add_field_options(*vit, "Augmentation", ImageAugmentation{}.to_json(), {}, args->augmentation);
  add_field_options(*vit, "Masked images", PatchMasking{}.to_json(), {}, args->masking);
  vit->callback([args, vit, &action] {
    args->remember(*vit);
    action = [args] { return run(*args); };
  });
}

}  // namespace weft::program
