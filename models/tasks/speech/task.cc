#include "weft/models/tasks/speech/task.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "weft/core/error.h"
#include "weft/models/data/batching/epochs.h"
#include "weft/models/data/formats/parallel_text.h"
#include "weft/models/fields/numbers.h"
#include "weft/models/hf/generation_config.h"
#include "weft/models/hf/published.h"
#include "weft/models/inputs/preprocessor.h"
#include "weft/models/inputs/speech_preprocessor.h"
#include "weft/models/metrics/word_error_rate.h"
#include "weft/models/plots/svg_plot.h"
#include "weft/models/tasks/common/folder_settings.h"
#include "weft/models/tasks/common/tokenizer_choice.h"
#include "weft/models/tasks/speech/presets.h"
#include "weft/models/tasks/speech/recordings.h"
#include "weft/models/tasks/speech/speech_ids.h"
#include "weft/models/tasks/speech/transcribe.h"
#include "weft/models/training/run_distributed.h"
#include "weft/models/training/trainable.h"
#include "weft/models/training/weighted_mean.h"

namespace weft {
namespace {

constexpr const char *kLanguageOption = "--language", *kSpeechTask = "--speech-task";
constexpr const char* kSpecAugment = "SpecAugment";
constexpr const char* kWordErrors = ".wer.svg";
/// Recordings that are transcribed in periodic evaluations.
constexpr std::int64_t kQuickRecordings = 32;

/// The special tokens of new tokenizers.
constexpr const char *kEndToken = "<|endoftext|>", *kStartToken = "<|startoftranscript|>";

/// Returns the language and the task of the texts. Throws ArgumentError if the model knows several
/// languages and none is given.
SpeechTarget target_of(const OptionValues& options, const SpeechModel& model) {
  SpeechTarget target;
  const std::string& given = options.text(kLanguageOption);
  target.task = speech_task_name(model, options.choice(kSpeechTask, ""));
  if (!given.empty()) {
    target.language = speech_language(model, given);
  } else if (model.speech().multilingual && !model.speech().languages.empty()) {
    if (model.speech().language.empty())
      throw ArgumentError(
          "--language is required, because the model knows several languages: the language of the "
          "recordings, such as en");
    target.language = speech_language(model, model.speech().language);
  }
  return target;
}

class SpeechRun final : public RunOf<SpeechModel> {
 public:
  SpeechRun(std::unique_ptr<SpeechModel> model, const std::string& path,
            const OptionValues& options)
      : RunOf(std::move(model)),
        path_(path),
        target_(target_of(options, *model_)),
        split_(split_by_source(read_recordings(path), model_->settings.validation_fraction,
                               model_->settings.seed)),
        train_(*model_, split_.train, target_),
        validation_(*model_, split_.validation, target_),
        test_(*model_, split_.test, target_),
        epochs_(train_.count(), model_->settings.seed) {}

  std::string describe() override {
    const EncoderDecoderConfig& c = model_->config;
    const LogMelOptions& f = model_->features;
    std::string text = fmt::format(
        "model     Whisper: {} + {} layers, {} heads, width {}, windows of {:.2f} seconds, {} mel "
        "bins, {} tokens: {} parameters\n",
        c.encoder_layers, c.decoder_layers, c.encoder_heads, c.width,
        static_cast<double>(c.frames() * f.hop) / static_cast<double>(f.rate), c.mel_bins,
        grouped(c.vocab), grouped(hf::count_parameters(*model_->graph)));
    text += fmt::format(
        "data      {}: {} recordings for training ({:.0f} seconds), {} for validation, {} for "
        "testing\n",
        path_, grouped(train_.count()), train_.seconds(), grouped(validation_.count()),
        grouped(test_.count()));
    if (!target_.language.empty())
      text += fmt::format("language  {}, task {}\n", target_.language, target_.task);
    return text;
  }
  std::string batch_unit() const override { return "recordings"; }

  TrainTask task(Session& session) override {
    const TrainSettings settings = model_->settings;
    TrainTask task = train_task(*model_, "recordings", [this, settings](const BatchPart& part) {
      const Epochs::Order indices = epochs_.examples(part, settings.batch);
      NamedTensors inputs = train_.batch(indices);
      const std::int64_t first = part.rows(settings.batch).begin;
      for (std::int64_t row = 0; row < std::ssize(indices); ++row)
        mask_spectrogram(inputs.front().second, row, model_->masking, settings.seed, part.step(),
                         first + row);
      return TrainBatch{std::move(inputs), std::ssize(indices)};
    });
    task.evaluate = [this, &session](bool whole) {
      const std::int64_t shards = whole ? 0 : model_->settings.eval_shards();
      return evaluate(session, *model_, validation_, shards, whole ? 0 : kQuickRecordings);
    };
    return task;
  }

