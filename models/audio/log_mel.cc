#include "weft/models/audio/log_mel.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>
#include <unsupported/Eigen/FFT>

#include "weft/core/error.h"
#include "weft/models/audio/audio_file.h"
#include "weft/models/fields/check.h"

namespace weft {
namespace {

constexpr double kHighestHertz = 8000, kMelFloor = 1e-10;

// Slaney's mel scale: 3 mels per 200 Hz up to 1000 Hz, then 27 mels per factor of 6.4.
double mel_of(double hertz) {
  return hertz < 1000 ? 3 * hertz / 200 : 15 + std::log(hertz / 1000) * 27 / std::log(6.4);
}
double hertz_of(double mel) {
  return mel < 15 ? 200 * mel / 3 : 1000 * std::exp(std::log(6.4) / 27 * (mel - 15));
}

/// Returns value i of a sequence of `count` values that is continued by reflection.
float reflected(std::span<const float> samples, std::int64_t i) {
  const std::int64_t period = 2 * (std::ssize(samples) - 1);
  if (period == 0) return samples.front();
  i %= period;
  if (i < 0) i += period;
  return samples[static_cast<std::size_t>(std::min(i, period - i))];
}

}  // namespace

void LogMelOptions::check() const {
  check::at_least("mel_bins", mel_bins, 1);
  check::at_least("rate", rate, 2);
  check::at_least("n_fft", n_fft, 2);
  check::at_least("hop", hop, 1);
  check::at_least("chunk_seconds", chunk_seconds, 1);
  check::at_most({{"mel_bins", mel_bins, 4096},
                  {"rate", rate, 768000},
                  {"n_fft", n_fft, 1 << 16},
                  {"chunk_seconds", chunk_seconds, 3600}});
  check::at_most(
      {{"chunk_seconds", chunk_seconds, kMaxAudioFrames / rate}, {"hop", hop, chunk_samples()}});
  check::at_most({{"mel_bins", mel_bins, kMaxAudioFrames / (chunk_samples() / hop)}});
  if (!std::isfinite(padding_value))
    throw ArgumentError(fmt::format("padding_value must be a number, not {}", padding_value));
}

const FieldList<LogMelOptions>& LogMelOptions::fields() {
  static const auto list =
      FieldList<LogMelOptions>("the log-mel settings")
          .add("mel_bins", &LogMelOptions::mel_bins, "rows of a spectrogram")
          .add("rate", &LogMelOptions::rate, "samples per second")
          .add("n_fft", &LogMelOptions::n_fft, "samples per frame")
          .add("hop", &LogMelOptions::hop, "samples between frames")
          .add("chunk_seconds", &LogMelOptions::chunk_seconds, "shorter recordings are padded")
          .add("padding_value", &LogMelOptions::padding_value, "value of padding samples");
  return list;
}

std::vector<double> mel_filters(const LogMelOptions& o) {
  o.check();
  const std::int64_t bins = o.n_fft / 2 + 1;
  std::vector<double> edges;  // filter m rises from edge m to m + 1 and falls to edge m + 2
  for (std::int64_t m = 0; m < o.mel_bins + 2; ++m)
    edges.push_back(hertz_of(mel_of(kHighestHertz) * static_cast<double>(m) /
                             static_cast<double>(o.mel_bins + 1)));
  std::vector<double> filters;
  for (std::size_t m = 0; m < static_cast<std::size_t>(o.mel_bins); ++m) {
    const double low = edges[m], top = edges[m + 1], high = edges[m + 2];
    for (std::int64_t k = 0; k < bins; ++k) {
      const double hertz =
          static_cast<double>(o.rate / 2) * static_cast<double>(k) / static_cast<double>(bins - 1);
      const double weight = std::min((hertz - low) / (top - low), (high - hertz) / (high - top));
      filters.push_back(std::max(weight, 0.0) * 2 / (high - low));
    }
  }
  return filters;
}

Tensor log_mel(std::span<const float> samples, const LogMelOptions& o) {
  const std::vector<double> filters = mel_filters(o);
  const std::int64_t count = std::ssize(samples), half = o.n_fft / 2, bins = half + 1;
  // The frame after the last one is dropped, as in the original.
  const std::int64_t frames = (count + 2 * half - o.n_fft) / o.hop;
  if (count < 1 || frames < 1)
    throw ArgumentError(
        fmt::format("a spectrogram needs at least {} samples, not {}", o.hop, count));
  std::vector<double> window;
  for (std::int64_t i = 0; i < o.n_fft; ++i)
    window.push_back(0.5 - 0.5 * std::cos(2 * std::numbers::pi * static_cast<double>(i) /
                                          static_cast<double>(o.n_fft)));
  std::vector<double> values(static_cast<std::size_t>(o.mel_bins * frames));
  Eigen::FFT<double> fft;
  std::vector<double> frame(static_cast<std::size_t>(o.n_fft)),
      power(static_cast<std::size_t>(bins));
  std::vector<std::complex<double>> spectrum;
  for (std::int64_t t = 0; t < frames; ++t) {
    const std::int64_t first = t * o.hop - half;
    const bool inside = first >= 0 && first + o.n_fft <= count;
    for (std::int64_t i = 0; i < o.n_fft; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const float x =
          inside ? samples[static_cast<std::size_t>(first + i)] : reflected(samples, first + i);
      frame[at] = window[at] * static_cast<double>(x);
    }
    fft.fwd(spectrum, frame);
    for (std::size_t k = 0; k < power.size(); ++k) power[k] = std::norm(spectrum[k]);
    const double* filter = filters.data();
    for (std::int64_t m = 0; m < o.mel_bins; ++m) {
      double sum = 0;
      for (const double p : power) sum += *filter++ * p;
      values[static_cast<std::size_t>(m * frames + t)] = std::log10(std::max(sum, kMelFloor));
    }
  }
  const double least = *std::max_element(values.begin(), values.end()) - 8;
  Tensor result = Tensor::empty(DType::f32, {o.mel_bins, frames});
  std::transform(values.begin(), values.end(), result.mutable_data<float>(),
                 [&](double v) { return static_cast<float>((std::max(v, least) + 4) / 4); });
  return result;
}

Tensor padded_log_mel(std::span<const float> samples, const LogMelOptions& options) {
  options.check();
  if (std::ssize(samples) >= options.chunk_samples()) return log_mel(samples, options);
  std::vector<float> padded(samples.begin(), samples.end());
  padded.resize(static_cast<std::size_t>(options.chunk_samples()),
                static_cast<float>(options.padding_value));
  return log_mel(padded, options);
}

}  // namespace weft
