#include "weft/models/tasks/seq2seq/denoising_task.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "weft/core/error.h"
#include "weft/models/data/batching/shuffle.h"
#include "weft/models/data/batching/token_rows.h"
#include "weft/models/data/rng.h"
#include "weft/models/training/run_distributed.h"
#include "weft/models/training/trainable.h"
#include "weft/models/training/weighted_mean.h"

namespace weft {
namespace {

// Row lengths are multiples of this value, so that few plans are needed.
constexpr std::int64_t kMultiple = 16;

const DenoisingOptions& options_of(const Seq2SeqModel& model) {
  if (!model.denoising)
    throw ArgumentError("the model was trained on text pairs: it has no denoising objective");
  return *model.denoising;
}

/// Returns the number of passages in a batch, a multiple of the number of shards.
std::int64_t rows_per_batch(const Seq2SeqModel& model) {
  const std::int64_t shards = model.settings.shards;
  return shards *
         std::max<std::int64_t>(1, model.settings.batch / options_of(model).passage / shards);
}

std::vector<std::int32_t> narrow(const TokenIds& ids, std::int64_t most) {
  return {ids.begin(), ids.begin() + std::min(most, std::ssize(ids))};
}

struct Batch {
  NamedTensors inputs;
  std::int64_t tokens = 0;  // number of tokens in the passages
  std::int64_t labels = 0;
};

class BatchMaker {
 public:
  BatchMaker(const Seq2SeqModel& model, const PassageSource& passages)
      : denoiser_(options_of(model), model.tokenizer),
        passages_(&passages),
        padding_(model.tokenizer.pad_id()),
        most_(longest_text(model.config)),
        rows_(rows_per_batch(model)),
        seed_(model.settings.seed) {}

  Batch random(const BatchPart& part) const {
    Rows rows;
    const RowRange mine = part.rows(rows_);
    for (std::int64_t r = mine.begin; r < mine.end; ++r) {
      Rng rng(stable_hash("denoising", seed_), static_cast<std::uint32_t>(r),
              static_cast<std::uint32_t>(part.step()));
      const std::vector<TokenIds> sentences = passages_->random(rng);
      add(rows, sentences, noise_seed(rng));
    }
    return batch(rows);
  }
  /// Returns passage `place` with the noise that evaluations use.
  DenoisingExample fixed(std::int64_t place) const {
    return denoiser_(passages_->at(place), evaluation_seed(place));
  }
  Batch fixed_batch(std::span<const std::int64_t> places) const {
    Rows rows;
    for (const std::int64_t place : places) add(rows, passages_->at(place), evaluation_seed(place));
    return batch(rows);
  }
  std::int64_t most() const { return most_; }

 private:
  struct Rows {
    std::vector<std::vector<std::int32_t>> sources, labels;
    std::int64_t tokens = 0;
  };

  static std::uint64_t noise_seed(Rng& rng) {
    return static_cast<std::uint64_t>(rng.below(std::numeric_limits<std::int64_t>::max()));
  }
  std::uint64_t evaluation_seed(std::int64_t place) const {
    // This random stream is not used by any training row.
    Rng rng(stable_hash("denoising evaluation", seed_), 0, static_cast<std::uint32_t>(place));
    return noise_seed(rng);
  }
  void add(Rows& rows, const std::vector<TokenIds>& sentences, std::uint64_t seed) const {
    const DenoisingExample example = denoiser_(sentences, seed);
    rows.sources.push_back(narrow(example.input, most_));
    rows.labels.push_back(narrow(example.target, most_));
    for (const TokenIds& sentence : sentences) rows.tokens += std::ssize(sentence);
  }
  Batch batch(const Rows& rows) const {
    Batch result{{{"source", pad_rows(rows.sources, padding_, kMultiple, most_).ids},
                  {"labels", pad_rows(rows.labels, -100, kMultiple, most_).ids}},
                 rows.tokens};
    for (const auto& row : rows.labels) result.labels += std::ssize(row);
    return result;
  }

