// weft embed: embeds texts as vectors, and finds the most similar lines of a file.
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <optional>

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

void print_similar(const std::string& text, const std::vector<std::string>& lines,
                   const std::vector<Similar>& found) {
  say("{}\n", text);
  for (const Similar& similar : found)
    say("  {:.4f}  {}\n", similar.cosine, lines[static_cast<std::size_t>(similar.row)]);
}

void print_similar_json(const std::string& text, const std::vector<std::string>& lines,
                        const std::vector<Similar>& found, VectorSimilarity similarity) {
  JsonLine all = JsonLine::array();
  for (const Similar& similar : found) {
    all.push_back({{"text", lines[static_cast<std::size_t>(similar.row)]},
                   {"line", similar.row + 1},
                   {std::string(choice_name(similarity)), rounded(similar.cosine)}});
  }
  say_json({{"text", text}, {"similar", std::move(all)}});
}

void print_vectors(const std::vector<std::string>& texts, const Tensor& vectors) {
  const auto width = static_cast<std::size_t>(vectors.size(1));
  for (std::size_t i = 0; i < texts.size(); ++i) {
    JsonLine numbers = JsonLine::array();
    for (const float x : vectors.span<float>().subspan(i * width, width))
      numbers.push_back(rounded(x));
    say_json({{"text", texts[i]}, {"vector", std::move(numbers)}});
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

int run_embed(EmbedArguments& args, CommandPaths paths, const World& world) {
  FileKind kind = FileKind::array;
  std::optional<OutputFile> out;
  on_all_ranks(world, [&] {
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
    if (args.similar == "-" && args.texts.reads_stdin())
      throw UsageError(
          "stdin is already read for --similar: give the texts as arguments, or --input FILE");
    if (args.out.empty()) return;
    kind = kind_of(args.out);
    if (world.first()) out = paths.plan_file("--out", args.out, kind);
  });
  const std::vector<std::string> texts = args.texts.read(world);
  const std::vector<std::string> lines = texts_of_first(world, [&] {
    return args.similar.empty() ? std::vector<std::string>() : read_lines(args.similar);
  });
  const auto encoder = on_all_ranks(
      world, [&] { return text_encoder(*load_model_for(Use::embed, args.file).model); });
  Session session(
      *encoder->graph, encoder->store,
      session_options(*encoder, {.threads = threads_of_rank(world, args.threads), .world = world}));
  const SpeedReport speed;
  // Models with a maximum length of their own truncate longer texts; these are reported.
  if (encoder->reading && encoder->reading->max_tokens > 0) args.truncate.allow();
  TruncateOption of_lines = args.truncate;
  const PlaceOf place = [&](std::size_t i) { return args.texts.place(i); };
  const auto vectors_of = [&](const std::vector<std::string>& some, const PlaceOf& where,
                              EmbedOptions options, TruncateOption& truncate) {
    options.on_cut = truncate.on_cut();
    Embedded result =
        with_places(where, [&] { return embed_counted(session, *encoder, some, options); });
    truncate.report(where, "the first");
    return result;
  };
  use_prompt(args.prompt, args.options);
  const Embedded found = vectors_of(texts, place, args.options, args.truncate);
  if (args.texts.many()) speed.done("texts", std::ssize(texts), found.tokens);
  if (out) write_vectors(*out, kind, found.vectors);
  if (!args.similar.empty()) {
    EmbedOptions options = args.options;
    use_prompt(args.similar_prompt, options);
    const Tensor others = vectors_of(lines, lines_in(args.similar), options, of_lines).vectors;
    const VectorSimilarity similarity =
        encoder->sentences().value_or(SentenceSettings()).similarity;
    const auto ranked =
        most_similar(found.vectors, others, args.top.value_or(kDefaultTop), similarity);
    for (std::size_t i = 0; i < texts.size(); ++i) {
      if (args.json) {
        print_similar_json(texts[i], lines, ranked[i], similarity);
      } else {
        print_similar(texts[i], lines, ranked[i]);
      }
    }
  } else if (args.json) {
    print_vectors(texts, found.vectors);
  }
  return 0;
}

}  // namespace

void add_embed_command(CLI::App& app, Action& action) {
  OptionList options(
      app, "embed",
      "Embed texts as vectors, or find the lines of a file that are most similar to them");
  const auto args = std::make_shared<EmbedArguments>();
  options
      .input("file", args->file,
             "a folder of Sentence Transformers, a Hugging Face folder with any encoder, with or "
             "without a head, or a .weft file written by weft train encoder or weft convert")
      .required();
  args->texts.add(options, "texts", "texts to embed");
  options.output(
      "--out", args->out,
      "file to write, f32 [texts, width]: .npy, or .safetensors with a tensor named vectors");
  options.flag("--force", args->force,
               "replace an existing file of another type that has this name");
  options.input("--similar", args->similar,
                "text file (- is stdin); for each text, print the most similar lines of this file "
                "with their cosines (or the values of the folder's similarity function)");
  options.integer("--top", args->top, {1, 1'000'000},
                  "number of lines that --similar prints for each text (default 5)");
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
  options.flag("--json", args->json, "print one JSON object per line: text, and vector or similar");
  options.threads(args->threads);
  options.run(action, [args, &parsed = options.command()](const World& world) {
    return run_embed(*args, CommandPaths(parsed, args->force), world);
  });
}

}  // namespace weft::program
