#include "weft/models/tasks/speech/transcribe.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "weft/core/error.h"
#include "weft/models/tasks/speech/recordings.h"
#include "weft/models/tasks/speech/speech_ids.h"
#include "weft/models/tasks/speech/speech_model.h"
#include "weft/models/training/run_distributed.h"

namespace weft {
namespace {

/// Returns the bytes of the ids divided by their size after zlib compression, as in transformers.
double compression_ratio(const TokenIds& ids, std::int64_t vocab) {
  const int width = static_cast<int>(std::log2(static_cast<double>(vocab)) / 8) + 1;
  std::string bytes;
  for (const std::int64_t id : ids) {
    for (int i = 0; i < width; ++i) bytes.push_back(static_cast<char>(id >> (8 * i)));
  }
  uLongf size = compressBound(static_cast<uLong>(bytes.size()));
  std::string packed(size, '\0');
  compress(reinterpret_cast<Bytef*>(packed.data()), &size,
           reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uLong>(bytes.size()));
  return static_cast<double>(bytes.size()) / static_cast<double>(size);
}

/// Returns the probability of `id` in the first row of the logits.
double probability_of(const Tensor& logits, std::int64_t id) {
  const auto row = logits.span<float>().first(static_cast<std::size_t>(logits.size(1)));
  const double highest = *std::max_element(row.begin(), row.end());
  double sum = 0;
  for (const float logit : row) sum += std::exp(static_cast<double>(logit) - highest);
  return std::exp(static_cast<double>(row[static_cast<std::size_t>(id)]) - highest) / sum;
}

/// The output for one window.
struct DecodedWindow {
  TokenIds ids;  // without the ids at the start and the end id
  double temperature = 0, mean_log_probability = 0, compression = 0;
  std::optional<double> no_speech;
  bool skipped = false;
};

/// Transcribes one recording.
class Transcriber {
 public:
  Transcriber(Session& session, const SpeechModel& model, const TranscribeOptions& options)
      : model_(model),
        speech_(model.speech()),
        options_(options),
        generator_(session, model.decoding()) {
    if (options.temperatures.empty()) throw ArgumentError("temperatures must not be empty");
    for (const double t : options.temperatures) {
      if (!(t >= 0) || std::isinf(t))
        throw ArgumentError(fmt::format("temperatures must not be negative, but one is {}", t));
    }
    const auto choose = [](const auto& given, const auto& own) { return given ? given : own; };
    compression_threshold_ = choose(options.compression_threshold, speech_.compression_threshold);
    logprob_threshold_ = choose(options.logprob_threshold, speech_.logprob_threshold);
    no_speech_threshold_ = choose(options.no_speech_threshold, speech_.no_speech_threshold);
    if (no_speech_threshold_ && !logprob_threshold_)
      throw ArgumentError("no_speech_threshold has no effect without logprob_threshold");
    if (!model.knows_silence()) no_speech_threshold_.reset();
    continues_ = options.condition_on_previous.value_or(speech_.condition_on_previous);
    task_ = speech_task_name(model, options.task);
    language_ = chosen_language();
    if (!options.prompt.empty() || continues_) {
      if (speech_.previous_id < 0)
        throw ArgumentError(
            "the model has no id for previous text (<|startofprev|>): leave out the prompt and "
            "condition_on_previous");
    }
    if (!options.prompt.empty()) history_ = speech_text_ids(model, " " + trimmed(options.prompt));
  }

  Transcript run(const Audio& audio) {
    const LogMelOptions& f = model_.features;
    const Tensor spectrogram = spectrogram_of(audio, f);
    seconds_per_frame_ = static_cast<double>(f.hop) / static_cast<double>(f.rate);
    const std::int64_t window = model_.config.frames();
    const bool single = spectrogram.size(1) <= window;
    // The padding of a recording that needs several windows is not decoded.
    const std::int64_t frames =
        single ? window
               : std::clamp<std::int64_t>(std::llround(audio.seconds() / seconds_per_frame_), 1,
                                          spectrogram.size(1));
    timestamps_ = options_.timestamps.value_or(speech_.timestamps) || !single;
    if (speech_.no_timestamps_id < 0) {
      if (options_.timestamps.value_or(false))
        throw ArgumentError(
            "the model has no ids for timestamps (<|notimestamps|>): leave out timestamps");
      timestamps_ = false;
    }
    Transcript result;
    result.seconds = audio.seconds();
    for (std::int64_t seek = 0; seek < frames;) {
      const std::int64_t count = std::min(window, frames - seek);
      const DecodedWindow decoded = decode(spectrogram_window(spectrogram, seek, window));
      seek += decoded.skipped ? count : add_segments(decoded, seek, count, single, result);
    }
    result.language = language_;
    for (const SpeechSegment& segment : result.segments) {
      const bool apart = !model_.has_tokenizer() && !result.text.empty() && !segment.text.empty();
      result.text += (apart ? " " : "") + segment.text;
    }
    result.text = trimmed(result.text);
    for (SpeechSegment& segment : result.segments) segment.text = trimmed(segment.text);
    return result;
  }

