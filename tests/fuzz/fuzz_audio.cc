// Fuzzes WAV and FLAC files. For any bytes, decode_audio() returns finite samples within the
// documented limits or throws FormatError.
#include <cmath>
#include <cstdlib>

#include "weft/core/error.h"
#include "weft/models/audio/audio_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const weft::Audio audio =
        weft::decode_audio({reinterpret_cast<const char*>(data), size}, "fuzz");
    if (audio.samples.empty() || std::ssize(audio.samples) > weft::kMaxAudioFrames) std::abort();
    if (audio.rate < weft::kMinAudioRate || audio.rate > weft::kMaxAudioRate) std::abort();
    for (const float sample : audio.samples) {
      if (!std::isfinite(sample)) std::abort();
    }
  } catch (const weft::FormatError&) {  // the documented error for a malformed file
  }
  return 0;
}
