#include "weft/models/tasks/masked_tokens/pretraining_task.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>

#include "weft/core/error.h"
#include "weft/models/data/batching/shuffle.h"
#include "weft/models/data/batching/token_rows.h"
#include "weft/models/data/rng.h"
#include "weft/models/metrics/roc_auc.h"
#include "weft/models/training/run_distributed.h"
#include "weft/models/training/trainable.h"
#include "weft/models/training/weighted_mean.h"

namespace weft {
namespace {

/// Rows from a data set: random rows for training, and a fixed list of rows that cover the data set
/// for evaluation.
struct Rows {
  std::function<std::vector<PretrainingRow>(const BatchPart& part)> random;
  std::int64_t count = 0;
  std::function<PretrainingRow(std::int64_t i)> at;
};

Rows rows_of(const PretrainingModel& model, const PackedTexts& texts) {
  const TrainSettings& settings = model.settings;
  const std::vector<std::int64_t> firsts = texts.cover();
  return {[&texts, settings](const BatchPart& part) {
            Rng rng(stable_hash("masked_lm", settings.seed), 0,
                    static_cast<std::uint32_t>(part.step()));
            const RowRange mine = part.rows(settings.batch);
            std::vector<PretrainingRow> rows;
            // All rows of the batch share one random sequence, so also generate the rows before
            // this shard.
            for (std::int64_t r = 0; r < mine.end; ++r) {
              const std::int64_t first = rng.below(texts.texts());
              if (r >= mine.begin) rows.push_back({texts.row(first)});
            }
            return rows;
          },
          static_cast<std::int64_t>(firsts.size()),
          [&texts, firsts](std::int64_t i) {
            return PretrainingRow{texts.row(firsts[static_cast<std::size_t>(i)])};
          }};
}

Rows rows_of(const PretrainingModel& model, const PackedTokens& tokens) {
  const TrainSettings& settings = model.settings;
  return {[&tokens, settings](const BatchPart& part) {
            const RowRange mine = part.rows(settings.batch);
            std::vector<PretrainingRow> rows;
            for (std::int64_t r = mine.begin; r < mine.end; ++r)
              rows.push_back({tokens.random(settings.seed, part.step(), r)});
            return rows;
          },
          tokens.rows(), [&tokens](std::int64_t i) { return PretrainingRow{tokens.row(i)}; }};
}

Rows rows_of(const PretrainingModel& model, const SentencePairs& pairs) {
  const TrainSettings& settings = model.settings;
  const auto row = [cls = model.tokenizer.cls_id(), sep = model.tokenizer.sep_id(),
                    context = model.config.max_tokens()](const SentencePair& pair) {
    PairTokens tokens = join_pair(pair, cls, sep, context);
    return PretrainingRow{std::move(tokens.ids), std::move(tokens.token_types), pair.label};
  };
  const std::int64_t room = model.config.max_tokens() - 3;
  const std::int64_t count = (pairs.tokens() + room - 1) / room;
  return {[=, &pairs](const BatchPart& part) {
            const RowRange mine = part.rows(settings.batch);
            std::vector<PretrainingRow> rows;
            for (std::int64_t r = mine.begin; r < mine.end; ++r)
              rows.push_back(row(pairs.random(settings.seed, part.step(), r)));
            return rows;
          },
          count,
          [=, &pairs](std::int64_t i) {
            // Training steps are numbered from 0, so step -1 produces random numbers that training
            // never uses.
            return row(pairs.at(i * pairs.places() / count, settings.seed, -1, i));
          }};
}

/// Running results of an evaluation.
struct Counts {
  WeightedMean loss, pair_loss,
      replaced_loss;  // weighted by the number of masked tokens, rows and tokens
  std::int64_t found = 0, pairs_right = 0, replaced_right = 0;
  std::vector<float> scores;
  std::vector<std::int32_t> replaced;
};

double loss_of(const Results& results, const char* name) {
  return static_cast<double>(results[name].item<float>());
}

const Tensor& input(const NamedTensors& inputs, std::string_view name) {
  for (const auto& [key, tensor] : inputs) {
    if (key == name) return tensor;
  }
  throw ArgumentError(fmt::format("there is no input '{}'", name));
}

void count_masked(const NamedTensors& inputs, const Results& results, Counts& counts) {
  const auto labels = input(inputs, "labels").span<std::int32_t>();
  const auto predicted = results["predicted"].span<std::int64_t>();
  std::int64_t here = 0;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    here += labels[i] >= 0 ? 1 : 0;
    counts.found += labels[i] == predicted[i] ? 1 : 0;
  }
  counts.loss.add(loss_of(results, "loss"), static_cast<double>(here));
}

void count_pairs(const NamedTensors& inputs, const Results& results, Counts& counts) {
  const auto labels = input(inputs, "pair_labels").span<std::int32_t>();
  const auto predicted = results["pair_predicted"].span<std::int64_t>();
  for (std::size_t i = 0; i < labels.size(); ++i)
    counts.pairs_right += labels[i] == predicted[i] ? 1 : 0;
  counts.pair_loss.add(loss_of(results, "pair_loss"), static_cast<double>(labels.size()));
}

void count_replaced(const NamedTensors& inputs, const Results& results, Counts& counts) {
  const auto mask = input(inputs, "mask").span<std::int32_t>();
  const auto replaced = results["replaced"].span<std::int32_t>();
  const auto scores = results["scores"].span<float>();
  std::int64_t here = 0;
  for (std::size_t i = 0; i < mask.size(); ++i) {
    if (mask[i] == 0) continue;
    ++here;
    counts.replaced_right += (scores[i] > 0) == (replaced[i] == 1) ? 1 : 0;
    counts.scores.push_back(scores[i]);
    counts.replaced.push_back(replaced[i]);
  }
  counts.replaced_loss.add(loss_of(results, "replaced_loss"), static_cast<double>(here));
}

Evaluation evaluation_of(const Counts& c, const PretrainingOptions& options) {
  const auto share = [](std::int64_t right, const WeightedMean& of) {
    return static_cast<double>(right) / of.weight();
  };
  Evaluation found{c.loss.value(), {{"masked_accuracy", share(c.found, c.loss)}}};
  if (reads_pairs(options.objective)) {
    found.loss += c.pair_loss.value();
    found.metrics.push_back({"pair_accuracy", share(c.pairs_right, c.pair_loss)});
  }
  if (options.objective == PretrainingObjective::rtd) {
    found.loss += options.replaced_weight * c.replaced_loss.value();
    found.metrics.push_back({"replaced_accuracy", share(c.replaced_right, c.replaced_loss)});
    found.metrics.push_back({"replaced_auc", roc_auc(c.scores, c.replaced)});
  }
  return found;
}

/// Returns the inputs for the evaluation batch that starts at row `begin`.
NamedTensors measured_inputs(const PretrainingModel& model, const Rows& rows, std::int64_t begin) {
  const TrainSettings& settings = model.settings;
  std::vector<PretrainingRow> batch;
  for (std::int64_t i = begin; i < std::min(begin + settings.shard_batch(), rows.count); ++i)
    batch.push_back(rows.at(i));
  // Training steps are numbered from 0, so negative steps produce masks that training never uses.
  NamedTensors inputs = pretraining_inputs(model, batch, settings.seed, -1 - begin);
  if (model.options.objective == PretrainingObjective::rtd) {
    const auto seed = static_cast<std::int64_t>(stable_hash("replaced", settings.seed) >> 1);
    inputs.emplace_back("key", Tensor::of<std::int64_t>({2}, {seed, begin}));
  }
  return inputs;
}

void count(const NamedTensors& inputs, const Results& results, PretrainingObjective objective,
           Counts& counts) {
  count_masked(inputs, results, counts);
  if (reads_pairs(objective)) count_pairs(inputs, results, counts);
  if (objective == PretrainingObjective::rtd) count_replaced(inputs, results, counts);
}

TrainTask task_of(Session& session, const PretrainingModel& model, const Rows& train,
                  const std::optional<Rows>& held_out) {
  const TrainSettings settings = model.settings;
  TrainTask task = train_task(model, "tokens", [=, &model](const BatchPart& part) {
    const std::vector<PretrainingRow> rows = train.random(part);
    std::int64_t tokens = 0;
    for (const PretrainingRow& row : rows) tokens += static_cast<std::int64_t>(row.ids.size());
    return TrainBatch{pretraining_inputs(model, rows, settings.seed, part.step(),
                                         part.rows(settings.batch).begin),
                      tokens};
  });
  if (!held_out) return task;
  task.evaluate = [=, &session, &model, rows = *held_out](bool whole) {
    const std::int64_t at_once = settings.shard_batch();
    const std::int64_t batches = (rows.count + at_once - 1) / at_once;
    const std::vector<std::int64_t> measured =
        evenly_spread(batches, whole ? 0 : settings.eval_shards());
    const auto inputs = [&](std::int64_t i) {
      return measured_inputs(model, rows, measured[static_cast<std::size_t>(i)] * at_once);
    };
    Counts counts;
    run_distributed(session, model.program("evaluate"), std::ssize(measured), inputs,
                    [&](std::int64_t i, const Results& results) {
                      count(inputs(i), results, model.options.objective, counts);
                    });
    return evaluation_of(counts, model.options);
  };
  return task;
}

[[noreturn]] void reject_data(const PretrainingModel& model, std::string_view data) {
  throw ArgumentError(fmt::format("a model with the objective {} cannot be trained on {}",
                                  choice_name(model.options.objective), data));
}

PairTask pair_task(const PretrainingModel& model) {
  return model.options.objective == PretrainingObjective::mlm_nsp ? PairTask::next_sentence
                                                                  : PairTask::sentence_order;
}

/// Returns the training task for rows without pairs.
template <class Texts>
TrainTask task_of_texts(Session& session, const PretrainingModel& model, const Texts& train,
                        const Texts* held_out) {
  if (reads_pairs(model.options.objective)) reject_data(model, "texts without pairs");
  return task_of(session, model, rows_of(model, train),
                 held_out == nullptr ? std::nullopt : std::optional(rows_of(model, *held_out)));
}

}  // namespace