 private:
  static std::string trimmed(const std::string& text) {
    const std::size_t first = text.find_first_not_of(" \n\r\t");
    if (first == std::string::npos) return {};
    return text.substr(first, text.find_last_not_of(" \n\r\t") - first + 1);
  }

  /// Returns the language of the options or of the model's settings, or "" if it must be detected
  /// or the model has no languages.
  std::string chosen_language() const {
    if (!options_.language.empty()) return speech_language(model_, options_.language);
    if (!speech_.multilingual) return {};
    if (!speech_.language.empty()) return speech_language(model_, speech_.language);
    for (const auto& [place, forced] : model_.generation.options.forced) {
      for (const auto& [code, id] : speech_.languages) {
        if (id == forced) return code;
      }
    }
    return {};
  }

  GenerationOptions generation(const TokenIds& start) const {
    const std::int64_t context = model_.config.context;
    GenerationOptions o = model_.generation.options;
    o.start = start;
    const std::int64_t given = std::ssize(start);
    if (given >= context)
      throw ArgumentError(fmt::format(
          "the prompt has {} tokens, but the model has {} positions: shorten it", given, context));
    if (o.max_new >= 0) {
      o.max_length = given + std::min(o.max_new, context);
    } else if (model_.generation.states_length) {
      o.max_length = std::min(o.max_length, context) + std::min(context / 2 - 1, given - 1);
    } else {
      o.max_length = context;
    }
    o.max_length = std::clamp(o.max_length, given + 1, context);
    o.max_new = -1;
    o.forced.clear();  // the start contains these ids
    o.forced_bos_id = -1;
    o.results = 1;
    o.sampling.reset();
    if (options_.beams) o.beams = *options_.beams;
    o.log_probabilities = o.beams == 1;
    forbid_ids(o);
    return o;
  }

  /// Forbids ids without a text or a time.
  void forbid_ids(GenerationOptions& o) const {
    const std::int64_t vocab = model_.config.vocab, first = speech_.first_timestamp_id();
    const bool has_times = speech_.no_timestamps_id >= 0;
    const std::int64_t end = has_times ? std::min(first, vocab) : vocab;
    if (model_.has_tokenizer()) {
      for (std::int64_t id = model_.tokenizer.vocab_size(); id < end; ++id)
        o.bad_token_ids.push_back(id);
    }
    if (!has_times) return;
    for (std::int64_t id = first + model_.config.source_context + 1; id < vocab; ++id)
      o.bad_token_ids.push_back(id);
    if (timestamps_)
      o.timestamps = {.first_id = first,
                      .no_timestamps_id = speech_.no_timestamps_id,
                      .max_initial = std::min(speech_.max_initial_timestamp, vocab)};
  }

  /// Encodes a window and detects the language of the recording if it is not known yet.
  void encode(const Tensor& features) {
    if (!language_.empty() || !speech_.multilingual || speech_.languages.empty()) return;
    GenerationOptions o = generation({model_.start_id()});
    o.max_length = model_.config.context;
    static_cast<void>(generator_.generate(features, o));
    encoded_rows_ = rows_per_prompt(o);
    const Tensor logits = generator_.logits_after(o.start);
    double best = -INFINITY;
    for (const auto& [code, id] : speech_.languages) {
      const double logit = logits.at(id);
      if (!(logit > best)) continue;
      best = logit;
      language_ = code;
    }
    if (language_.empty())
      throw DataError("the model's logits are not finite: training may have diverged");
  }

  Generation start_generation(const Tensor& features, const GenerationOptions& o) {
    if (encoded_rows_ == rows_per_prompt(o)) return generator_.generate_again(o);
    // Room for any other start, so that the window is encoded once.
    GenerationOptions longest = o;
    longest.max_length = model_.config.context;
    static_cast<void>(generator_.generate(features, longest));
    encoded_rows_ = rows_per_prompt(o);
    return generator_.generate_again(o);
  }

