// Speech recognition: recordings to text, with times.
//
//   const LoadedModel opened = load_model_for(Use::transcribe, "whisper-tiny");
//   Session session(*opened.model->graph, opened.model->store);
//   const Transcript found = transcribe(session, *opened.model, read_audio("talk.wav"));
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/graph/run/session.h"
#include "weft/models/audio/audio_file.h"
#include "weft/models/fields/choice.h"
#include "weft/models/generate/options.h"
#include "weft/models/training/model.h"

namespace WEFT_API weft {

/// Options of transcribe(). Empty members select the model's own setting, which for most models is
/// the value in parentheses.
struct TranscribeOptions {
  /// Language code of the recording ("en"). If empty, the language is detected in the first window.
  std::string language = {};
  std::string task = {};                // "translate" translates to English ("transcribe")
  std::optional<bool> timestamps = {};  // times in recordings of one window, too (false)
  std::string prompt = {};              // a text that precedes the recording, for names and style
  /// Each window continues the text of the windows before it (false).
  std::optional<bool> condition_on_previous = {};
  std::optional<std::int64_t> beams = {};  // (1, greedy search)
  /// A window is decoded at the first temperature. If the result fails one of the two thresholds
  /// below, it is decoded again at the next temperature. 0 = greedy or beam search, otherwise
  /// sampling.
  std::vector<double> temperatures = {0};
  /// Highest compression ratio: bytes of the ids / size after zlib compression. It is high if the
  /// output repeats itself. (none)
  std::optional<double> compression_threshold = {};
  /// Lowest mean log-probability of the ids. (none)
  std::optional<double> logprob_threshold = {};
  /// A window is skipped if its probability of "no speech" is higher and the mean log-probability
  /// is below logprob_threshold. Models without an id for it have no such threshold. (none)
  std::optional<double> no_speech_threshold = {};
  std::uint64_t seed = 1;  // of sampling

  /// The temperatures 0, 0.2, ..., 1, and common values of the thresholds: 1.35, -1 and 0.6
  /// (Radford et al. 2022, section 4.5).
  static TranscribeOptions with_fallback();
};

/// A part of a recording between two timestamps, or a whole window.
struct SpeechSegment {
  double start = 0, end = 0;  // seconds
  std::string text = {};
  TokenIds ids = {};  // including timestamps, without the end id
  // Properties of the window from which the segment was decoded.
  double temperature = 0;
  double mean_log_probability = 0;
  double compression_ratio = 0;
  std::optional<double> no_speech = {};  // probability; set if there is a no_speech_threshold
};

/// The text of a recording.
struct Transcript {
  std::string text;      // of all segments
  std::string language;  // empty if the model knows one language only
  std::vector<SpeechSegment> segments;
  double seconds = 0;  // of the recording
};

/// Transcribes a recording, which is converted to the sample rate of the model. Longer recordings
/// than the window of the model (30 seconds) are decoded window by window, as in Hugging Face
/// transformers: the next window begins at the last timestamp of a window that ends within a
/// segment. This requires timestamps, which are used even if options.timestamps is false; models
/// without timestamp ids advance by whole windows. The spectrogram of the recording is computed as
/// a whole. The session must run the model's graph with its store. Throws FormatError if the model
/// does not transcribe speech, ArgumentError if an option is invalid or not supported by the model,
/// and DataError if the recording is too long (spectrogram_of) or the logits are not finite. Costs
/// one run of the encoder per window and one step of the decoder per id.
Transcript transcribe(Session& session, const TrainedModel& model, const Audio& audio,
                      const TranscribeOptions& options = {});
/// Same as transcribe(), for files, which are read with read_audio(). The files are distributed
/// over the ranks of the session's World. Errors about a recording contain its path.
std::vector<Transcript> transcribe_files(Session& session, const TrainedModel& model,
                                         const std::vector<std::string>& paths,
                                         const TranscribeOptions& options = {});

/// Formats of subtitles: SubRip and WebVTT.
enum class SubtitleFormat : std::uint8_t { srt, vtt };
inline constexpr std::array<std::string_view, 2> kSubtitleFormats = {"srt", "vtt"};
inline ChoiceNames choice_names(SubtitleFormat) { return {"format", kSubtitleFormats}; }
/// Returns the segments of a transcript as a file of subtitles.
std::string subtitles(const Transcript& transcript, SubtitleFormat format);

}  // namespace weft
