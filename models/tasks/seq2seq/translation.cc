// weft train seq2seq --task translation
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>

#include "weft/core/error.h"
#include "weft/models/data/formats/reversal.h"
#include "weft/models/fields/numbers.h"
#include "weft/models/plots/svg_heat_map.h"
#include "weft/models/plots/svg_plot.h"
#include "weft/models/tasks/common/bits_per_byte.h"
#include "weft/models/tasks/common/folder_settings.h"
#include "weft/models/tasks/common/text_data.h"
#include "weft/models/tasks/seq2seq/describe.h"
#include "weft/models/tasks/seq2seq/pair_encoder.h"
#include "weft/models/tasks/seq2seq/presets.h"
#include "weft/models/tasks/seq2seq/seq2seq_writer.h"
#include "weft/models/tasks/seq2seq/task.h"
#include "weft/models/tasks/seq2seq/translator_task.h"

namespace weft {
namespace {

constexpr const char* kPairs = "--pairs";
constexpr const char *kFromLanguage = "--from-language", *kToLanguage = "--to-language";
constexpr const char *kMeasure = ".measure.svg", *kSeq2SeqAttention = ".attention.svg";
constexpr const char* kReversal = "reversal";
constexpr std::int64_t kStrings = 40000;
constexpr std::int64_t kBeams = 4;

/// The training, validation and test pairs, and notes for users.
struct PairData {
  TextPairSplit split;
  std::string notes;
};

/// Reads the --pairs file or, if it is not given, generates random strings and their reversals.
PairData read_pairs(const OptionValues& options, const TrainSettings& settings) {
  PairData data;
  std::int64_t more_columns = 0;
  const std::string& path = options.text(kPairs);
  const std::vector<TextPair> pairs =
      path.empty() ? reversal_pairs(kStrings, settings.seed) : read_text_pairs(path, &more_columns);
  if (more_columns > 0) {
    data.notes = fmt::format(
        "columns   {} lines in {} have more than two columns: the extra columns are ignored\n",
        grouped(more_columns), path);
  }
  data.split = split_by_source(pairs, settings.validation_fraction, settings.seed);
  return data;
}

std::vector<std::string> texts_of(const std::vector<TextPair>& pairs) {
  std::vector<std::string> texts;
  for (const TextPair& pair : pairs) {
    texts.push_back(pair.source);
    texts.push_back(pair.target);
  }
  return texts;
}

/// The size of the target texts after truncation. EOS tokens are counted.
struct TargetSize {
  TargetSize(const std::vector<TextPair>& pairs, const Seq2SeqModel& model) {
    const Tokenizer targets = model.tokenizer.targets();
    const EncodedPairs encoded = encode_pairs(pairs, model);
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      const std::vector<std::int32_t>& read = encoded.ids[i].target;
      ids += std::ssize(read);
      const bool whole = std::find(read.begin(), read.end(), targets.eos_id()) != read.end();
      bytes += whole ? std::ssize(pairs[i].target) : std::ssize(targets.decode(read));
    }
  }
  double bits(double loss) const { return bits_per_byte(loss, ids, bytes); }

  std::int64_t ids = 0, bytes = 0;
};

class TranslationRun final : public RunOf<Seq2SeqModel> {
 public:
  TranslationRun(std::unique_ptr<Seq2SeqModel> model, PairData data)
      : RunOf(std::move(model)),
        data_(std::move(data)),
        validation_targets_(data_.split.validation, *model_),
        batches_(data_.split, *model_,
                 model_->tokenizer.reads_characters() ? exact_match_metric : bleu_metric) {}