  Denoiser denoiser_;
  const PassageSource* passages_;
  std::int32_t padding_;
  std::int64_t most_, rows_;
  std::uint64_t seed_;
};

}  // namespace

Seq2SeqModel build_denoising_model(const EncoderDecoderConfig& config, const Tokenizer& tokenizer,
                                   const TrainSettings& settings, const DenoisingOptions& options,
                                   std::int64_t least_rows, SourceLocation loc) {
  const Denoiser known(options, tokenizer);  // throws for invalid options
  if (longest_text(config) <= options.passage) {
    throw ArgumentError(fmt::format(
        "context must be greater than passage ({}), to leave room for the end id, but is {}",
        options.passage, config.context));
  }
  Seq2SeqModel model = build_translator(config, tokenizer, settings, least_rows, {}, loc);
  model.task = choice_name(options.objective);
  model.denoising = options;
  return model;
}

Passages make_passages(const Seq2SeqModel& model, std::span<const TextDocument> documents) {
  const DenoisingOptions& options = options_of(model);
  std::vector<std::vector<TokenIds>> ids;
  for (const TextDocument& document : documents) {
    std::vector<TokenIds>& sentences = ids.emplace_back();
    for (const std::string& sentence : document) {
      const std::vector<std::int32_t> found = model.tokenizer.encode(sentence);
      sentences.emplace_back(found.begin(), found.end());
    }
  }
  return {std::move(ids), options.passage, min_sentences(options.objective)};
}

TokenPassages make_passages(const Seq2SeqModel& model, std::vector<TokenSetPart> parts) {
  const DenoisingOptions& options = options_of(model);
  if (options.reads_sentences()) {
    throw ArgumentError(fmt::format(
        "token files do not record sentence boundaries, which {} requires{}",
        choice_name(options.objective),
        options.objective == DenoisingObjective::denoising ? " unless permute_sentences is off"
                                                           : ": train on texts"));
  }
  return {std::move(parts), options.passage};
}

TrainTask denoising_task(Session& session, const Seq2SeqModel& model, const PassageSource& train,
                         const PassageSource* held_out) {
  TrainTask task =
      train_task(model, "tokens", [maker = BatchMaker(model, train)](const BatchPart& part) {
        Batch batch = maker.random(part);
        return TrainBatch{std::move(batch.inputs), batch.tokens};
      });
  if (held_out == nullptr) return task;
  task.evaluate = [&session, &model, maker = BatchMaker(model, *held_out),
                   places = held_out->cover()](bool whole) {
    const TrainSettings& settings = model.settings;
    const std::int64_t rows = rows_per_batch(model) / settings.shards,
                       wanted = settings.eval_shards();
    const std::int64_t batches = (std::ssize(places) + rows - 1) / rows;
    const std::vector<std::int64_t> measured = evenly_spread(batches, whole ? 0 : wanted);
    const auto batch_at = [&](std::int64_t i) {
      const std::int64_t begin = measured[static_cast<std::size_t>(i)] * rows;
      return maker.fixed_batch(std::span(places).subspan(
          static_cast<std::size_t>(begin),
          static_cast<std::size_t>(std::min(rows, std::ssize(places) - begin))));
    };
    WeightedMean mean;
    run_distributed(
        session, model.program("evaluate"), std::ssize(measured),
        [&](std::int64_t i) { return batch_at(i).inputs; },
        [&](std::int64_t i, const Results& results) {
          mean.add(results["loss"].item<float>(), static_cast<double>(batch_at(i).labels));
        });
    return Evaluation{mean.value(), {{"perplexity", std::exp(mean.value())}}};
  };
  return task;
}

std::vector<Denoised> denoise(Session& session, const Seq2SeqModel& model,
                              const PassageSource& passages, std::int64_t count) {
  const BatchMaker maker(model, passages);
  const std::int64_t used = std::min(count, passages.count());
  std::vector<std::vector<std::int32_t>> sources;
  std::vector<Denoised> result;
  for (std::int64_t i = 0; i < used; ++i) {
    const DenoisingExample example = maker.fixed((2 * i + 1) * passages.count() / (2 * used));
    result.push_back({model.tokenizer.decode_to_end(example.input),
                      model.tokenizer.decode_to_end(example.target),
                      {}});
    sources.push_back(narrow(example.input, maker.most()));
  }
  const std::vector<TokenIds> outputs = translate_ids(session, model, sources);
  for (std::size_t i = 0; i < outputs.size(); ++i)
    result[i].output = model.tokenizer.decode_to_end(outputs[i]);
  return result;
}

}  // namespace weft
