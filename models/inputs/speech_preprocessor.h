// Audio preprocessing settings in Hugging Face folders.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "weft/models/audio/log_mel.h"

namespace WEFT_API weft {

/// Returns the settings of WhisperFeatureExtractor in `text`, the contents of the
/// preprocessor_config.json at `path`, for a model that reads `mel_bins` rows. Missing keys have
/// the defaults of that class; an empty text means that there is no file. Keys that affect the
/// spectrogram and are not supported (dither, padding_side) cause an ArgumentError that names the
/// key; so do unknown keys, and a feature_size other than `mel_bins`. Throws FormatError if the
/// file is invalid.
LogMelOptions read_speech_preprocessor(std::string_view text, const std::string& path,
                                       std::int64_t mel_bins);

/// Returns a preprocessor_config.json with which transformers computes the same spectrograms.
std::string speech_preprocessor_json(const LogMelOptions& options);

}  // namespace weft