  std::string describe() override {
    const TextPairSplit& s = data_.split;
    std::string text = data_.notes + describe_seq2seq(*model_);
    text += fmt::format(
        "pairs     {} for training, {} for validation, {} for testing; each source is in one set "
        "only\n",
        grouped(std::ssize(s.train)), grouped(std::ssize(s.validation)),
        grouped(std::ssize(s.test)));
    if (batches_.cut_sources + batches_.cut_targets > 0) {
      text += fmt::format(
          "cut       {} sources and {} targets truncated to {} tokens, the maximum for the model\n",
          grouped(batches_.cut_sources), grouped(batches_.cut_targets),
          grouped(longest_text(model_->config)));
    }
    return text;
  }
  std::string batch_unit() const override { return "tokens"; }

  TrainTask task(Session& session) override { return translator_task(session, *model_, batches_); }

  TaskReport report(Session& session, const TrainOutcome&, const std::string& title) override {
    return {test_figures(session),
            {{kMeasure, measures(title)}, {kSeq2SeqAttention, attention(session, title)}}};
  }

  Evaluation measure(Session& session, const TrainedModel& model) override {
    const double loss = mean_loss(session, model.program("evaluate"), batches_.validation);
    return {loss, {{kBitsPerByte, validation_targets_.bits(loss)}}};
  }

 private:
  /// Returns metrics on the test set, which is not used to choose any settings.
  std::string test_figures(Session& session) {
    const std::vector<TextPair>& test = data_.split.test;
    const PairBatches pairs = make_pair_batches(encode_pairs(test, *model_), *model_);
    const std::vector<TranslationCase> cases = group_by_source(test);
    const double loss = mean_loss(session, model_->program("evaluate"), pairs);
    const Translations greedy = translate_cases(session, *model_, cases, {.beams = 1});
    std::string text = fmt::format(
        "test      {} sources: loss {:.4f}, perplexity {:.3f}, {:.4f} bits per byte of the "
        "targets\n",
        cases.size(), loss, std::exp(loss), TargetSize(test, *model_).bits(loss));
    if (model_->tokenizer.reads_characters()) {
      return text + fmt::format("test      exact match {:.2f}%\n",
                                100 * exact_match(greedy.outputs, greedy.references));
    }
    const Translations beams = translate_cases(session, *model_, cases, {.beams = kBeams});
    std::string samples;
    constexpr std::size_t kSamples = 10;
    const std::size_t count = std::min(kSamples, cases.size());
    for (std::size_t i = 0; i < count; ++i) {
      // Select evenly spaced cases, excluding the shortest and longest texts of the test set.
      const std::size_t at = (2 * i + 1) * cases.size() / (2 * count);
      samples += fmt::format("\nsource    {}\nreference {}\ngreedy    {}\nbeams     {}\n",
                             cases[at].source, fmt::join(cases[at].references, " | "),
                             greedy.outputs[at], beams.outputs[at]);
    }
    for (const auto& [name, found] : {std::pair("greedy", &greedy), std::pair("beams", &beams)}) {
      const Bleu bleu = corpus_bleu(found->outputs, found->references);
      text += fmt::format("{:9} {}, chrF2 = {:.2f}, exact match {:.2f}%\n", name, bleu.to_string(),
                          corpus_chrf(found->outputs, found->references),
                          100 * exact_match(found->outputs, found->references));
    }
    return samples + "\n" + text +
           fmt::format("signature {} ({} beams)\n",
                       corpus_bleu(greedy.outputs, greedy.references).signature, kBeams);
  }

  /// Returns a plot of the validation metric over the training steps.
  std::string measures(const std::string& title) const {
    std::vector<PlotSeries> series;
    std::string measure;
    for (const auto& [name, points] : model_->history.metrics) {
      if (name == "perplexity") continue;
      measure = name;
      PlotSeries& line = series.emplace_back(PlotSeries{.name = name});
      for (const auto& [step, value] : points) line.points.emplace_back(step, value);
    }
    return svg_line_plot(series,
                         {.title = title + ": validation", .x_label = "step", .y_label = measure});
  }