  DecodedWindow decode(const Tensor& features) {
    encoded_rows_ = 0;
    encode(features);
    const TokenIds own = speech_start(model_, language_, task_, timestamps_);
    TokenIds start;
    if (!history_.empty()) {
      const auto most = static_cast<std::ptrdiff_t>(model_.config.context / 2 - 1);
      start = {speech_.previous_id};
      start.insert(start.end(), history_.end() - std::min(most, std::ssize(history_)),
                   history_.end());
    }
    const std::size_t before = start.size() + 1;  // up to and including the start id
    start.insert(start.end(), own.begin(), own.end());
    DecodedWindow found;
    for (const double temperature : options_.temperatures) {
      GenerationOptions o = generation(start);
      if (temperature > 0) {
        o.beams = 1;
        o.log_probabilities = true;
        // Without settings, the default filter of transformers applies.
        o.sampling = model_.generation.options.sampling.value_or(SamplingOptions{.top_k = 50});
        o.sampling->temperature = temperature;
        o.sampling->seed = options_.seed;
      }
      Generation running = start_generation(features, o);
      if (no_speech_threshold_)
        found.no_speech = probability_of(
            generator_.logits_after(
                {start.begin(), start.begin() + static_cast<std::ptrdiff_t>(before)}),
            speech_.no_speech_id());
      measure(running.run(), o, temperature, found);
      if (!fails(found)) break;
    }
    return found;
  }

  void measure(const SearchResult& result, const GenerationOptions& o, double temperature,
               DecodedWindow& found) const {
    const TokenIds& all = result.sequences.front();
    found.ids.assign(all.begin() + std::ssize(o.start), all.end());
    if (!found.ids.empty() && o.is_end(found.ids.back())) found.ids.pop_back();
    double sum = result.scores.front();
    const auto length = static_cast<double>(std::ssize(o.start) + std::ssize(found.ids));
    if (o.beams > 1) sum *= std::pow(length, o.length_penalty);
    found.temperature = temperature;
    found.mean_log_probability = sum / static_cast<double>(found.ids.size() + 1);
    found.compression = compression_ratio(found.ids, model_.config.vocab);
  }

  /// Returns true if the window should be decoded again. Marks windows without speech as skipped.
  bool fails(DecodedWindow& found) const {
    const bool unlikely = logprob_threshold_ && found.mean_log_probability < *logprob_threshold_;
    found.skipped = unlikely && no_speech_threshold_ && *found.no_speech > *no_speech_threshold_;
    if (found.skipped) return false;
    return unlikely || (compression_threshold_ && found.compression > *compression_threshold_);
  }

  bool is_time(std::int64_t id) const {
    return speech_.no_timestamps_id >= 0 && id >= speech_.first_timestamp_id();
  }

  /// Adds the segments of a window and returns the number of frames by which to advance.
  std::int64_t add_segments(const DecodedWindow& decoded, std::int64_t seek, std::int64_t count,
                            bool single, Transcript& result) {
    const TokenIds& ids = decoded.ids;
    const double offset = static_cast<double>(seek) * seconds_per_frame_;
    const auto seconds = [&](std::int64_t frames) {
      const double at = offset + static_cast<double>(frames) * seconds_per_frame_;
      return std::min(at, result.seconds);
    };
    // Times are multiples of two frames.
    const auto frames_of = [&](std::int64_t id) { return 2 * (id - speech_.first_timestamp_id()); };
    // Text that needed a high temperature is unreliable, so later windows do not continue it.
    if (continues_ && decoded.temperature >= 0.5) history_.clear();
    const auto add = [&](std::size_t first, std::size_t end, std::int64_t from, std::int64_t to) {
      SpeechSegment segment{seconds(from), std::max(seconds(to), seconds(from))};
      segment.ids.assign(ids.begin() + static_cast<std::ptrdiff_t>(first),
                         ids.begin() + static_cast<std::ptrdiff_t>(end));
      if (std::all_of(segment.ids.begin(), segment.ids.end(),
                      [&](std::int64_t id) { return is_time(id); }))
        return;
      if (continues_ && decoded.temperature < 0.5)
        history_.insert(history_.end(), segment.ids.begin(), segment.ids.end());
      segment.text = model_.text_of(segment.ids);
      segment.temperature = decoded.temperature;
      segment.mean_log_probability = decoded.mean_log_probability;
      segment.compression_ratio = decoded.compression;
      segment.no_speech = decoded.no_speech;
      result.segments.push_back(std::move(segment));
    };
    std::vector<std::size_t> ends;  // of segments that are followed by another one
    for (std::size_t i = 1; timestamps_ && i < ids.size(); ++i) {
      if (is_time(ids[i - 1]) && is_time(ids[i])) ends.push_back(i);
    }
    const bool closed = ids.size() >= 2 && is_time(ids.back()) && !is_time(ids[ids.size() - 2]);
    if (ends.empty()) {
      std::int64_t last = count;
      for (const std::int64_t id : ids) {
        if (timestamps_ && is_time(id) && frames_of(id) > 0) last = frames_of(id);
      }
      add(0, ids.size(), 0, std::min(last, count));
      return count;
    }
    // The last segment is complete if the output ends with a single timestamp. Otherwise, it is
    // decoded again in the next window.
    if (closed || single) ends.push_back(ids.size());
    std::size_t first = 0;
    for (const std::size_t end : ends) {
      const bool open = !is_time(ids[end - 1]);
      add(first, end, is_time(ids[first]) ? frames_of(ids[first]) : 0,
          open ? count : frames_of(ids[end - 1]));
      first = end;
    }
    if (closed || single) return count;
    const std::int64_t advance = frames_of(ids[ends.back() - 1]);
    return advance > 0 ? advance : count;
  }