  TaskReport report(Session& session, const TrainOutcome&, const std::string& title) override {
    const std::vector<std::string> outputs = transcribed(session, *model_, test_.files());
    std::string text;
    for (std::size_t i = 0; i < std::min<std::size_t>(outputs.size(), 5); ++i)
      text += fmt::format("\nrecording {}\nreference {}\noutput    {}\n", test_.files()[i].source,
                          test_.files()[i].target, outputs[i]);
    const Evaluation found = evaluate(session, *model_, test_, 0, 0);
    text += fmt::format("\ntest      {} recordings: loss {:.4f}, word error rate {:.4f}\n",
                        test_.count(), found.loss, found.metrics.front().value);
    return {text, {{kWordErrors, word_errors(title)}}};
  }

  Evaluation measure(Session& session, const TrainedModel& model) override {
    return evaluate(session, model_as<SpeechModel>(model), validation_, 0, 0);
  }

 private:
  /// Evaluates the loss on `batches` batches and the word error rate on `recordings` recordings,
  /// evenly spread over the set; 0 = all.
  Evaluation evaluate(Session& session, const SpeechModel& model, const Recordings& set,
                      std::int64_t batches, std::int64_t recordings) const {
    const std::int64_t size = model_->settings.shard_batch();
    const std::vector<std::int64_t> places =
        evenly_spread((set.count() + size - 1) / size, batches);
    const auto indices_of = [&](std::int64_t i) {
      std::vector<std::int64_t> indices;
      const std::int64_t first = places[static_cast<std::size_t>(i)] * size;
      for (std::int64_t k = first; k < std::min(first + size, set.count()); ++k)
        indices.push_back(k);
      return indices;
    };
    WeightedMean loss;
    run_distributed(
        session, model.program("evaluate"), std::ssize(places),
        [&](std::int64_t i) { return set.batch(indices_of(i)); },
        [&](std::int64_t i, const Results& results) {
          loss.add(results["loss"].item<float>(), static_cast<double>(set.labels(indices_of(i))));
        });
    std::vector<TextPair> chosen;
    std::vector<std::string> references;
    for (const std::int64_t i : evenly_spread(set.count(), recordings)) {
      chosen.push_back(set.files()[static_cast<std::size_t>(i)]);
      references.push_back(chosen.back().target);
    }
    return {
        loss.value(),
        {{"word error rate", word_error_rate(transcribed(session, model, chosen), references)}}};
  }

  std::vector<std::string> transcribed(Session& session, const SpeechModel& model,
                                       const std::vector<TextPair>& files) const {
    TranscribeOptions options;
    options.timestamps = false;
    if (!target_.language.empty()) {
      options.language = target_.language;
      options.task = target_.task;
    }
    std::vector<std::string> paths, texts;
    for (const TextPair& file : files) paths.push_back(file.source);
    for (Transcript& found : transcribe_files(session, model, paths, options))
      texts.push_back(std::move(found.text));
    return texts;
  }

  /// Returns a plot of the word error rate over the training steps.
  std::string word_errors(const std::string& title) const {
    PlotSeries line{.name = "validation"};
    for (const auto& [name, points] : model_->history.metrics) {
      for (const auto& [step, value] : points) line.points.emplace_back(step, value);
    }
    return svg_line_plot({line}, {.title = title, .x_label = "step", .y_label = "word error rate"});
  }