  /// Returns a plot of the attention heads in the last layer for one translation. The text has
  /// medium length, short enough to be readable and long enough to be informative.
  std::string attention(Session& session, const std::string& title) const {
    const TextPair& shown = data_.split.test[data_.split.test.size() / 2];
    const std::string output =
        translate(session, *model_, {shown.source}, {.on_cut = ignore_truncation()}).front();
    const CrossAttention found = cross_attention(session, *model_, shown.source, output);
    const Tensor& last = found.layers.back();
    const std::int64_t heads = last.size(0), rows = last.size(1), columns = last.size(2);
    const auto* values = last.data<float>();
    std::vector<HeatMap> panels;
    for (std::int64_t head = 0; head < heads; ++head) {
      const float* first = values + head * rows * columns;
      panels.push_back({.title = fmt::format("head {}", head),
                        .rows = rows,
                        .columns = columns,
                        .values = {first, first + rows * columns},
                        .row_labels = found.target,
                        .column_labels = found.source,
                        .low = 0,
                        .high = 1,
                        .show_values = false});
    }
    return svg_heat_maps(
        panels, {.title = title + ": cross-attention of the last layer", .panels_per_row = 2});
  }

  PairData data_;
  TargetSize validation_targets_;
  TranslatorData batches_;
};

class TranslationTask final : public TaskOf<Seq2SeqModel> {
 public:
  const TaskInfo& info() const override {
    static const TaskInfo info{
        .id = "translation",
        .family = "seq2seq",
        .name = "translation",
        .about = "train on text pairs, such as translations",
        .help = {{"batch", "tokens per step on one side (sources or targets), including padding"},
                 {"validation_fraction",
                  "fraction of the distinct sources held out for validation; the same fraction is "
                  "held out for testing"}},
        .plots = {kMeasure, kSeq2SeqAttention},
        .folders = "encoder-decoders ...ForConditionalGeneration and ...MTModel",
        .perplexity = true};
    return info;
  }
  TaskOptions options() const override {
    TaskOptions options;
    options
        .file(kPairs,
              "file to train on: source <tab> target on every line; parts of it are held out for "
              "validation and testing")
        .data();
    options
        .text(kFromLanguage,
              "with --from and a multilingual model: language of the sources, a code such as "
              "\"eng_Latn\" (NLLB), \"en\" (M2M100) or \"en_XX\" (mBART)")
        .text(kToLanguage, "language of the targets, a code in the same form");
    return add_tokenizer(
        options, "bpe with a joint vocabulary for both languages, of the size in the preset", true);
  }
  TaskFields config_fields() const override {
    return {"Model", &EncoderDecoderConfig::fields(), kOwnFields};
  }
  std::vector<PresetDescription> presets() const override {
    std::vector<PresetDescription> all = preset_descriptions(translator_presets());
    for (const PresetDescription& preset : preset_descriptions(translator_fine_tuning_presets()))
      all.push_back(preset);
    return all;
  }

  std::unique_ptr<TaskRun> start(const TaskArguments& args) const override {
    const bool pairs = args.options.has(kPairs);
    const Preset<EncoderDecoderConfig> preset =
        chosen_preset(args.from ? translator_fine_tuning_presets() : translator_presets(), args);
    const bool reversal = preset.name == kReversal;
    if (!pairs && !reversal) {
      throw ArgumentError(
          "--pairs is required: the file to train on, source <tab> target on every line");
    }
    if (pairs && reversal)
      throw ArgumentError("the preset 'reversal' generates its own strings: leave out --pairs");
    for (const char* option : {kVocabOption, kTokenizerOption}) {
      if (args.options.has(option) && reversal) {
        throw ArgumentError(
            fmt::format("the preset 'reversal' uses a character tokenizer: leave out {}", option));
      }
    }
    EncoderDecoderConfig config = chosen_config(base_config(preset.model, args), args);
    PairData data = read_pairs(args.options, preset.training);
    auto [tokenizer, notes] = tokenizer_for(args, config, data, reversal);
    const Languages languages{args.options.text(kFromLanguage), args.options.text(kToLanguage)};
    const bool multilingual = !languages.source.empty() || !languages.target.empty();
    std::optional<GenerationSettings> generation;
    if (multilingual) {
      LanguagePair pair = set_languages(tokenizer, settings_of(args), languages);
      tokenizer = std::move(pair.tokenizer);
      generation = std::move(pair.generation);
      if (config.start_id < 0 && !generation->start.empty())
        config.start_id = generation->start.front();
    }
    auto model = std::make_unique<Seq2SeqModel>(
        build_translator(config, tokenizer, preset.training,
                         table_rows(config.vocab, tokenizer, args), std::move(generation)));
    auto loaded = start_weights(*model, args);
    if (multilingual && model->origin) record_languages(*model->origin, languages);
    return new_run<TranslationRun>(preset.name, std::move(loaded), notes, std::move(model),
                                   std::move(data));
  }

