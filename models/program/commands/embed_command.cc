// weft embed: embeds texts and images as vectors, and finds the most similar lines or images.
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <optional>

#include "weft/models/data/images/image_folder.h"
#include "weft/models/program/commands/commands.h"
#include "weft/models/program/commands/text_command.h"
#include "weft/models/program/files/paths.h"
#include "weft/models/program/options/options.h"
#include "weft/models/program/terminal/console.h"
#include "weft/models/program/terminal/json_lines.h"
#include "weft/models/program/terminal/usage_error.h"
#include "weft/serialization/npy.h"
#include "weft/serialization/safetensors.h"

namespace weft::program {
namespace {

/// The options of a prompt.
struct PromptOption {
  std::optional<std::string> text, name;
  bool none = false;

  bool given() const { return text || name || none; }
};

struct EmbedArguments : TextArguments {
  std::vector<std::string> images;
  std::string out, similar;
  EmbedOptions options;
  PromptOption prompt, similar_prompt;  // of the texts, and of the lines of --similar
  std::optional<std::int64_t> top;      // default: kDefaultTop
  bool force = false;
};

constexpr std::int64_t kDefaultTop = 5;

/// Returns the file type for the extension of --out.
FileKind kind_of(const std::string& path) {
  const std::string ending = std::filesystem::path(path).extension().string();
  if (ending == ".npy") return FileKind::array;
  if (ending == ".safetensors") return FileKind::tensors;
  throw UsageError(fmt::format("--out {}: the extension must be .npy or .safetensors", path));
}

void write_vectors(const OutputFile& out, FileKind kind, const Tensor& vectors) {
  if (kind == FileKind::array) {
    write_npy(out.path(), vectors);
  } else {
    write_safetensors(out.path(), {{"vectors", vectors}});
  }
}

/// Texts, or paths of images.
struct EmbedInputs {
  std::vector<std::string> items = {};
  bool images = false;

  const char* kind() const { return images ? "image" : "text"; }
};

void print_similar(const std::string& item, const EmbedInputs& others,
                   const std::vector<Similar>& found) {
  say("{}\n", item);
  for (const Similar& similar : found)
    say("  {:.4f}  {}\n", similar.cosine, others.items[static_cast<std::size_t>(similar.row)]);
}

void print_similar_json(const EmbedInputs& inputs, std::size_t item, const EmbedInputs& others,
                        const std::vector<Similar>& found, VectorSimilarity similarity) {
  JsonLine all = JsonLine::array();
  for (const Similar& similar : found) {
    JsonLine entry = {{others.kind(), others.items[static_cast<std::size_t>(similar.row)]}};
    if (!others.images) entry["line"] = similar.row + 1;
    entry[std::string(choice_name(similarity))] = rounded(similar.cosine);
    all.push_back(std::move(entry));
  }
  say_json({{inputs.kind(), inputs.items[item]}, {"similar", std::move(all)}});
}

void print_vectors(const EmbedInputs& inputs, const Tensor& vectors) {
  const auto width = static_cast<std::size_t>(vectors.size(1));
  for (std::size_t i = 0; i < inputs.items.size(); ++i) {
    JsonLine numbers = JsonLine::array();
    for (const float x : vectors.span<float>().subspan(i * width, width))
      numbers.push_back(rounded(x));
    say_json({{inputs.kind(), inputs.items[i]}, {"vector", std::move(numbers)}});
  }
}

/// Throws UsageError unless at most one option of a prompt was given.
void check_prompt(const PromptOption& prompt, std::string_view option) {
  if (prompt.text.has_value() + prompt.name.has_value() + prompt.none > 1)
    throw UsageError(fmt::format("give only one of --{0}, --{0}-name and --no-{0}", option));
}

void use_prompt(const PromptOption& prompt, EmbedOptions& options) {
  options.prompt = prompt.none ? std::string() : prompt.text;
  options.prompt_name = prompt.name;
}

/// Computes the vectors of texts and images with one model.
class VectorModel {
 public:
  VectorModel(std::unique_ptr<TrainedModel> model, const SessionOptions& options)
      : model_(std::move(model)), options_(options) {
    if (dynamic_cast<const EncoderModel*>(model_.get()) == nullptr) return;
    encoder_ = text_encoder(*model_);
    start(*encoder_, text_session_);
  }

  /// Returns true if the model truncates long texts as its own settings demand.
  bool truncates() const {
    return encoder_ != nullptr && encoder_->reading && encoder_->reading->max_tokens > 0;
  }
  VectorSimilarity similarity() const {
    return encoder_ == nullptr ? VectorSimilarity::cosine
                               : encoder_->sentences().value_or(SentenceSettings()).similarity;
  }

