#include "weft/models/tasks/speech/recordings.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "weft/core/error.h"
#include "weft/models/audio/resample.h"
#include "weft/models/tasks/speech/speech_ids.h"

namespace weft {

Tensor spectrogram_of(const Audio& audio, const LogMelOptions& options) {
  if (audio.seconds() * static_cast<double>(options.rate) > static_cast<double>(kMaxAudioFrames))
    throw DataError(fmt::format(
        "the recording has {:.0f} seconds: at {} samples per second, these are more than the "
        "supported {} samples: split it",
        audio.seconds(), options.rate, kMaxAudioFrames));
  return padded_log_mel(resample(audio.samples, audio.rate, options.rate), options);
}

Tensor spectrogram_window(const Tensor& spectrogram, std::int64_t first, std::int64_t count) {
  const std::int64_t bins = spectrogram.size(0), frames = spectrogram.size(1);
  Tensor window = Tensor::zeros(DType::f32, {1, bins, count});
  auto* out = window.mutable_data<float>();
  const std::int64_t copied = std::min(count, frames - first);
  for (std::int64_t b = 0; b < bins; ++b)
    std::copy_n(spectrogram.data<float>() + b * frames + first, copied, out + b * count);
  return window;
}

std::vector<TextPair> read_recordings(const std::string& path) {
  std::vector<TextPair> pairs = read_text_pairs(path);
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  for (TextPair& pair : pairs) pair.source = (folder / pair.source).string();
  return pairs;
}

Recordings::Recordings(const SpeechModel& model, std::vector<TextPair> files,
                       const SpeechTarget& target)
    : model_(model), files_(std::move(files)) {
  const std::int64_t end_id = model.generation.options.eos_id;
  if (end_id < 0)
    throw ArgumentError("the model has no end id: set eos_token_id in generation_config.json");
  const TokenIds start = speech_start(model, target.language, target.task, false);
  const double longest = static_cast<double>(model.config.frames() * model.features.hop) /
                         static_cast<double>(model.features.rate);
  for (const TextPair& file : files_) {
    const double seconds = read_audio(file.source).seconds();
    if (seconds > longest)
      throw DataError(
          fmt::format("{}: the recording has {:.2f} seconds, but the model reads at "
                      "most {:.2f}: split it",
                      file.source, seconds, longest));
    seconds_ += seconds;
    TokenIds& ids = labels_.emplace_back(start.begin() + 1, start.end());
    const TokenIds text = speech_text_ids(model, file.target);
    ids.insert(ids.end(), text.begin(), text.end());
    ids.push_back(end_id);
    if (std::ssize(ids) > model.config.context)
      throw DataError(
          fmt::format("{}: the text has {} tokens, but the model has {} positions: "
                      "split the recording",
                      file.source, ids.size(), model.config.context));
  }
}

NamedTensors Recordings::batch(std::span<const std::int64_t> indices) const {
  const EncoderDecoderConfig& c = model_.config;
  const std::int64_t rows = std::ssize(indices), frames = c.frames();
  std::int64_t length = 0;
  for (const std::int64_t i : indices)
    length = std::max(length, std::ssize(labels_[static_cast<std::size_t>(i)]));
  Tensor spectrograms = Tensor::zeros(DType::f32, {rows, c.mel_bins, frames});
  Tensor labels = Tensor::full(DType::i32, {rows, length}, -100);
  auto* values = spectrograms.mutable_data<float>();
  auto* ids = labels.mutable_data<std::int32_t>();
  for (const std::int64_t i : indices) {
    const auto at = static_cast<std::size_t>(i);
    const Tensor read = spectrogram_of(read_audio(files_[at].source), model_.features);
    const Tensor window = spectrogram_window(read, 0, frames);
    values = std::copy_n(window.data<float>(), window.numel(), values);
    std::transform(labels_[at].begin(), labels_[at].end(), ids,
                   [](std::int64_t id) { return static_cast<std::int32_t>(id); });
    ids += length;
  }
  return {{"spectrograms", spectrograms}, {"labels", labels}};
}

std::int64_t Recordings::labels(std::span<const std::int64_t> indices) const {
  std::int64_t count = 0;
  for (const std::int64_t i : indices) count += std::ssize(labels_[static_cast<std::size_t>(i)]);
  return count;
}

}  // namespace weft