  std::unique_ptr<TaskRun> open_model(std::unique_ptr<Seq2SeqModel> model,
                                      const OptionValues& options) const override {
    if (model->tokenizer.reads_characters() == options.has(kPairs)) {
      throw ArgumentError(options.has(kPairs)
                              ? "the model was trained to reverse strings: leave out --pairs"
                              : "--pairs is required: a file of text pairs");
    }
    PairData data = read_pairs(options, model->settings);
    return std::make_unique<TranslationRun>(std::move(model), std::move(data));
  }

  std::unique_ptr<TrainedModel> from_folder(const hf::Folder& folder,
                                            const FolderTokenizer& text) const override {
    return seq2seq_model_of(folder, text);
  }

 private:
  /// Returns the generation settings of the model that training starts from.
  static GenerationSettings settings_of(const TaskArguments& args) {
    if (!args.from) {
      throw ArgumentError(
          fmt::format("{} and {} are language codes of the multilingual model in --from: give "
                      "--from, or leave them out",
                      kFromLanguage, kToLanguage));
    }
    const Pretrained& from = *args.from;
    if (from.generation) return *from.generation;
    if (hf::is_folder(from.source))
      return folder_settings(hf::read_folder({from.source, from.ignored_keys}), from.text);
    throw ArgumentError(fmt::format("{} is no multilingual model: leave out {} and {}", from.source,
                                    kFromLanguage, kToLanguage));
  }

  /// Makes these languages the defaults of the tokenizer in exported folders.
  static void record_languages(hf::FolderOrigin& origin, const Languages& languages) {
    const auto file = origin.files.find("tokenizer_config.json");
    if (file == origin.files.end()) return;
    auto settings = nlohmann::ordered_json::parse(file->second);
    settings["src_lang"] = languages.source;
    settings["tgt_lang"] = languages.target;
    file->second = settings.dump(2) + "\n";
  }

  static LearnedTokenizer tokenizer_for(const TaskArguments& args,
                                        const EncoderDecoderConfig& config, const PairData& data,
                                        bool reversal) {
    if (args.from) {
      const Tokenizer& tokenizer = args.from->tokenizer();
      if (tokenizer.reads_characters()) {
        throw ArgumentError(
            fmt::format("{} has a character tokenizer, which is meant for reversing strings: text "
                        "pairs need a model with a subword tokenizer",
                        args.from->source));
      }
      return {tokenizer};
    }
    if (reversal) return {CharacterTokenizer::from_text(ReversalOptions{}.alphabet)};
    return make_tokenizer(tokenizer_choice(args.options, "bpe"),
                          {.texts = [&] { return texts_of(data.split.train); },
                           .special = {"<pad>", "</s>", "<unk>"},
                           .default_vocab = config.vocab});
  }
};

}  // namespace

const Task& translation_task() {
  static const TranslationTask task;
  return task;
}

}  // namespace weft
