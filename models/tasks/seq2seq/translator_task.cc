#include "weft/models/tasks/seq2seq/translator_task.h"

#include <algorithm>
#include <cmath>

namespace weft {

PairBatches make_pair_batches(const std::vector<TextPair>& pairs, const Tokenizer& tokenizer,
                              const TrainSettings& settings) {
  std::vector<IdPair> ids;
  for (const TextPair& pair : pairs)
    ids.push_back({tokenizer.encode_to_end(pair.source), tokenizer.encode_to_end(pair.target)});
  return {std::move(ids), settings.batch, tokenizer.pad_id()};
}

double mean_loss(Session& session, const Program& evaluate, const PairBatches& pairs,
                 std::int64_t batches) {
  const std::int64_t count = pairs.per_epoch();
  const std::int64_t used = batches == 0 ? count : std::min(batches, count);
  double sum = 0;
  std::int64_t labels = 0;
  for (std::int64_t i = 0; i < used; ++i) {
    const PairBatch batch = pairs.in_order(i * count / used);
    const Results results =
        session.run(evaluate, {{"source", batch.source}, {"labels", batch.labels}});
    sum += static_cast<double>(results["loss"].item<float>()) *
           static_cast<double>(batch.labels_counted);
    labels += batch.labels_counted;
  }
  return sum / static_cast<double>(labels);
}

Metric bleu_metric(const std::vector<std::string>& outputs,
                   const std::vector<References>& references) {
  return {"bleu", corpus_bleu(outputs, references).score};
}

Metric exact_match_metric(const std::vector<std::string>& outputs,
                          const std::vector<References>& references) {
  return {"exact match", exact_match(outputs, references)};
}

TranslatorData::TranslatorData(const TextPairSplit& split, const Translator& model,
                               OutputMeasure measured_by)
    : train(make_pair_batches(split.train, model.tokenizer, model.settings)),
      validation(make_pair_batches(split.validation, model.tokenizer, model.settings)),
      cases(group_by_source(split.validation)),
      measure(measured_by) {}

Translations translate_cases(Session& session, const Translator& model,
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

TrainTask translator_task(Session& session, const Translator& model, TranslatorData& data) {
  const TrainSettings settings = model.settings;
  TrainTask task = train_task(model, "tokens", [&data, settings](const BatchPart& part) {
    const PairBatch batch = data.train.batch(settings.seed, part);
    return TrainBatch{{{"source", batch.source}, {"labels", batch.labels}}, batch.labels_counted};
  });
  task.evaluate = [&session, &model, &data, settings](bool whole) {
    const double loss = mean_loss(session, model.program("evaluate"), data.validation,
                                  whole ? 0 : settings.eval_batches);
    // Spread over all cases: files of pairs are often sorted.
    const std::size_t count = data.cases.size();
    const std::size_t used = whole ? count : std::min(kQuickCases, count);
    std::vector<TranslationCase> cases;
    for (std::size_t i = 0; i < used; ++i) cases.push_back(data.cases[i * count / used]);
    const Translations found = translate_cases(session, model, cases);
    return Evaluation{
        loss, {{"perplexity", std::exp(loss)}, data.measure(found.outputs, found.references)}};
  };
  return task;
}

}  // namespace weft
