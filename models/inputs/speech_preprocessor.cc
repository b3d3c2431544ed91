#include "weft/models/inputs/speech_preprocessor.h"

#include <fmt/format.h>

#include "weft/core/error.h"
#include "weft/models/hf/config_reader.h"
#include "weft/models/hf/config_writer.h"

namespace weft {
namespace {

constexpr const char* kExtractor = "WhisperFeatureExtractor";

/// The keys of the settings, for reading and writing.
template <class Config>
void log_mel_keys(Config& config, LogMelOptions& o) {
  config.field("feature_size", o.mel_bins)
      .field("sampling_rate", o.rate)
      .field("n_fft", o.n_fft)
      .field("hop_length", o.hop)
      .field("chunk_length", o.chunk_seconds)
      .field("padding_value", o.padding_value);
}

}  // namespace

LogMelOptions read_speech_preprocessor(std::string_view text, const std::string& path,
                                       std::int64_t mel_bins) {
  LogMelOptions options;
  if (text.empty()) {
    options.mel_bins = mel_bins;
    return options;
  }
  hf::ConfigReader config(text, path);
  const std::string extractor = config.text("feature_extractor_type");
  if (!extractor.empty() && extractor != kExtractor)
    throw ArgumentError(fmt::format("{}: the feature extractor {} is not supported; supported: {}",
                                    path, extractor, kExtractor));
  log_mel_keys(config, options);
  config.fixed("dither", 0.0, "random noise on the samples is not supported")
      .fixed("padding_side", "right", "recordings are padded at the end")
      // Sizes and filters that follow from the other keys, and masks, which Whisper does not read.
      .ignore({"feature_extractor_type", "processor_class", "mel_filters", "n_samples",
               "nb_max_frames", "return_attention_mask", "do_normalize", "return_tensors"})
      .finish("the spectrogram");
  try {
    options.check();
  } catch (const ArgumentError& e) {
    throw FormatError(fmt::format("{}: {}", path, e.what()));
  }
  if (options.mel_bins != mel_bins)
    throw ArgumentError(
        fmt::format("{}: feature_size is {}, but the model requires {} (num_mel_bins in "
                    "config.json)",
                    path, options.mel_bins, mel_bins));
  return options;
}

std::string speech_preprocessor_json(const LogMelOptions& options) {
  hf::ConfigWriter config;
  config.field("feature_extractor_type", kExtractor)
      .field("processor_class", "WhisperProcessor")
      .field("padding_side", "right")
      .field("return_attention_mask", false)
      .field("dither", 0.0)
      .field("n_samples", options.chunk_samples())
      .field("nb_max_frames", options.chunk_samples() / options.hop);
  LogMelOptions written = options;
  log_mel_keys(config, written);
  return config.object().dump(2) + "\n";
}

}  // namespace weft