  std::string path_;
  SpeechTarget target_;
  TextPairSplit split_;
  Recordings train_, validation_, test_;
  Epochs epochs_;
};

/// Returns the log-mel settings of the model with which the training starts, or those for a new
/// model: windows of the config's size.
LogMelOptions chosen_features(const TaskArguments& args, const EncoderDecoderConfig& config) {
  if (args.from && args.from->speech) return PartValue<LogMelOptions>::read(*args.from->speech);
  if (args.from && args.from->origin)
    return read_speech_preprocessor(
        args.from->origin->text(kPreprocessorFile),
        (std::filesystem::path(args.from->source) / kPreprocessorFile).string(), config.mel_bins);
  LogMelOptions options;
  options.mel_bins = config.mel_bins;
  const std::int64_t samples = config.frames() * options.hop;
  options.chunk_seconds = (samples + options.rate - 1) / options.rate;
  return options;
}

/// Returns the generation settings of the model with which the training starts, or those for a new
/// model, which has ids for the start and the end of a text only.
GenerationSettings chosen_generation(const TaskArguments& args, const Tokenizer& tokenizer,
                                     std::int64_t vocab) {
  GenerationSettings settings;
  if (args.from && args.from->generation) return *args.from->generation;
  if (args.from && args.from->origin) {
    const hf::FolderOrigin& origin = *args.from->origin;
    settings = generation_settings(
        hf::generation_config(origin.text("config.json"), origin.text("generation_config.json")));
    complete_speech_settings(*settings.speech, tokenizer, vocab);
    return settings;
  }
  std::int64_t end = tokenizer.find(kEndToken), start = tokenizer.find(kStartToken);
  if (end < 0) end = tokenizer.eos_id();
  if (start < 0) start = tokenizer.bos_id();
  if (end < 0 || start < 0)
    throw ArgumentError(
        fmt::format("the tokenizer has no ids for the start and the end of a text ({}, {})",
                    kStartToken, kEndToken));
  settings.options.eos_id = settings.options.pad_id = end;
  settings.start = {start};
  settings.speech.emplace().multilingual = false;
  return settings;
}

class TranscriptionTask final : public TaskOf<SpeechModel> {
 public:
  const TaskInfo& info() const override {
    static const TaskInfo info{
        .id = "transcription",
        .family = "speech",
        .name = "transcribe",
        .about = "train a speech recogniser on recordings and their texts",
        .help = {{"batch", "recordings per step"},
                 {"validation_fraction",
                  "fraction of the recordings held out for validation; the same fraction is held "
                  "out for testing"}},
        .plots = {kWordErrors},
        .folders = "WhisperForConditionalGeneration",
        .perplexity = true};
    return info;
  }
  TaskOptions options() const override {
    TaskOptions options;
    options
        .file(kDataOption,
              "file to train on: path of a WAV or FLAC file <tab> text on every line; relative "
              "paths refer to the folder of the file; parts are held out for validation and "
              "testing")
        .text(kLanguageOption,
              "language of the recordings, such as en; required if the model knows several")
        .choice(kSpeechTask, {"transcribe", "translate"},
                "task of the texts, for multilingual models (default: transcribe)")
        .data()
        .field_group(kSpecAugment, SpectrogramMasking::fields());
    return add_tokenizer(options, "byte-bpe, of the size in the preset", true);
  }
  TaskFields config_fields() const override {
    return {"Model",
            &EncoderDecoderConfig::fields(),
            {"vocab",
             "decoder_vocab",
             "start_id",
             "padding_id",
             "decoder_start",
             "positions",
             "position_offset",
             "relative_buckets",
             "relative_max_distance",
             "relative_bias_layers",
             "sinusoidal_endpoint",
             "positions_skip_padding",
             "experts",
             "encoder_sparse_step",
             "decoder_sparse_step",
             "expert_capacity",
             "router_bias",
             "router_jitter",
             "balancing_weight",
             "router_z_weight"}};
  }
  std::vector<PresetDescription> presets() const override {
    std::vector<PresetDescription> all = preset_descriptions(speech_presets());
    for (const PresetDescription& preset : preset_descriptions(speech_fine_tuning_presets()))
      all.push_back(preset);
    return all;
  }

  std::unique_ptr<TaskRun> start(const TaskArguments& args) const override {
    const std::string& path = data_path(args.options);
    const Preset<EncoderDecoderConfig> preset =
        chosen_preset(args.from ? speech_fine_tuning_presets() : speech_presets(), args);
    EncoderDecoderConfig config = chosen_config(base_config(preset.model, args), args);
    if (!config.reads_speech())
      throw ArgumentError(args.from ? fmt::format("{} holds {}, which does not read spectrograms",
                                                  args.from->source, args.from->about)
                                    : "--mel-bins must be at least 1");
    const LearnedTokenizer learned = tokenizer_for(args, config, path);
    const GenerationSettings generation = chosen_generation(args, learned.tokenizer, config.vocab);
    if (!args.from) {
      config.start_id = generation.start.front();
      config.padding_id = generation.options.pad_id;
    }
    auto model = std::make_unique<SpeechModel>(
        build_speech_model(config, learned.tokenizer, generation, chosen_features(args, config),
                           preset.training, table_rows(config.vocab, learned.tokenizer, args)));
    model->masking = SpectrogramMasking::fields().with({}, args.options.fields(kSpecAugment));
    auto loaded = start_weights(*model, args);
    if (!args.from)
      load_weights(*model->store, *model->graph,
                   {{"encoder.positions.weight",
                     spectrogram_positions(config.source_context, config.width)}},
                   "the sinusoids");
    return new_run<SpeechRun>(preset.name, std::move(loaded), learned.notes, std::move(model), path,
                              args.options);
  }

  std::unique_ptr<TaskRun> open_model(std::unique_ptr<SpeechModel> model,
                                      const OptionValues& options) const override {
    return std::make_unique<SpeechRun>(std::move(model), data_path(options), options);
  }

  std::unique_ptr<TrainedModel> from_folder(const hf::Folder& folder,
                                            const FolderTokenizer& text) const override {
    return speech_model_of(folder, text);
  }

 private:
  static const std::string& data_path(const OptionValues& options) {
    const std::string& path = options.text(kDataOption);
    if (!path.empty()) return path;
    throw ArgumentError(
        "--data is required: a file with the path of a recording <tab> its text on every line");
  }

  static LearnedTokenizer tokenizer_for(const TaskArguments& args,
                                        const EncoderDecoderConfig& config,
                                        const std::string& path) {
    if (args.from) return {args.from->tokenizer()};
    return make_tokenizer(tokenizer_choice(args.options, "byte-bpe"),
                          {.texts =
                               [&] {
                                 std::vector<std::string> texts;
                                 for (const TextPair& pair : read_recordings(path))
                                   texts.push_back(pair.target);
                                 return texts;
                               },
                           .special = {kEndToken, kStartToken},
                           .default_vocab = config.vocab});
  }
};

}  // namespace

const Task& transcription_task() {
  static const TranscriptionTask task;
  return task;
}

}  // namespace weft
