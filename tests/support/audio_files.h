// Audio files for tests, made with libsndfile.
#pragma once

#include <sndfile.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <numbers>
#include <stdexcept>
#include <string>
#include <vector>

namespace weft::testing {

/// Returns a sine.
inline std::vector<float> tone(double hertz, double seconds, int rate, double amplitude = 0.5) {
  std::vector<float> samples(static_cast<std::size_t>(std::llround(seconds * rate)));
  for (std::size_t i = 0; i < samples.size(); ++i)
    samples[i] = static_cast<float>(
        amplitude * std::sin(2 * std::numbers::pi * hertz * static_cast<double>(i) / rate));
  return samples;
}

/// Returns an audio file. `format` is, for example, SF_FORMAT_WAV | SF_FORMAT_PCM_16. The samples
/// of several channels are interleaved.
inline std::string audio_file(const std::vector<float>& samples, int rate,
                              int format = SF_FORMAT_WAV | SF_FORMAT_PCM_16, int channels = 1) {
  struct File {
    std::string bytes;
    sf_count_t at = 0;
    static File& of(void* data) { return *static_cast<File*>(data); }
  } file;
  SF_VIRTUAL_IO io = {};
  io.get_filelen = [](void* data) { return static_cast<sf_count_t>(File::of(data).bytes.size()); };
  io.seek = [](sf_count_t offset, int whence, void* data) {
    File& f = File::of(data);
    const sf_count_t size = static_cast<sf_count_t>(f.bytes.size());
    return f.at = offset + (whence == SEEK_SET ? 0 : whence == SEEK_CUR ? f.at : size);
  };
  io.read = [](void* out, sf_count_t count, void* data) {
    File& f = File::of(data);
    count = std::min<sf_count_t>(count, static_cast<sf_count_t>(f.bytes.size()) - f.at);
    std::memcpy(out, f.bytes.data() + f.at, static_cast<std::size_t>(count));
    f.at += count;
    return count;
  };
  io.write = [](const void* in, sf_count_t count, void* data) {
    File& f = File::of(data);
    const auto end = static_cast<std::size_t>(f.at + count);
    if (f.bytes.size() < end) f.bytes.resize(end);
    std::memcpy(f.bytes.data() + f.at, in, static_cast<std::size_t>(count));
    f.at += count;
    return count;
  };
  io.tell = [](void* data) { return File::of(data).at; };
  SF_INFO info = {};
  info.samplerate = rate;
  info.channels = channels;
  info.format = format;
  SNDFILE* out = sf_open_virtual(&io, SFM_WRITE, &info, &file);
  if (out == nullptr) throw std::runtime_error(sf_strerror(nullptr));
  sf_write_float(out, samples.data(), static_cast<sf_count_t>(samples.size()));
  sf_close(out);
  return file.bytes;
}

}  // namespace weft::testing
