#include "weft/models/tasks/common/text_data.h"

#include <fmt/format.h>

#include "weft/core/error.h"
#include "weft/models/fields/numbers.h"
#include "weft/models/hf/published.h"

namespace weft {
namespace {

constexpr const char *kLabel = "--label", *kTestFraction = "--test-fraction",
                     *kSplitSeed = "--split-seed";
constexpr double kDefaultTestFraction = 0.2;
constexpr std::uint64_t kDefaultSplitSeed = 1;

/// Throws FormatError if the tokenizer of `source` lacks an id that encoder inputs require.
void check_ids(const Tokenizer& tokenizer, const std::string& source) {
  for (const auto& [name, id] : {std::pair{"[CLS]", tokenizer.cls_id()},
                                 {"[SEP]", tokenizer.sep_id()},
                                 {"padding", tokenizer.pad_id()}}) {
    if (id < 0)
      throw FormatError(fmt::format("the tokenizer in {} has no piece for {}", source, name));
  }
}

/// Returns the requested tokenizer for a new encoder.
LearnedTokenizer requested_tokenizer(const TaskArguments& args,
                                     const std::function<std::vector<std::string>()>& texts) {
  LearnedTokenizer made =
      make_tokenizer(tokenizer_choice(args.options, "bpe"),
                     {.texts = texts, .special = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}});
  check_ids(made.tokenizer,
            fmt::format("{} {}", kTokenizerOption, args.options.text(kTokenizerOption)));
  return made;
}

}  // namespace

TaskOptions& add_labelled_data(TaskOptions& options, const std::string& help) {
  return options.files(kDataOption, help)
      .choice(kLabel, {"auto", "first", "last"}, "position of the label in each line")
      .choice(kHeldOutOption, {"test", "validation"},
              "test = evaluate on the test set and train on the rest; validation = for choosing "
              "settings: leave the test set unused, evaluate on a part of the rest")
      .real(kTestFraction, {0.01, 0.9}, "fraction of each class in the test set (default 0.2)")
      .seed(kSplitSeed, "random seed for selecting the test set (default 1)")
      .data();
}

std::string held_out_part(const OptionValues& values) {
  return values.choice(kHeldOutOption, "test");
}

LabelledText labelled_data(const OptionValues& values) {
  const std::vector<std::string>& paths = values.texts(kDataOption);
  if (paths.empty()) throw ArgumentError(kDataRequired);
  return labelled_data(values, paths);
}

LabelledText labelled_data(const OptionValues& values, const std::vector<std::string>& paths) {
  return read_labelled_text(paths, parse_choice<LabelSide>(values.choice(kLabel, "auto")));
}

LabelledParts labelled_parts(const OptionValues& values) {
  const double fraction = values.real(kTestFraction, kDefaultTestFraction);
  const std::uint64_t seed = values.seed(kSplitSeed, kDefaultSplitSeed);
  const LabelledText all = labelled_data(values);
  const Split split = stratified_split(all.labels, fraction, seed);
  LabelledText train = all.subset(split.train);
  if (held_out_part(values) == "test") return {std::move(train), all.subset(split.test)};
  const Split inner = stratified_split(train.labels, fraction, seed);
  return {train.subset(inner.train), train.subset(inner.test)};
}

NewEncoder new_encoder(const EncoderConfig& base, const TaskArguments& args,
                       const std::function<std::vector<std::string>()>& texts) {
  chosen_config(base, args);  // fail early: training a tokenizer is slow
  auto [tokenizer, notes] = args.from ? LearnedTokenizer{encoder_tokenizer(*args.from)}
                                      : requested_tokenizer(args, texts);
  EncoderConfig config = base;
  config.vocab = table_rows(base.vocab, tokenizer, args);
  config.padding_id = tokenizer.pad_id();
  return {chosen_config(config, args), std::move(tokenizer), std::move(notes)};
}

Tokenizer encoder_tokenizer(const Pretrained& base) {
  check_ids(base.tokenizer(), base.source);
  return base.tokenizer();
}

std::string describe_encoder(const EncoderConfig& c, const Graph& graph) {
  const std::string attention =
      c.layers == 0 ? "no attention" : fmt::format("{} layers, {} heads", c.layers, c.heads);
  const std::string convolution =
      c.conv_kernel == 0 ? "" : fmt::format(", convolution over {} tokens", c.conv_kernel);
  return fmt::format("model     encoder: {}{}, width {}, context {}, {} pieces: {} parameters\n",
                     attention, convolution, c.width, c.context, c.vocab,
                     grouped(hf::count_parameters(graph)));
}

}  // namespace weft
