// WAV and FLAC files, the sample rate, and log-mel spectrograms.
#include <fmt/format.h>

#include <boost/test/unit_test.hpp>
#include <complex>
#include <cstring>
#include <fstream>

#include "weft/core/error.h"
#include "weft/models/audio/audio_file.h"
#include "weft/models/audio/log_mel.h"
#include "weft/models/audio/resample.h"
#include "weft/models/inputs/speech_preprocessor.h"
#include "weft/serialization/files/read_file.h"
#include "weft/tests/support/audio_files.h"
#include "weft/tests/support/messages.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(audio)
namespace {

using testing::audio_file;
using testing::says;
using testing::tone;

double worst_difference(std::span<const float> a, std::span<const float> b) {
  BOOST_REQUIRE(a.size() == b.size());
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    worst = std::max(worst, std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
  return worst;
}

std::vector<float> read_floats(const std::string& name) {
  const std::string bytes = read_whole_file(std::string(WEFT_FIXTURES) + "/audio/" + name);
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

/// Replaces bytes of a file.
std::string with_bytes(std::string file, std::size_t at, std::string_view bytes) {
  return file.replace(at, bytes.size(), bytes);
}

void rejects(const std::string& bytes, const std::string& message) {
  BOOST_CHECK_EXCEPTION(decode_audio(bytes, "b.wav"), FormatError, says("b.wav: " + message));
}

}  // namespace

BOOST_AUTO_TEST_CASE(wav_and_flac_files_are_read_with_the_precision_of_their_format) {
  const std::vector<float> samples = tone(440, 0.05, 8000);
  struct Format {
    int format;
    double precision;
  };
  for (const auto& [format, precision] : {Format{SF_FORMAT_WAV | SF_FORMAT_PCM_U8, 1.0 / 127},
                                          {SF_FORMAT_WAV | SF_FORMAT_PCM_16, 1.0 / 32767},
                                          {SF_FORMAT_WAV | SF_FORMAT_PCM_24, 1e-6},
                                          {SF_FORMAT_WAV | SF_FORMAT_PCM_32, 1e-7},
                                          {SF_FORMAT_WAV | SF_FORMAT_FLOAT, 0},
                                          {SF_FORMAT_WAV | SF_FORMAT_DOUBLE, 0},
                                          {SF_FORMAT_WAV | SF_FORMAT_ULAW, 0.02},
                                          {SF_FORMAT_WAV | SF_FORMAT_ALAW, 0.02},
                                          {SF_FORMAT_WAV | SF_FORMAT_FLOAT | SF_ENDIAN_BIG, 0},
                                          {SF_FORMAT_RF64 | SF_FORMAT_PCM_16, 1.0 / 32767},
                                          {SF_FORMAT_FLAC | SF_FORMAT_PCM_16, 1.0 / 32767},
                                          {SF_FORMAT_FLAC | SF_FORMAT_PCM_24, 1e-6}}) {
    BOOST_TEST_CONTEXT(fmt::format("format {:x}", format)) {
      const Audio audio = decode_audio(audio_file(samples, 8000, format), "a");
      BOOST_TEST(audio.rate == 8000);
      BOOST_TEST(audio.seconds() == 0.05, boost::test_tools::tolerance(1e-12));
      BOOST_TEST(worst_difference(audio.samples, samples) <= precision);
    }
  }
}

BOOST_AUTO_TEST_CASE(channels_are_averaged) {
  for (const int channels : {1, 2, 6, kMaxAudioChannels}) {
    std::vector<float> samples;
    for (int i = 0; i < 50; ++i) {
      for (int c = 0; c < channels; ++c) samples.push_back(static_cast<float>(i + c) / 128);
    }
    for (const int format : {SF_FORMAT_WAV | SF_FORMAT_FLOAT, SF_FORMAT_FLAC | SF_FORMAT_PCM_16}) {
      if (format != (SF_FORMAT_WAV | SF_FORMAT_FLOAT) && channels > 8) continue;
      const Audio audio = decode_audio(audio_file(samples, 16000, format, channels), "a");
      BOOST_REQUIRE(audio.samples.size() == 50U);
      BOOST_TEST(std::abs(audio.samples[49] - (49 + (channels - 1) / 2.0) / 128) < 1e-4);
    }
  }
}

BOOST_AUTO_TEST_CASE(the_length_of_wav_files_from_pipes_is_that_of_the_bytes) {
  const std::string file = audio_file(tone(300, 0.01, 16000), 16000);
  const std::size_t data = file.find("data");
  for (const char* length : {"\xff\xff\xff\xff", "\x00\xf0\xff\x7f"}) {
    const std::string piped = with_bytes(file, data + 4, {length, 4});
    BOOST_TEST(decode_audio(piped, "a").samples.size() == 160U);
  }
}

BOOST_AUTO_TEST_CASE(truncated_files_are_rejected_at_every_length) {
  for (const int format : {SF_FORMAT_WAV | SF_FORMAT_PCM_16, SF_FORMAT_RF64 | SF_FORMAT_PCM_16,
                           SF_FORMAT_WAV | SF_FORMAT_FLOAT, SF_FORMAT_FLAC | SF_FORMAT_PCM_16}) {
    const std::string file = audio_file(tone(440, 0.02, 16000), 16000, format);
    std::size_t accepted = 0;
    for (std::size_t size = 0; size < file.size(); ++size) {
      try {
        decode_audio(file.substr(0, size), "cut.wav");
        ++accepted;
      } catch (const FormatError& e) {
        BOOST_TEST(std::string(e.what()).starts_with("cut.wav: "));
      }
    }
    BOOST_TEST(accepted == 0U, fmt::format("format {:x}", format));
  }
}

BOOST_AUTO_TEST_CASE(damaged_and_hostile_audio_files_are_rejected_by_name) {
  const std::string wav = audio_file(tone(440, 0.02, 16000), 16000);
  const std::string flac =
      audio_file(tone(440, 0.02, 16000), 16000, SF_FORMAT_FLAC | SF_FORMAT_PCM_16);
  const std::size_t data = wav.find("data");
  rejects("", "not a WAV or FLAC file: convert it to one of them");
  rejects("ID3 mp3", "not a WAV or FLAC file: convert it to one of them");
  rejects(wav.substr(0, data), "the WAV file has no samples: it contains no chunk 'data'");
  rejects(with_bytes(wav, data + 4, {"\xf0\xff\xff\x7f", 4}),
          fmt::format("the file is truncated: the chunk at byte {} has 2147483632 bytes, but only "
                      "640 follow",
                      data));
  rejects(with_bytes(wav, 16, {"\xff\xff\xff\xff", 4}),
          "the file is truncated: the chunk at byte "
          "12 has 4294967295 bytes, but only");
  rejects(with_bytes(wav, 20, {"\x77\x77", 2}), "cannot be decoded: ");
  rejects(audio_file({}, 16000), "the file contains no samples");
  rejects(audio_file(tone(9, 0.1, 16000), 16000, SF_FORMAT_WAV | SF_FORMAT_PCM_16, 100),
          "the file has 100 channels; from 1 to 32 are supported");
  rejects(audio_file(tone(9, 1, 100), 100),
          "the file has 100 samples per second; from 1000 to 768000 are supported");
  for (const float bad : {NAN, INFINITY, -INFINITY}) {
    rejects(audio_file({0.5F, 0.25F, bad, 0}, 16000, SF_FORMAT_WAV | SF_FORMAT_FLOAT),
            "sample 2 is NaN or infinite");
  }
  // The number of samples in the header of a FLAC file has 36 bits, in the bytes 21 to 25.
  rejects(with_bytes(flac, 21, {"\xff\xff\xff\xff\xff", 5}),
          "the file declares 68719476735 samples per channel; at most 268435456 are supported: "
          "split the recording");
  rejects(with_bytes(flac, 22, {"\x00\x01\x00\x00", 4}),
          "the file is truncated: it declares 65536 samples per channel, but contains 320");
  const std::string damaged = with_bytes(flac, flac.size() - 20, "damage");
  BOOST_CHECK_EXCEPTION(decode_audio(damaged, "b.wav"), FormatError, says("b.wav: "));
  BOOST_CHECK_THROW(read_audio("/no/such.wav"), IoError);
}

BOOST_AUTO_TEST_CASE(resampled_tones_keep_their_frequency_and_amplitude) {
  for (const int from : {8000, 11025, 16000, 22050, 44100, 48000, 15999}) {
    for (const int to : {8000, 16000}) {
      const double hertz = 0.4 * std::min(from, to);
      const std::vector<float> found = resample(tone(hertz, 0.2, from), from, to);
      const std::vector<float> expected = tone(hertz, 0.2, to);
      BOOST_TEST(std::abs(std::ssize(found) - std::ssize(expected)) <= 1);
      double worst = 0;
      const std::size_t edge = 200;  // the filter reaches beyond both ends
      for (std::size_t i = edge; i + edge < expected.size(); ++i)
        worst = std::max(worst, std::abs(static_cast<double>(found[i] - expected[i])));
      BOOST_TEST(worst < 1e-5, fmt::format("{} to {}: {}", from, to, worst));
    }
  }
}

BOOST_AUTO_TEST_CASE(resampling_removes_frequencies_above_the_lower_nyquist_frequency) {
  for (const double hertz : {8100.0, 10000.0, 20000.0}) {
    const std::vector<float> found = resample(tone(hertz, 0.2, 48000), 48000, 16000);
    double worst = 0;
    for (std::size_t i = 200; i + 200 < found.size(); ++i)
      worst = std::max(worst, std::abs(static_cast<double>(found[i])));
    BOOST_TEST(worst < 1e-5, fmt::format("{}: {}", hertz, worst));
  }
}

BOOST_AUTO_TEST_CASE(resampling_returns_the_rounded_up_number_of_samples) {
  const std::vector<float> samples(100, 0.5F);
  BOOST_TEST(resample(samples, 16000, 16000) == samples);
  BOOST_TEST(resample(samples, 48000, 16000).size() == 34U);
  BOOST_TEST(resample(samples, 8000, 16000).size() == 200U);
  BOOST_TEST(resample(std::vector<float>{}, 8000, 16000).empty());
  BOOST_TEST(resample(std::vector<float>{1}, 48000, 16000).size() == 1U);
  // A constant stays constant away from the ends.
  const std::vector<float> constant = resample(std::vector<float>(2000, 0.5F), 44100, 16000);
  BOOST_TEST(std::abs(constant[constant.size() / 2] - 0.5F) < 1e-5F);
  BOOST_CHECK_EXCEPTION(resample(samples, 0, 16000), ArgumentError,
                        says("sample rates must be positive, not 0 and 16000"));
}

BOOST_AUTO_TEST_CASE(log_mel_spectrograms_equal_a_double_precision_implementation) {
  const std::vector<float> samples = read_floats("samples.f32");
  for (const int bins : {80, 128}) {
    LogMelOptions options;
    options.mel_bins = bins;
    const Tensor found = log_mel(samples, options);
    BOOST_TEST((found.sizes() == Sizes{bins, 25}));
    const std::vector<float> expected = read_floats(fmt::format("log_mel_{}.f32", bins));
    BOOST_TEST(worst_difference(found.span<float>(), expected) < 1e-6);
  }
}

// Other settings, among them odd transforms, against the definition.
BOOST_AUTO_TEST_CASE(log_mel_follows_its_definition_for_any_sizes) {
  struct Case {
    std::int64_t n_fft, hop, rate, bins, count;
  };
  for (const auto& [n_fft, hop, rate, bins, count] : {Case{400, 160, 16000, 6, 800},
                                                      {25, 10, 16000, 7, 101},
                                                      {64, 64, 8000, 5, 64},
                                                      {31, 7, 22050, 3, 40},
                                                      {400, 160, 16000, 8, 160},
                                                      {400, 100, 16000, 4, 500}}) {
    const LogMelOptions options{.mel_bins = bins, .rate = rate, .n_fft = n_fft, .hop = hop};
    std::vector<float> samples;
    for (std::int64_t i = 0; i < count; ++i)
      samples.push_back(static_cast<float>(std::sin(0.3 * static_cast<double>(i * i % 97))));
    const Tensor found = log_mel(samples, options);
    const std::vector<double> filters = mel_filters(options);
    const std::int64_t half = n_fft / 2, frames = (count + 2 * half - n_fft) / hop;
    BOOST_REQUIRE((found.sizes() == Sizes{bins, frames}));
    std::vector<double> values(static_cast<std::size_t>(bins * frames));
    double highest = -1e9;
    for (std::int64_t t = 0; t < frames; ++t) {
      std::vector<double> power;
      for (std::int64_t k = 0; k <= half; ++k) {
        std::complex<double> sum = 0;
        for (std::int64_t i = 0; i < n_fft; ++i) {
          std::int64_t at = t * hop - half + i;
          while (at < 0 || at >= count) at = at < 0 ? -at : 2 * (count - 1) - at;
          const double angle =
              2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(n_fft);
          sum += samples[static_cast<std::size_t>(at)] * (0.5 - 0.5 * std::cos(angle)) *
                 std::polar(1.0, -angle * static_cast<double>(k));
        }
        power.push_back(std::norm(sum));
      }
      for (std::int64_t m = 0; m < bins; ++m) {
        double sum = 0;
        for (std::size_t k = 0; k < power.size(); ++k)
          sum += power[k] * filters[static_cast<std::size_t>(m) * power.size() + k];
        double& value = values[static_cast<std::size_t>(m * frames + t)];
        value = std::log10(std::max(sum, 1e-10));
        highest = std::max(highest, value);
      }
    }
    double worst = 0;
    for (std::size_t i = 0; i < values.size(); ++i)
      worst = std::max(
          worst, std::abs(found.span<float>()[i] - (std::max(values[i], highest - 8) + 4) / 4));
    BOOST_TEST(worst < 1e-6, fmt::format("n_fft {}: {}", n_fft, worst));
  }
}

BOOST_AUTO_TEST_CASE(silence_and_short_recordings_have_finite_spectrograms) {
  const Tensor silence = log_mel(std::vector<float>(1600, 0.0F));
  for (const float value : silence.span<float>()) BOOST_TEST_REQUIRE(value == -1.5F);
  BOOST_TEST((log_mel(std::vector<float>(160, 0.5F)).sizes() == Sizes{80, 1}));
  const Tensor padded = padded_log_mel(std::vector<float>{0.5F});
  BOOST_TEST((padded.sizes() == Sizes{80, 3000}));
  LogMelOptions shifted;
  shifted.padding_value = 0.25;
  BOOST_TEST(!bitwise_equal(padded, padded_log_mel(std::vector<float>{0.5F}, shifted)));
  BOOST_CHECK_EXCEPTION(log_mel(std::vector<float>(159, 0.5F)), ArgumentError,
                        says("a spectrogram needs at least 160 samples, not 159"));
  BOOST_CHECK_EXCEPTION(log_mel(std::vector<float>{}), ArgumentError,
                        says("a spectrogram needs at least 160 samples, not 0"));
}

BOOST_AUTO_TEST_CASE(invalid_log_mel_settings_are_rejected_by_name) {
  const auto rejected = [](LogMelOptions options, const std::string& message) {
    BOOST_CHECK_EXCEPTION(options.check(), ArgumentError, says(message));
  };
  rejected({.mel_bins = 0}, "mel_bins");
  rejected({.rate = 1}, "rate");
  rejected({.n_fft = 1}, "n_fft");
  rejected({.hop = 0}, "hop");
  rejected({.chunk_seconds = 0}, "chunk_seconds");
  rejected({.rate = 768000, .chunk_seconds = 350}, "chunk_seconds must be at most 349, not 350");
  rejected({.n_fft = 1 << 17}, "n_fft must be at most 65536, not 131072");
  rejected({.hop = 16001, .chunk_seconds = 1}, "hop must be at most 16000, not 16001");
  rejected({.mel_bins = 4096, .hop = 1}, "mel_bins must be at most 559, not 4096");
  rejected({.padding_value = NAN}, "padding_value must be a number, not nan");
  const LogMelOptions options{.mel_bins = 12, .hop = 200, .padding_value = 0.5};
  BOOST_TEST((LogMelOptions::from_json(options.to_json()) == options));
}

BOOST_AUTO_TEST_CASE(preprocessor_keys_are_applied_or_rejected_by_name) {
  const std::string file = "preprocessor_config.json";
  const auto read = [&](const std::string& text, std::int64_t bins = 80) {
    return read_speech_preprocessor(text, file, bins);
  };
  BOOST_TEST((read("") == LogMelOptions()));
  BOOST_TEST((read("", 128).mel_bins == 128));
  BOOST_TEST((read("{}") == LogMelOptions()));
  const LogMelOptions other{80, 8000, 200, 80, 10, 0.5};
  BOOST_TEST((read(speech_preprocessor_json(other)) == other));
  BOOST_TEST((read(R"({"feature_extractor_type": "WhisperFeatureExtractor", "feature_size": 80,
    "sampling_rate": 8000, "n_fft": 200, "hop_length": 80, "chunk_length": 10,
    "padding_value": 0.5, "mel_filters": [[0.1]], "n_samples": 480000, "nb_max_frames": 3000,
    "return_attention_mask": true, "processor_class": "WhisperProcessor", "padding_side": "right",
    "dither": 0.0})") == other));
  const auto rejected = [&](const std::string& text, const std::string& message) {
    BOOST_CHECK_EXCEPTION(read(text), Error, says(message));
  };
  rejected(R"({"dither": 0.1})", file +
                                     ": dither is 0.1: random noise on the samples is not "
                                     "supported");
  rejected(R"({"padding_side": "left"})", file +
                                              ": padding_side is \"left\": recordings are "
                                              "padded at the end");
  rejected(R"({"feature_extractor_type": "Wav2Vec2FeatureExtractor"})",
           "the feature extractor Wav2Vec2FeatureExtractor is not supported; supported: "
           "WhisperFeatureExtractor");
  rejected(R"({"win_length": 320})", "unknown key win_length = 320");
  rejected(R"({"feature_size": 128})",
           file + ": feature_size is 128, but the model requires 80 (num_mel_bins in config.json)");
  rejected(R"({"hop_length": 0})", file + ": hop must be at least 1");
  rejected(R"({"hop_length": "a"})", "hop_length");
  rejected("[", file);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace weft