MaskingOptions pretraining_masking(const PretrainingModel& model) {
  MaskingOptions options = masking_options(model.tokenizer, model.options.whole_words);
  options.rate = model.options.mask_rate;
  if (model.options.objective == PretrainingObjective::rtd) {
    options.mask_share = 1;
    options.random_share = 0;
  }
  return options;
}

NamedTensors pretraining_inputs(const PretrainingModel& model, std::span<const PretrainingRow> rows,
                                std::uint64_t seed, std::int64_t step, std::int64_t first) {
  const MaskingOptions options = pretraining_masking(model);
  const bool pairs = reads_pairs(model.options.objective);
  std::vector<MaskedTokens> masked;
  std::vector<std::vector<std::int32_t>> hidden, types;
  std::vector<std::int32_t> pair_labels;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    masked.push_back(
        masked_tokens(rows[r].ids, options, seed, step, first + static_cast<std::int64_t>(r)));
    hidden.push_back(masked.back().ids);
    types.push_back(rows[r].token_types);
    pair_labels.push_back(rows[r].pair_label);
  }
  // All packed texts have the same length. The lengths of pairs are rounded up to reduce the number
  // of distinct lengths.
  const std::int64_t multiple = pairs ? 16 : 1;
  const std::int64_t most = model.config.max_tokens();
  const TokenRows batch = pad_rows(hidden, model.tokenizer.pad_id(), multiple, most);
  const auto length = static_cast<std::size_t>(batch.ids.size(1));
  std::vector<std::int32_t> picks, labels;
  for (std::size_t r = 0; r < masked.size(); ++r) {
    for (std::size_t i = 0; i < masked[r].labels.size(); ++i) {
      if (masked[r].labels[i] < 0) continue;
      picks.push_back(static_cast<std::int32_t>(r * length + i));
      labels.push_back(masked[r].labels[i]);
    }
  }
  // Round up the number of picks, because each distinct number needs a separate plan.
  constexpr std::size_t kMultiple = 32;
  const std::size_t size = (picks.size() + kMultiple - 1) / kMultiple * kMultiple;
  picks.resize(size, 0);
  labels.resize(size, -100);
  const auto count = static_cast<std::int64_t>(size);
  NamedTensors inputs = {{"tokens", batch.ids},
                         {"mask", batch.mask},
                         {"picks", Tensor::of({count}, picks)},
                         {"labels", Tensor::of({count}, labels)}};
  if (pairs) {
    inputs.emplace_back("token_types", pad_rows(types, 0, multiple, most).ids);
    inputs.emplace_back("pair_labels",
                        Tensor::of({static_cast<std::int64_t>(rows.size())}, pair_labels));
  }
  return inputs;
}

