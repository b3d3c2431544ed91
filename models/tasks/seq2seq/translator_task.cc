#include "weft/models/tasks/seq2seq/translator_task.h"

#include <cmath>
#include <iterator>
#include <utility>

#include "weft/models/data/batching/shuffle.h"
#include "weft/models/tasks/seq2seq/pair_encoder.h"
#include "weft/models/training/run_distributed.h"
#include "weft/models/training/trainable.h"
#include "weft/models/training/weighted_mean.h"

namespace weft {

EncodedPairs encode_pairs(const std::vector<TextPair>& pairs, const Seq2SeqModel& model) {
  const PairEncoder encoder(model);
  const std::int64_t longest = longest_text(model.config);
  EncodedPairs encoded;
  for (const TextPair& pair : pairs) {
    IdPair ids{encoder.source(pair.source), encoder.target(pair.target)};
    if (encoder.cut_source(ids.source, longest)) ++encoded.cut_sources;
    if (encoder.cut_target(ids.target, longest)) ++encoded.cut_targets;
    encoded.ids.push_back(std::move(ids));
  }
  return encoded;
}

PairBatches make_training_batches(EncodedPairs pairs, const Seq2SeqModel& model) {
  return {std::move(pairs.ids), model.settings.batch, model.tokenizer.pad_id(),
          model.settings.shards};
}

PairBatches make_pair_batches(EncodedPairs pairs, const Seq2SeqModel& model) {
  return {std::move(pairs.ids), model.settings.shard_batch(), model.tokenizer.pad_id()};
}

double mean_loss(Session& session, const Program& evaluate, const PairBatches& pairs,
                 std::int64_t batches) {
  WeightedMean mean;
  const std::vector<std::int64_t> places = evenly_spread(pairs.per_epoch(), batches);
  const auto batch_at = [&](std::int64_t i) {
    return pairs.in_order(places[static_cast<std::size_t>(i)]);
  };
  run_distributed(
      session, evaluate, std::ssize(places),
      [&](std::int64_t i) -> NamedTensors {
        const PairBatch batch = batch_at(i);
        return {{"source", batch.source}, {"labels", batch.labels}};
      },
      [&](std::int64_t i, const Results& results) {
        mean.add(results["loss"].item<float>(), static_cast<double>(batch_at(i).labels_counted));
      });
  return mean.value();
}

Metric bleu_metric(const std::vector<std::string>& outputs,
                   const std::vector<References>& references) {
  return {"bleu", corpus_bleu(outputs, references).score};
}

Metric exact_match_metric(const std::vector<std::string>& outputs,
                          const std::vector<References>& references) {
  return {"exact match", exact_match(outputs, references)};
}

TranslatorData::TranslatorData(const TextPairSplit& split, const Seq2SeqModel& model,
                               OutputMeasure measured_by)
    : train(make_training_batches(encoded(split.train, model), model)),
      validation(make_pair_batches(encoded(split.validation, model), model)),
      cases(group_by_source(split.validation)),
      measure(measured_by) {}

EncodedPairs TranslatorData::encoded(const std::vector<TextPair>& pairs,
                                     const Seq2SeqModel& model) {
  EncodedPairs result = encode_pairs(pairs, model);
  cut_sources += result.cut_sources;
  cut_targets += result.cut_targets;
  return result;
}

Translations translate_cases(Session& session, const Seq2SeqModel& model,
                             const std::vector<TranslationCase>& cases,
                             const TranslateOptions& options) {
  std::vector<std::string> sources;
  Translations result;
  for (const TranslationCase& one : cases) {
    sources.push_back(one.source);
    result.references.push_back(one.references);
  }
  TranslateOptions cutting = options;
  if (!cutting.on_cut) cutting.on_cut = ignore_truncation();
  result.outputs = translate(session, model, sources, cutting);
  return result;
}

TrainTask translator_task(Session& session, const Seq2SeqModel& model, TranslatorData& data) {
  const TrainSettings settings = model.settings;
  TrainTask task = train_task(model, "tokens", [&data, settings](const BatchPart& part) {
    const PairBatch batch = data.train.batch(settings.seed, part);
    return TrainBatch{{{"source", batch.source}, {"labels", batch.labels}}, batch.labels_counted};
  });
  task.evaluate = [&session, &model, &data, settings](bool whole) {
    const double loss = mean_loss(session, model.program("evaluate"), data.validation,
                                  whole ? 0 : settings.eval_shards());
    // Select evenly spaced cases, because pair files are often sorted.
    std::vector<TranslationCase> cases;
    for (const std::int64_t place : evenly_spread(std::ssize(data.cases), whole ? 0 : kQuickCases))
      cases.push_back(data.cases[static_cast<std::size_t>(place)]);
    const Translations found = translate_cases(session, model, cases, {.beams = 1});
    return Evaluation{
        loss, {{"perplexity", std::exp(loss)}, data.measure(found.outputs, found.references)}};
  };
  return task;
}

}  // namespace weft
