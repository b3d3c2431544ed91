// weft transcribe: prints the text of recordings.
#include <fmt/format.h>

#include <memory>

#include "weft/models/program/commands/commands.h"
#include "weft/models/program/commands/text_command.h"
#include "weft/models/program/options/options.h"
#include "weft/models/program/terminal/console.h"
#include "weft/models/program/terminal/json_lines.h"
#include "weft/models/program/terminal/usage_error.h"
#include "weft/models/tasks/speech/speech_model.h"
#include "weft/models/tasks/speech/transcribe.h"

namespace weft::program {
namespace {

struct TranscribeArguments {
  ModelPath file;
  std::vector<std::string> recordings;
  TranscribeOptions options;
  bool timestamps = false, condition = false, fallback = false, json = false;
  double temperature = 0;
  std::optional<std::uint64_t> seed = {};
  std::string format;
  Execution execution;
};

/// Throws UsageError if an option was given that has no effect in combination with the others.
void refuse_unused_options(const TranscribeArguments& args) {
  const TranscribeOptions& o = args.options;
  const auto refuse = [](std::string_view option, std::string_view without) {
    throw UsageError(fmt::format("{} has no effect without {}: leave it out", option, without));
  };
  if (args.json && !args.format.empty())
    throw UsageError("--json and --format are two formats: leave out one of them");
  if (!args.format.empty() && args.recordings.size() > 1)
    throw UsageError(
        "--format writes the subtitles of one recording: run the command once per file");
  if (args.temperature > 0 && o.beams.value_or(1) > 1) refuse("--beams", "--temperature 0");
  if (args.fallback) return;
  if (args.seed && args.temperature == 0) refuse("--seed", "--temperature or --fallback");
  if (o.compression_threshold) refuse("--compression-threshold", "--fallback");
  if (o.logprob_threshold && !o.no_speech_threshold)
    refuse("--logprob-threshold", "--fallback or --no-speech-threshold");
}

/// Adds the temperatures and thresholds of --fallback, except those that were given.
void add_fallback(TranscribeArguments& args) {
  TranscribeOptions& o = args.options;
  o.seed = args.seed.value_or(o.seed);
  o.temperatures = {args.temperature};
  if (!args.fallback) return;
  const TranscribeOptions usual = TranscribeOptions::with_fallback();
  for (const double t : usual.temperatures) {
    if (t > args.temperature) o.temperatures.push_back(t);
  }
  if (!o.compression_threshold) o.compression_threshold = usual.compression_threshold;
  if (!o.logprob_threshold) o.logprob_threshold = usual.logprob_threshold;
  if (!o.no_speech_threshold) o.no_speech_threshold = usual.no_speech_threshold;
}

void print_transcript_json(const std::string& path, const Transcript& found) {
  JsonLine segments = JsonLine::array();
  for (const SpeechSegment& s : found.segments) {
    JsonLine line = {{"start", rounded(s.start)},
                     {"end", rounded(s.end)},
                     {"text", s.text},
                     {"ids", s.ids},
                     {"temperature", rounded(s.temperature)},
                     {"mean_log_probability", rounded(s.mean_log_probability)},
                     {"compression_ratio", rounded(s.compression_ratio)}};
    if (s.no_speech) line["no_speech"] = rounded(*s.no_speech);
    segments.push_back(std::move(line));
  }
  JsonLine line = {{"file", path}, {"seconds", rounded(found.seconds)}};
  if (!found.language.empty()) line["language"] = found.language;
  line["text"] = found.text;
  line["segments"] = std::move(segments);
  say_json(line);
}

void print_transcript(const TranscribeArguments& args, const std::string& path,
                      const Transcript& found) {
  if (args.json) return print_transcript_json(path, found);
  if (!args.format.empty())
    return say("{}", subtitles(found, parse_choice<SubtitleFormat>(args.format)));
  if (!args.timestamps) return say("{}\n", found.text);
  for (const SpeechSegment& s : found.segments)
    say("[{:.2f} --> {:.2f}] {}\n", s.start, s.end, s.text);
}

int run_transcribe(TranscribeArguments& args, const World& world) {
  refuse_unused_options(args);
  const bool silence = args.options.no_speech_threshold.has_value();
  add_fallback(args);
  if (args.timestamps || !args.format.empty()) args.options.timestamps = true;
  if (args.condition) args.options.condition_on_previous = true;
  ModelSession opened(Use::transcribe, args.file, args.execution, world);
  if (silence && !opened.model->as<SpeechModel>(Use::transcribe).knows_silence())
    throw UsageError("--no-speech-threshold: the model has no id for \"no speech\": leave it out");
  const std::vector<Transcript> found = rethrow_as_usage([&] {
    return transcribe_files(opened.session, *opened.model, args.recordings, args.options);
  });
  for (std::size_t i = 0; i < found.size(); ++i)
    print_transcript(args, args.recordings[i], found[i]);
  return 0;
}

}  // namespace

void add_transcribe_command(CLI::App& app, Action& action) {
  OptionList options(app, "transcribe", "Print the text of recordings");
  const auto args = std::make_shared<TranscribeArguments>();
  TranscribeOptions& o = args->options;
  options
      .input("file", args->file,
             "a .weft file written by weft train speech, or a Hugging Face folder with a "
             "WhisperForConditionalGeneration model")
      .required();
  options
      .inputs("recordings", args->recordings,
              "WAV or FLAC files with any sample rate from 1000 Hz and up to 32 channels")
      .required();
  options.text("--language", o.language,
               "language of the recordings, as a code (\"en\") or an English name (default: it is "
               "detected in the first window)");
  options.choice("--task", {"transcribe", "translate"}, o.task,
                 "translate translates to English (default: transcribe)");
  options.flag("--timestamps", args->timestamps,
               "print one line per segment, with its times in seconds");
  options.text("--prompt", o.prompt,
               "text that precedes the recordings, for the spelling of names and the style");
  options.flag("--condition-on-previous", args->condition,
               "each window continues the text of the windows before it");
  options.integer("--beams", o.beams, {1, 64},
                  "number of beams; 1 = greedy search (default: the folder's own setting, or 1)");
  const std::string fallback = "Temperature fallback";
  const RealRange any{-1000, 1000};
  options
      .real("--temperature", args->temperature, {0, 10},
            "0 = greedy or beam search (default), otherwise sampling")
      .group(fallback);
  options
      .flag("--fallback", args->fallback,
            "decode a window again at the temperatures up to 1, in steps of 0.2, until it passes "
            "the thresholds, which are then 1.35, -1 and 0.6 by default")
      .group(fallback);
  options
      .real("--compression-threshold", o.compression_threshold, any,
            "highest compression ratio of the ids, which is high if the output repeats itself")
      .group(fallback);
  options
      .real("--logprob-threshold", o.logprob_threshold, any,
            "lowest mean log-probability of the ids")
      .group(fallback);
  options
      .real("--no-speech-threshold", o.no_speech_threshold, {0, 1},
            "skip a window if \"no speech\" is more likely and the log-probability is too low")
      .group(fallback);
  options.seed("--seed", args->seed, "seed of sampling (default 1)").group(fallback);
  options.choice("--format", {"srt", "vtt"}, args->format, "print subtitles: SubRip or WebVTT");
  options.flag("--json", args->json,
               "print one JSON object per line: file, seconds, language, text, segments (start, "
               "end, text, ids, temperature, mean_log_probability, compression_ratio, no_speech)");
  options.execution(args->execution);
  options.run(action, [args](const World& world) { return run_transcribe(*args, world); });
}

}  // namespace weft::program