  const SpeechModel& model_;
  const SpeechSettings& speech_;
  const TranscribeOptions& options_;
  Seq2SeqGenerator generator_;
  std::optional<double> compression_threshold_, logprob_threshold_, no_speech_threshold_;
  bool continues_ = false, timestamps_ = false;
  std::string task_, language_;
  TokenIds history_;               // the prompt and, if continues_, the ids of earlier windows
  std::int64_t encoded_rows_ = 0;  // rows per prompt of the encoded window; 0 = none
  double seconds_per_frame_ = 0;
};

nlohmann::json to_json(const Transcript& transcript) {
  nlohmann::json segments = nlohmann::json::array();
  for (const SpeechSegment& s : transcript.segments)
    segments.push_back({s.start, s.end, s.text, s.ids, s.temperature, s.mean_log_probability,
                        s.compression_ratio, s.no_speech ? nlohmann::json(*s.no_speech) : nullptr});
  return {transcript.text, transcript.language, segments, transcript.seconds};
}

Transcript transcript_of(const nlohmann::json& json) {
  Transcript result{json[0], json[1], {}, json[3]};
  for (const nlohmann::json& s : json[2]) {
    result.segments.push_back({s[0], s[1], s[2], s[3], s[4], s[5], s[6]});
    if (!s[7].is_null()) result.segments.back().no_speech = s[7].get<double>();
  }
  return result;
}

std::string subtitle_time(double seconds, char separator) {
  const auto ms = static_cast<std::int64_t>(std::llround(seconds * 1000));
  return fmt::format("{:02}:{:02}:{:02}{}{:03}", ms / 3600000, ms / 60000 % 60, ms / 1000 % 60,
                     separator, ms % 1000);
}

}  // namespace

TranscribeOptions TranscribeOptions::with_fallback() {
  TranscribeOptions options;
  options.temperatures = {0, 0.2, 0.4, 0.6, 0.8, 1};
  options.compression_threshold = 1.35;
  options.logprob_threshold = -1;
  options.no_speech_threshold = 0.6;
  return options;
}

Transcript transcribe(Session& session, const TrainedModel& model, const Audio& audio,
                      const TranscribeOptions& options) {
  const auto& speech = model.as<SpeechModel>(Use::transcribe);
  if (audio.samples.empty()) throw ArgumentError("the recording has no samples");
  return Transcriber(session, speech, options).run(audio);
}

std::vector<Transcript> transcribe_files(Session& session, const TrainedModel& model,
                                         const std::vector<std::string>& paths,
                                         const TranscribeOptions& options) {
  const auto make = [&](std::int64_t i) {
    const std::string& path = paths[static_cast<std::size_t>(i)];
    const Audio audio = read_audio(path);
    try {
      return transcribe(session, model, audio, options);
    } catch (const DataError& e) {
      throw DataError(fmt::format("{}: {}", path, e.what()));
    }
  };
  std::vector<Transcript> results;
  const World& world = session.options().world;
  if (world.size() == 1) {
    for (std::int64_t i = 0; i < std::ssize(paths); ++i) results.push_back(make(i));
    return results;
  }
  distribute_over_ranks(
      world, std::ssize(paths), [&](std::int64_t i) { return to_json(make(i)).dump(); },
      [&](std::int64_t, const std::string& made) {
        results.push_back(transcript_of(nlohmann::json::parse(made)));
      });
  return results;
}

std::string subtitles(const Transcript& transcript, SubtitleFormat format) {
  const bool vtt = format == SubtitleFormat::vtt;
  std::string out = vtt ? "WEBVTT\n\n" : "";
  std::int64_t number = 0;
  for (const SpeechSegment& s : transcript.segments) {
    std::string text = s.text;
    std::replace(text.begin(), text.end(), '\n', ' ');
    if (text.empty()) continue;
    const char point = vtt ? '.' : ',';
    if (!vtt) out += fmt::format("{}\n", ++number);
    out += fmt::format("{} --> {}\n{}\n\n", subtitle_time(s.start, point),
                       subtitle_time(s.end, point), text);
  }
  return out;
}

}  // namespace weft