  Embedded vectors(const EmbedInputs& inputs, const EmbedOptions& options) {
    const ImageEmbedOptions chosen{.normalise = options.normalise.value_or(true),
                                   .dimensions = options.dimensions};
    if (inputs.images) {
      if (image_ == nullptr) {
        image_ = image_encoder(*model_);
        start(*image_, image_session_);
      }
      return {embed_images(*image_session_, *image_, inputs.items, chosen)};
    }
    if (encoder_ != nullptr) return embed_counted(*text_session_, *encoder_, inputs.items, options);
    const auto* both = dynamic_cast<const ImageTextModel*>(model_.get());
    if (both == nullptr) throw UsageError("the model has no text encoder: give images (--images)");
    if (options.pooling || options.prompt || options.prompt_name) {
      throw UsageError(
          "--pool and prompts are for text encoders, but the model compares images and texts");
    }
    if (!text_session_) start(*both, text_session_);
    return {chosen_values(text_tower_vectors(*text_session_, *both, inputs.items, options.on_cut),
                          chosen)};
  }

 private:
  void start(const TrainedModel& model, std::optional<Session>& session) const {
    session.emplace(*model.graph, model.store, session_options(model, options_));
  }

  std::unique_ptr<TrainedModel> model_;
  SessionOptions options_;
  std::unique_ptr<TextEncoder> encoder_;  // if the model is an encoder of texts
  std::unique_ptr<ImageEncoder> image_;   // if there are images
  std::optional<Session> text_session_, image_session_;
};

/// Returns the images in the folders and the other files of --images.
std::vector<std::string> all_images(const std::vector<std::string>& paths) {
  std::vector<std::string> images;
  for (const std::string& path : paths) {
    if (!std::filesystem::is_directory(path)) {
      images.push_back(path);
      continue;
    }
    for (std::string& file : image_files(path)) images.push_back(std::move(file));
  }
  return images;
}

/// Throws UsageError for options that contradict each other.
void check_embed_options(const EmbedArguments& args) {
  if (args.out.empty() && args.similar.empty() && !args.json) {
    throw UsageError(
        "no output was requested: give --out FILE, --similar FILE, or --json to print the "
        "vectors");
  }
  if (args.top && args.similar.empty())
    throw UsageError("--top needs --similar: it is the number of lines that --similar prints");
  if (args.similar.empty() && args.similar_prompt.given())
    throw UsageError("the options of the similar prompt need --similar: they apply to its lines");
  check_prompt(args.prompt, "prompt");
  check_prompt(args.similar_prompt, "similar-prompt");
  const bool finds_images = std::filesystem::is_directory(args.similar);
  if (finds_images && args.similar_prompt.given())
    throw UsageError(fmt::format(
        "the options of the similar prompt are for lines of text, but {} is a folder of images",
        args.similar));
  if (args.images.empty()) {
    if (args.similar == "-" && args.texts.reads_stdin())
      throw UsageError(
          "stdin is already read for --similar: give the texts as arguments, or --input FILE");
    return;
  }
  if (args.texts.given())
    throw UsageError("give either texts or --images: the vectors are written for one of them");
  if (args.prompt.given()) throw UsageError("prompts are for texts, not for --images");
  if (args.options.pooling) throw UsageError("--pool is for texts, not for --images");
  if (args.truncate.given() && (args.similar.empty() || finds_images))
    throw UsageError("--truncate is for texts, not for --images");
}

int run_embed(EmbedArguments& args, CommandPaths paths, const World& world) {
  FileKind kind = FileKind::array;
  std::optional<OutputFile> out;
  on_all_ranks(world, [&] {
    check_embed_options(args);
    if (args.out.empty()) return;
    kind = kind_of(args.out);
    if (world.first()) out = paths.plan_file("--out", args.out, kind);
  });
  const EmbedInputs inputs =
      args.images.empty()
          ? EmbedInputs{args.texts.read(world)}
          : EmbedInputs{texts_of_first(world, [&] { return all_images(args.images); }), true};
  const bool folder = std::filesystem::is_directory(args.similar);
  const EmbedInputs others{texts_of_first(world,
                                          [&] {
                                            if (args.similar.empty())
                                              return std::vector<std::string>();
                                            return folder ? image_files(args.similar)
                                                          : read_lines(args.similar);
                                          }),
                           folder};
  VectorModel model(
      on_all_ranks(world, [&] { return load_model_for(Use::embed, args.file).model; }),
      session_options(args.execution, world));
  const SpeedReport speed;
  // Models with a maximum length of their own truncate longer texts; these are reported.
  if (model.truncates()) args.truncate.allow();
  TruncateOption of_lines = args.truncate;
  const PlaceOf place = [&](std::size_t i) { return args.texts.place(i); };
  const auto vectors_of = [&](const EmbedInputs& some, const PlaceOf& where, EmbedOptions options,
                              TruncateOption& truncate) {
    options.on_cut = truncate.on_cut();
    Embedded result = with_places(where, [&] { return model.vectors(some, options); });
    truncate.report(where, "the first");
    return result;
  };
  use_prompt(args.prompt, args.options);
  const Embedded found = vectors_of(inputs, place, args.options, args.truncate);
  if (inputs.images) {
    if (std::ssize(inputs.items) > 1) speed.done("images", std::ssize(inputs.items));
  } else if (args.texts.many()) {
    speed.done("texts", std::ssize(inputs.items), found.tokens);
  }
  if (out) write_vectors(*out, kind, found.vectors);
  if (!args.similar.empty()) {
    EmbedOptions options = args.options;
    use_prompt(args.similar_prompt, options);
    const Tensor vectors = vectors_of(others, lines_in(args.similar), options, of_lines).vectors;
    const auto ranked =
        most_similar(found.vectors, vectors, args.top.value_or(kDefaultTop), model.similarity());
    for (std::size_t i = 0; i < inputs.items.size(); ++i) {
      if (args.json) {
        print_similar_json(inputs, i, others, ranked[i], model.similarity());
      } else {
        print_similar(inputs.items[i], others, ranked[i]);
      }
    }
  } else if (args.json) {
    print_vectors(inputs, found.vectors);
  }
  return 0;
}

}  // namespace

void add_embed_command(CLI::App& app, Action& action) {
  OptionList options(
      app, "embed",
      "Embed texts or images as vectors, or find the lines of a file, or the images of a folder, "
      "that are most similar to them");
  const auto args = std::make_shared<EmbedArguments>();
  options
      .input("file", args->file,
             "a folder of Sentence Transformers, a Hugging Face folder with any encoder, with or "
             "without a head, or a .weft file written by weft train encoder or weft convert; for "
             "images, a vision model or a model that compares images and texts (CLIP, SigLIP)")
      .required();
  args->texts.add(options, "texts", "texts to embed");
  options.inputs("--images", args->images,
                 "images to embed instead of texts: PNG, JPEG or BMP files, or folders with them");
  options.output(
      "--out", args->out,
      "file to write, f32 [texts, width]: .npy, or .safetensors with a tensor named vectors");
  options.flag("--force", args->force,
               "replace an existing file of another type that has this name");
  options.input("--similar", args->similar,
                "text file (- is stdin); for each input, print the most similar lines of this file "
                "with their cosines (or the values of the folder's similarity function); or a "
                "folder of images, of which the most similar ones are printed");
  options.integer("--top", args->top, {1, 1'000'000},
                  "number of lines or images that --similar prints for each input (default 5)");
  const auto prompt_options = [&](const std::string& name, PromptOption& prompt,
                                  const std::string& texts) {
    options.text("--" + name, prompt.text,
                 fmt::format("text to insert before {} (default: the default prompt of the folder, "
                             "if it has one)",
                             texts));
    options.text("--" + name + "-name", prompt.name,
                 fmt::format("name of the folder's prompt to insert before {}", texts));
    options.flag("--no-" + name, prompt.none, fmt::format("insert no prompt before {}", texts));
  };
  prompt_options("prompt", args->prompt, "every text");
  prompt_options("similar-prompt", args->similar_prompt, "every line of --similar");
  const auto poolings = choice_names(TextPooling{}).names;
  options.choice(
      "--pool", {poolings.begin(), poolings.end()},
      [args](const std::string& name) { args->options.pooling = parse_choice<TextPooling>(name); },
      "how the vectors of the tokens become the vector of a text, such as their mean, or the "
      "vector of the first token (cls) (default: the folder's setting, or mean)");
  options.integer("--dimensions", args->options.dimensions, {1, 1'000'000},
                  "keep only the first values of each vector, before it is scaled to length 1, for "
                  "models trained for this (matryoshka) (default: the folder's setting, or all)");
  options.switches(
      "--normalise", [args](bool on) { args->options.normalise = on; },
      "scale vectors to length 1, or leave them unscaled (default: as the modules of a Sentence "
      "Transformers folder do; other vectors are scaled)");
  options.integer("--batch-tokens", args->options.batch_tokens, {1, 1'000'000},
                  "tokens per batch (default 4096)");
  args->truncate.add(options);
  options.flag("--json", args->json,
               "print one JSON object per line: text or image, and vector or similar");
  options.execution(args->execution);
  options.run(action, [args, &parsed = options.command()](const World& world) {
    return run_embed(*args, CommandPaths(parsed, args->force), world);
  });
}

}  // namespace weft::program
