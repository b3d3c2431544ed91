#include "weft/models/audio/audio_file.h"

#include <fmt/format.h>
#include <sndfile.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <memory>

#include "weft/core/error.h"
#include "weft/serialization/files/read_file.h"

namespace weft {
namespace {

[[noreturn]] void reject_audio(std::string_view name, std::string_view why) {
  throw FormatError(fmt::format("{}: {}", name, why));
}

std::uint64_t audio_integer(std::string_view bytes, std::size_t at, std::size_t count, bool big) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t place = big ? at + i : at + count - 1 - i;
    value = value << 8 | static_cast<unsigned char>(bytes[place]);
  }
  return value;
}

/// Throws FormatError unless a WAV file contains all bytes of its chunks up to the samples. This
/// check is necessary because libsndfile returns the available part of a truncated file as if it
/// were complete.
void check_wav(std::string_view bytes, std::string_view name) {
  constexpr std::uint64_t kUnknown = 0xFFFFFFFF, kUnknownToo = 0x7FFFF000;
  const bool big = bytes.starts_with("RIFX");
  std::uint64_t long_data = kUnknown;  // the length of the samples in a file with 64-bit lengths
  std::size_t at = 12;
  while (at + 8 <= bytes.size()) {
    const std::string_view id = bytes.substr(at, 4);
    std::uint64_t length = audio_integer(bytes, at + 4, 4, big);
    const std::size_t left = bytes.size() - at - 8;
    const bool data = id == "data";
    if (data && length == kUnknown) length = long_data;
    if (data && (length == kUnknown || length == kUnknownToo)) return;
    if (length > left)
      reject_audio(name,
                   fmt::format("the file is truncated: the chunk at byte {} has {} bytes, but "
                               "only {} follow",
                               at, length, left));
    if (data) return;
    if (id == "ds64" && length >= 16) long_data = audio_integer(bytes, at + 16, 8, big);
    at += 8 + static_cast<std::size_t>(length + (length & 1));
  }
  reject_audio(name, "the WAV file has no samples: it contains no chunk 'data'");
}

/// Access to bytes in memory for libsndfile.
struct AudioBytes {
  std::string_view bytes;
  sf_count_t at = 0;

  sf_count_t size() const { return static_cast<sf_count_t>(bytes.size()); }
  static AudioBytes& of(void* data) { return *static_cast<AudioBytes*>(data); }
  static SF_VIRTUAL_IO functions() {
    SF_VIRTUAL_IO io = {};
    io.get_filelen = [](void* data) { return of(data).size(); };
    io.seek = [](sf_count_t offset, int whence, void* data) {
      AudioBytes& b = of(data);
      const sf_count_t from = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? b.at : b.size();
      b.at = from + std::clamp<sf_count_t>(offset, -from, b.size() - from);
      return b.at;
    };
    io.read = [](void* out, sf_count_t count, void* data) {
      AudioBytes& b = of(data);
      count = std::clamp<sf_count_t>(count, 0, b.size() - b.at);
      std::memcpy(out, b.bytes.data() + b.at, static_cast<std::size_t>(count));
      b.at += count;
      return count;
    };
    io.write = [](const void*, sf_count_t, void*) { return sf_count_t{0}; };
    io.tell = [](void* data) { return of(data).at; };
    return io;
  }
};

}  // namespace

Audio decode_audio(std::string_view bytes, std::string_view name) {
  const bool wav =
      bytes.size() >= 12 && bytes.substr(8, 4) == "WAVE" &&
      (bytes.starts_with("RIFF") || bytes.starts_with("RIFX") || bytes.starts_with("RF64"));
  const bool flac = bytes.starts_with("fLaC");
  if (!wav && !flac) reject_audio(name, "not a WAV or FLAC file: convert it to one of them");
  if (wav) check_wav(bytes, name);
  AudioBytes source{bytes};
  SF_VIRTUAL_IO io = AudioBytes::functions();
  SF_INFO info = {};
  const std::unique_ptr<SNDFILE, int (*)(SNDFILE*)> file(
      sf_open_virtual(&io, SFM_READ, &info, &source), sf_close);
  if (file == nullptr)
    reject_audio(name, fmt::format("cannot be decoded: {}", sf_strerror(nullptr)));
  const auto check_range = [&](std::string_view what, std::int64_t value, std::int64_t least,
                               std::int64_t most) {
    if (value >= least && value <= most) return;
    reject_audio(name, fmt::format("the file has {} {}; from {} to {} are supported", value, what,
                                   least, most));
  };
  check_range("channels", info.channels, 1, kMaxAudioChannels);
  check_range("samples per second", info.samplerate, kMinAudioRate, kMaxAudioRate);
  // A FLAC file may not declare its length.
  const bool knows_length = info.frames < SF_COUNT_MAX && !(flac && info.frames == 0);
  const std::string most =
      fmt::format("; at most {} are supported: split the recording", kMaxAudioFrames);
  if (knows_length && info.frames > kMaxAudioFrames)
    reject_audio(name,
                 fmt::format("the file declares {} samples per channel{}", info.frames, most));
  Audio audio;
  audio.rate = info.samplerate;
  constexpr sf_count_t kBlock = 4096;
  const auto channels = static_cast<std::size_t>(info.channels);
  std::vector<float> block(static_cast<std::size_t>(kBlock) * channels);
  while (const sf_count_t count = sf_readf_float(file.get(), block.data(), kBlock)) {
    if (count < 0) break;
    if (std::ssize(audio.samples) + count > kMaxAudioFrames)
      reject_audio(name, "the file has too many samples per channel" + most);
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
      double sum = 0;
      for (std::size_t c = 0; c < channels; ++c) sum += block[i * channels + c];
      if (!std::isfinite(sum))
        reject_audio(name, fmt::format("sample {} is NaN or infinite", audio.samples.size()));
      audio.samples.push_back(static_cast<float>(sum / static_cast<double>(channels)));
    }
  }
  if (sf_error(file.get()) != SF_ERR_NO_ERROR)
    reject_audio(name, fmt::format("cannot be decoded after sample {}: {}", audio.samples.size(),
                                   sf_strerror(file.get())));
  if (knows_length && std::ssize(audio.samples) != info.frames)
    reject_audio(name, fmt::format("the file is truncated: it declares {} samples per channel, but "
                                   "contains {}",
                                   info.frames, audio.samples.size()));
  if (audio.samples.empty()) reject_audio(name, "the file contains no samples");
  return audio;
}

Audio read_audio(const std::string& path) { return decode_audio(read_whole_file(path), path); }

}  // namespace weft
