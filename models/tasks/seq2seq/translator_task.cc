#include "weft/models/tasks/seq2seq/translator_task.h"

#include <cmath>
#include <iterator>

#include "weft/models/data/shuffle.h"
#include "weft/models/train/weighted_mean.h"
#include "weft/models/trained/trainable.h"

namespace weft {

PairBatches make_pair_batches(const std::vector<TextPair>& pairs, const Tokenizer& tokenizer,
                              const TrainSettings& settings) {
  const Tokenizer targets = tokenizer.targets();
  std::vector<IdPair> ids;
  for (const TextPair& pair : pairs)
    ids.push_back({tokenizer.encode_to_end(pair.source), targets.encode_to_end(pair.target)});
  return {std::move(ids), settings.batch, tokenizer.pad_id()};
}

double mean_loss(Session& session, const Program& evaluate, const PairBatches& pairs,
                 std::int64_t batches) {
  WeightedMean mean;
  for (const std::int64_t place : evenly_spread(pairs.per_epoch(), batches)) {
    const PairBatch batch = pairs.in_order(place);
    const Results results =
        session.run(evaluate, {{"source", batch.source}, {"labels", batch.labels}});
    mean.add(results["loss"].item<float>(), static_cast<double>(batch.labels_counted));
  }
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
    : train(make_pair_batches(split.train, model.tokenizer, model.settings)),
      validation(make_pair_batches(split.validation, model.tokenizer, model.settings)),
      cases(group_by_source(split.validation)),
      measure(measured_by) {}

Translations translate_cases(Session& session, const Seq2SeqModel& model,
                             const std::vector<TranslationCase>& cases,
                             const TranslateOptions& options) {
  std::vector<std::string> sources;
  Translations result;
  for (const TranslationCase& one : cases) {
    sources.push_back(one.source);
    result.references.push_back(one.references);
  }
  result.outputs = translate(session, model, sources, options);
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
                                  whole ? 0 : settings.eval_batches);
    // Spread over all cases: files of pairs are often sorted.
    std::vector<TranslationCase> cases;
    for (const std::int64_t place : evenly_spread(std::ssize(data.cases), whole ? 0 : kQuickCases))
      cases.push_back(data.cases[static_cast<std::size_t>(place)]);
    const Translations found = translate_cases(session, model, cases);
    return Evaluation{
        loss, {{"perplexity", std::exp(loss)}, data.measure(found.outputs, found.references)}};
  };
  return task;
}

}  // namespace weft
