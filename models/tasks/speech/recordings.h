// Recordings with their texts, for training and evaluating speech recognisers.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "weft/models/audio/audio_file.h"
#include "weft/models/data/formats/parallel_text.h"
#include "weft/models/tasks/speech/speech_model.h"
#include "weft/models/training/trainer.h"

namespace WEFT_API weft {

/// Returns the spectrogram of a recording at the sample rate of the options, padded as in
/// padded_log_mel(): f32 [mel_bins, frames]. Throws DataError if the recording has more than
/// kMaxAudioFrames samples at that rate.
Tensor spectrogram_of(const Audio& audio, const LogMelOptions& options);
/// Returns the frames [first, first + count) of a spectrogram [mel_bins, frames] as f32 [1,
/// mel_bins, count], with zeros after its end.
Tensor spectrogram_window(const Tensor& spectrogram, std::int64_t first, std::int64_t count);

/// Reads a file of lines "path <tab> text". Relative paths refer to the folder of the file. Throws
/// the same exceptions as read_text_pairs().
std::vector<TextPair> read_recordings(const std::string& path);

/// The language and the task of the texts; see speech_start().
struct SpeechTarget {
  std::string language = {}, task = {};
};

/// Recordings. Their files are read when a batch is made, because spectrograms are large.
class Recordings {
 public:
  /// Reads every file once. `files` are paths and texts; the model must outlive the object. Throws
  /// the same exceptions as read_audio(). Throws DataError, with the path, if a recording is longer
  /// than the window of the model or its text is longer than the decoder's context.
  Recordings(const SpeechModel& model, std::vector<TextPair> files, const SpeechTarget& target);

  std::int64_t count() const { return std::ssize(files_); }
  const std::vector<TextPair>& files() const { return files_; }
  double seconds() const { return seconds_; }  // of all recordings
  /// Returns the inputs "spectrograms" and "labels" for the recordings with these indices.
  NamedTensors batch(std::span<const std::int64_t> indices) const;
  /// Returns the number of labels in such a batch.
  std::int64_t labels(std::span<const std::int64_t> indices) const;

 private:
  const SpeechModel& model_;
  std::vector<TextPair> files_;
  std::vector<TokenIds> labels_;
  double seconds_ = 0;
};

}  // namespace weft
