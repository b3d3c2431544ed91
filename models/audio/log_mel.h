// Log-mel spectrograms, the inputs of speech recognition.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/tensor.h"
#include "weft/models/fields/field_list.h"

namespace WEFT_API weft {

/// How recordings are converted to log-mel spectrograms. The defaults are those of Whisper
/// (WhisperFeatureExtractor in Hugging Face transformers).
struct LogMelOptions {
  std::int64_t mel_bins = 80;       // rows of a spectrogram (feature_size)
  std::int64_t rate = 16000;        // samples per second (sampling_rate)
  std::int64_t n_fft = 400;         // samples per frame
  std::int64_t hop = 160;           // samples between frames (hop_length)
  std::int64_t chunk_seconds = 30;  // shorter recordings are padded (chunk_length)
  double padding_value = 0;         // value of the samples that are added

  std::int64_t chunk_samples() const { return chunk_seconds * rate; }
  /// Throws an ArgumentError that names the field, its value and the allowed values.
  void check() const;
  static const FieldList<LogMelOptions>& fields();
  std::string to_json() const { return fields().to_json(*this); }
  /// Throws FormatError if a field is missing, unknown or has the wrong type, and ArgumentError
  /// under the same conditions as check().
  static LogMelOptions from_json(std::string_view json) { return fields().from_json(json); }
  friend bool operator==(const LogMelOptions&, const LogMelOptions&) = default;
};

/// Returns the mel filters, one row of n_fft / 2 + 1 weights per bin: triangles between 0 and 8000
/// Hz on Slaney's mel scale (linear below 1000 Hz, logarithmic above), each with the area 1 (Slaney
/// 1998, "Auditory Toolbox").
std::vector<double> mel_filters(const LogMelOptions& options);

/// Returns the log-mel spectrogram of `samples`, f32 [mel_bins, n / hop] for n samples (and an even
/// n_fft). Frame t covers the n_fft samples around t * hop; the samples are continued at both ends
/// by reflection. With a periodic Hann window w, the power spectrum P = |DFT(w x)|^2 and the
/// filters M, the values are
///   l = log10(max(M P, 1e-10)),  (max(l, max over the spectrogram of l - 8) + 4) / 4.
/// Everything is computed in double precision, so that the values of quiet bins are accurate, too.
/// Costs O(n_fft log n_fft) per frame. Throws ArgumentError if there are fewer than `hop` samples
/// or the options are invalid.
Tensor log_mel(std::span<const float> samples, const LogMelOptions& options = {});

/// Same as log_mel(), for the recording padded to at least options.chunk_samples().
Tensor padded_log_mel(std::span<const float> samples, const LogMelOptions& options = {});

}  // namespace weft
