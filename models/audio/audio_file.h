// Reads WAV and FLAC files.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// A recording with one channel.
struct Audio {
  std::vector<float> samples;  // usually in [-1, 1]
  std::int64_t rate = 16000;   // samples per second

  double seconds() const { return static_cast<double>(samples.size()) / static_cast<double>(rate); }
};

/// Limits for decoded files. They are necessary because a FLAC file of a few bytes may contain
/// hours of silence.
inline constexpr std::int64_t kMaxAudioFrames = std::int64_t{1} << 28;  // 4.6 hours at 16 kHz
inline constexpr int kMaxAudioChannels = 32;
inline constexpr int kMinAudioRate = 1000, kMaxAudioRate = 768000;

/// Decodes a WAV file (also RF64; PCM, float, A-law, mu-law, ADPCM) or a FLAC file with libsndfile.
/// Integers are divided by 2^(bits - 1). The result is the mean of the channels. `name` identifies
/// the source of the bytes in error messages. Programs that write a WAV file to a pipe declare the
/// length 0xFFFFFFFF or 0x7FFFF000; the samples then end at the end of the bytes. Throws
/// FormatError if the bytes are in another format, truncated or damaged, if there are no samples,
/// if a sample is NaN or infinite, or if one of the limits above is exceeded.
Audio decode_audio(std::string_view bytes, std::string_view name);

/// Decodes an audio file as decode_audio() does. Also throws IoError.
Audio read_audio(const std::string& path);

}  // namespace weft
