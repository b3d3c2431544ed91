#include "weft/models/tasks/text_similarity/similarity_task.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>

#include "weft/models/data/batching/by_length.h"
#include "weft/models/data/batching/epochs.h"
#include "weft/models/data/batching/lazy_cache.h"
#include "weft/models/data/features/tfidf.h"
#include "weft/models/metrics/correlation.h"
#include "weft/models/training/run_distributed.h"
#include "weft/models/training/trainable.h"
#include "weft/models/training/weighted_mean.h"

namespace weft {
namespace {

/// Returns the input rows for line i.
using RowOf = std::function<SimilarityRows(std::size_t i)>;

using Places = std::span<const std::size_t>;

std::vector<std::size_t> sizes_of(std::span<const ScoredPair> lines) {
  std::vector<std::size_t> sizes;
  for (const ScoredPair& line : lines) sizes.push_back(line.first.size() + line.second.size());
  return sizes;
}

/// Runs a program on lines of these lengths, in batches of similar length. `inputs` returns the
/// program inputs for the lines with the given indices; `use` is called with the results for these
/// lines.
void over_lines(Session& session, const Program& program, std::span<const std::size_t> lengths,
                const std::function<NamedTensors(Places)>& inputs,
                const std::function<void(const Results&, Places)>& use) {
  const std::vector<std::vector<std::size_t>> batches = batches_by_length(lengths);
  const auto places = [&](std::int64_t i) -> Places {
    return batches[static_cast<std::size_t>(i)];
  };
  run_distributed(
      session, program, std::ssize(batches), [&](std::int64_t i) { return inputs(places(i)); },
      [&](std::int64_t i, const Results& results) { use(results, places(i)); });
}

NamedTensors inputs_at(const SimilarityModel& model, Places places, const RowOf& row) {
  std::vector<SimilarityRows> batch;
  for (const std::size_t place : places) batch.push_back(row(place));
  return similarity_inputs(model, batch);
}

void put_scores(const Results& results, Places places, std::vector<double>& scores) {
  const auto found = results["scores"].span<float>();
  for (std::size_t i = 0; i < places.size(); ++i) scores[places[i]] = found[i];
}

/// Returns the scores of the lines at `places`, for the input "targets".
template <class Place>
Tensor targets(const ScoredPairs& data, std::span<const Place> places) {
  std::vector<float> scores;
  for (const Place place : places)
    scores.push_back(static_cast<float>(data.lines[static_cast<std::size_t>(place)].score));
  return Tensor::of({std::ssize(places)}, scores);
}

Evaluation evaluate_rows(Session& session, const SimilarityModel& model, const ScoredPairs& data,
                         const RowOf& row) {
  std::vector<double> scores(data.lines.size());
  WeightedMean mean;
  over_lines(
      session, model.program("evaluate"), sizes_of(data.lines),
      [&](Places places) {
        NamedTensors inputs = inputs_at(model, places, row);
        inputs.emplace_back("targets", targets(data, places));
        return inputs;
      },
      [&](const Results& results, Places places) {
        put_scores(results, places, scores);
        mean.add(results["loss"].item<float>(), static_cast<double>(places.size()));
      });
  const double loss = mean.value();
  // Correlations are undefined if scores are not finite. The loss then reveals the problem.
  if (!std::isfinite(loss)) return {loss, {}};
  return {loss, correlations(scores, data.scores())};
}

LazyCache<SimilarityRows> rows_of(const SimilarityModel& model, const ScoredPairs& data) {
  return {data.size(), [&model, &data](std::int64_t i) {
            return similarity_rows(model, data.lines[static_cast<std::size_t>(i)]);
          }};
}

std::vector<double> scores_of(Session& session, const SimilarityModel& model,
                              std::span<const std::size_t> lengths, const RowOf& row) {
  std::vector<double> scores(lengths.size());
  over_lines(
      session, model.program("score"), lengths,
      [&](Places places) { return inputs_at(model, places, row); },
      [&](const Results& results, Places places) { put_scores(results, places, scores); });
  return scores;
}

}  // namespace

std::vector<double> score_pairs(Session& session, const SimilarityModel& model,
                                std::span<const ScoredPair> lines) {
  return scores_of(session, model, sizes_of(lines),
                   [&](std::size_t i) { return similarity_rows(model, lines[i]); });
}

std::vector<double> score_rows(Session& session, const SimilarityModel& model,
                               std::span<const SimilarityRows* const> lines) {
  std::vector<std::size_t> lengths;
  for (const SimilarityRows* line : lines) lengths.push_back(line->front().ids.size());
  return scores_of(session, model, lengths, [&](std::size_t i) { return *lines[i]; });
}

std::vector<Metric> correlations(std::span<const double> scores, std::span<const double> expected) {
  const auto [low, high] = std::minmax_element(expected.begin(), expected.end());
  if (expected.empty() || *low == *high) return {};
  const auto zero_if_nan = [](double coefficient) {
    return std::isnan(coefficient) ? 0 : coefficient;
  };
  return {{"pearson", zero_if_nan(pearson(scores, expected))},
          {"spearman", zero_if_nan(spearman(scores, expected))}};
}

Evaluation evaluate(Session& session, const SimilarityModel& model, const ScoredPairs& data) {
  return evaluate_rows(session, model, data,
                       [&](std::size_t i) { return similarity_rows(model, data.lines[i]); });
}

TrainTask similarity_task(Session& session, const SimilarityModel& model, const ScoredPairs& train,
                          const ScoredPairs* held_out) {
  TrainTask task =
      train_task(model, train.unit(),
                 [&model, &train, rows = rows_of(model, train),
                  epochs = Epochs(train.size(), model.settings.seed)](const BatchPart& part) {
                   const Epochs::Order places = epochs.examples(part, model.settings.batch);
                   std::vector<SimilarityRows> batch;
                   for (const std::int64_t place : places) batch.push_back(rows[place]);
                   NamedTensors inputs = similarity_inputs(model, batch);
                   inputs.emplace_back("targets", targets<std::int64_t>(train, places));
                   return TrainBatch{std::move(inputs), std::ssize(places)};
                 });
  if (held_out == nullptr) return task;
  task.evaluate = [&session, &model, held_out, rows = rows_of(model, *held_out)](bool whole) {
    const std::int64_t most = whole ? 0 : model.settings.eval_batches * model.settings.batch;
    const std::vector<std::int64_t> places = evenly_spread(held_out->size(), most);
    ScoredPairs part{{}, held_out->pairs};
    for (const std::int64_t place : places)
      part.lines.push_back(held_out->lines[static_cast<std::size_t>(place)]);
    return evaluate_rows(session, model, part, [&](std::size_t i) { return rows[places[i]]; });
  };
  return task;
}

std::vector<double> tfidf_cosines(const ScoredPairs& train, const ScoredPairs& data) {
  const TfIdf tfidf(train.texts(), {.longest = 1, .punctuation = false});
  std::vector<std::string> first, second;
  for (const ScoredPair& line : data.lines) {
    first.push_back(line.first);
    second.push_back(line.second);
  }
  return row_products(tfidf(first), tfidf(second));
}

}  // namespace weft
