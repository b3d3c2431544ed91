#include "weft/models/tasks/next_token/text_task.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "weft/models/data/batching/shuffle.h"
#include "weft/models/training/run_distributed.h"
#include "weft/models/training/trainable.h"
#include "weft/models/training/weighted_mean.h"

namespace weft {

TextParts split_text(std::string_view text, double validation_fraction) {
  // Continuation bytes of UTF-8 begin with the bits 10.
  const auto begins = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; };
  const std::int64_t characters = std::count_if(text.begin(), text.end(), begins);
  std::int64_t left = training_part(characters, validation_fraction);
  std::size_t end = 0;
  for (; end < text.size(); ++end) {
    if (begins(text[end]) && left-- == 0) break;
  }
  return {text.substr(0, end), text.substr(end)};
}

double LanguageData::bits_per_byte(double loss) const {
  return weft::bits_per_byte(loss, ids.validation_size(), validation_bytes);
}

LanguageData read_text(const LanguageModel& model, std::string_view text) {
  const Tokenizer& tokenizer = model.tokenizer;
  const double fraction = model.settings.validation_fraction;
  const TextParts parts = split_text(text, fraction);
  const std::int64_t bytes = std::ssize(parts.validation);
  // Encode the text as a whole, so that errors report the positions of unknown characters.
  if (tokenizer.reads_characters()) return {TextData(tokenizer.encode(text), fraction), bytes};
  return {TextData(tokenizer.encode(parts.train),
                   tokenizer.encode(parts.validation, TextPlace::middle)),
          bytes};
}

LanguageData read_tokens(const LanguageModel& model, std::span<const TokenSource> sources) {
  std::vector<WeightedPart> train;
  std::vector<TokenPart> validation;
  std::int64_t bytes = 0;
  for (const TokenSource& source : sources) {
    require_tokenizer(source.set, model.tokenizer, "the model");
    TokenSplit split = split_tokens(source.set, model.settings.validation_fraction);
    train.push_back({std::move(split.train), source.weight});
    validation.push_back(std::move(split.validation));
    bytes += split.validation_bytes;
  }
  return {TextData(std::move(train), std::move(validation)), bytes};
}

double validation_loss(Session& session, const Program& evaluate, const TextData& data,
                       std::int64_t batch, std::int64_t window, std::int64_t batches) {
  const ConsecutiveWindows windows = data.validation_windows(batch, window);
  WeightedMean mean;
  const std::vector<std::int64_t> places = evenly_spread(windows.size(), batches);
  const auto batch_at = [&](std::int64_t i) {
    return windows[places[static_cast<std::size_t>(i)]];
  };
  run_distributed(
      session, evaluate, std::ssize(places),
      [&](std::int64_t i) -> NamedTensors {
        const TokenBatch part = batch_at(i);
        return {{"tokens", part.inputs}, {"targets", part.targets}};
      },
      [&](std::int64_t i, const Results& results) {
        mean.add(results["loss"].item<float>(), static_cast<double>(batch_at(i).tokens()));
      });
  return mean.value();
}

TrainTask text_task(Session& session, const LanguageModel& model, const TextData& data,
                    std::int64_t window) {
  const TrainSettings settings = model.settings;
  TrainTask task = train_task(model, "tokens", [&data, window, settings](const BatchPart& part) {
    const TokenBatch batch = data.random_windows(settings.batch, window, settings.seed, part);
    return TrainBatch{{{"tokens", batch.inputs}, {"targets", batch.targets}}, batch.tokens()};
  });
  if (data.predictions() > 0) {
    task.evaluate = [&session, &model, &data, window, settings](bool whole) {
      return Evaluation{validation_loss(session, model.program("evaluate"), data,
                                        settings.shard_batch(), window,
                                        whole ? 0 : settings.eval_shards())};
    };
  }
  return task;
}

TrainTask text_task(Session& session, const LanguageModel& model, const LanguageData& data,
                    std::int64_t window) {
  TrainTask task = text_task(session, model, data.ids, window);
  if (task.evaluate) {
    task.evaluate = [&data, measure = task.evaluate](bool whole) {
      Evaluation found = measure(whole);
      found.metrics.push_back({kBitsPerByte, data.bits_per_byte(found.loss)});
      return found;
    };
  }
  return task;
}

}  // namespace weft