TrainTask pretraining_task(Session& session, const PretrainingModel& model,
                           const PackedTexts& train, const PackedTexts* held_out) {
  return task_of_texts(session, model, train, held_out);
}

TrainTask pretraining_task(Session& session, const PretrainingModel& model,
                           const PackedTokens& train, const PackedTokens* held_out) {
  return task_of_texts(session, model, train, held_out);
}

TrainTask pretraining_task(Session& session, const PretrainingModel& model,
                           const SentencePairs& train, const SentencePairs* held_out) {
  if (!reads_pairs(model.options.objective) || train.task() != pair_task(model))
    reject_data(model, train.task() == PairTask::next_sentence
                           ? "pairs for next-sentence prediction"
                           : "pairs for sentence-order prediction");
  return task_of(session, model, rows_of(model, train),
                 held_out == nullptr ? std::nullopt : std::optional(rows_of(model, *held_out)));
}

SentencePairs sentence_pairs(const PretrainingModel& model,
                             std::span<const std::vector<std::string>> documents) {
  if (!reads_pairs(model.options.objective)) reject_data(model, "pairs of sentences");
  std::vector<Document> ids;
  for (const auto& document : documents) {
    ids.emplace_back();
    for (const std::string& sentence : document)
      ids.back().push_back(model.tokenizer.encode(sentence));
  }
  return {std::move(ids), pair_task(model), model.config.max_tokens() - 3};
}

}  // namespace weft
