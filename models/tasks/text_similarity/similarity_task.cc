#include "weft/models/tasks/text_similarity/similarity_task.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "weft/models/data/shuffle.h"
#include "weft/models/data/tfidf.h"
#include "weft/models/metrics/correlation.h"

namespace weft {
namespace {

/// Calls visit(places, lines) for batches of all lines. Lines of like length share a batch: little
/// padding.
template <class Visit>
void for_batches(std::span<const ScoredPair> lines, Visit&& visit) {
  constexpr std::size_t kBatch = 64;
  std::vector<std::size_t> order(lines.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto length = [&](std::size_t i) { return lines[i].first.size() + lines[i].second.size(); };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return length(a) < length(b); });
  for (std::size_t begin = 0; begin < order.size(); begin += kBatch) {
    const std::size_t count = std::min(kBatch, order.size() - begin);
    const auto places = std::span(order).subspan(begin, count);
    std::vector<ScoredPair> batch;
    for (const std::size_t place : places) batch.push_back(lines[place]);
    visit(places, batch);
  }
}

void put_scores(const Results& results, std::span<const std::size_t> places,
                std::vector<double>& scores) {
  const auto found = results["scores"].span<float>();
  for (std::size_t i = 0; i < places.size(); ++i) scores[places[i]] = found[i];
}

/// Evenly spread over the data, which may be sorted.
ScoredPairs spread(const ScoredPairs& data, std::int64_t count) {
  if (count >= data.size()) return data;
  ScoredPairs some{{}, data.pairs};
  for (std::int64_t i = 0; i < count; ++i)
    some.lines.push_back(data.lines[static_cast<std::size_t>(i * data.size() / count)]);
  return some;
}

/// The lines of a step: `batch` of them, epoch after epoch.
std::vector<ScoredPair> lines_of_step(const ScoredPairs& train, const TrainSettings& settings,
                                      std::int64_t step) {
  std::vector<ScoredPair> lines;
  std::vector<std::int64_t> order;
  std::int64_t epoch = -1;
  for (std::int64_t r = 0; r < settings.batch; ++r) {
    const std::int64_t at = step * settings.batch + r;
    if (at / train.size() != epoch) {
      epoch = at / train.size();
      order = shuffled(train.size(), settings.seed, static_cast<std::uint32_t>(epoch));
    }
    const std::int64_t line = order[static_cast<std::size_t>(at % train.size())];
    lines.push_back(train.lines[static_cast<std::size_t>(line)]);
  }
  return lines;
}

}  // namespace

std::vector<double> score_pairs(Session& session, const SimilarityModel& model,
                                std::span<const ScoredPair> lines) {
  std::vector<double> scores(lines.size());
  for_batches(lines, [&](std::span<const std::size_t> places, std::span<const ScoredPair> batch) {
    put_scores(session.run(model.program("score"), similarity_inputs(model, batch)), places,
               scores);
  });
  return scores;
}

std::vector<Metric> correlations(std::span<const double> scores, std::span<const double> wanted) {
  const auto [low, high] = std::minmax_element(wanted.begin(), wanted.end());
  if (wanted.empty() || *low == *high) return {};
  const auto or_nothing = [](double coefficient) {
    return std::isnan(coefficient) ? 0 : coefficient;
  };
  return {{"pearson", or_nothing(pearson(scores, wanted))},
          {"spearman", or_nothing(spearman(scores, wanted))}};
}

Evaluation evaluate(Session& session, const SimilarityModel& model, const ScoredPairs& data) {
  std::vector<double> scores(data.lines.size());
  double loss = 0;
  for_batches(data.lines, [&](std::span<const std::size_t> places,
                              std::span<const ScoredPair> batch) {
    NamedTensors inputs = similarity_inputs(model, batch);
    inputs.emplace_back("targets", similarity_targets(batch));
    const Results results = session.run(model.program("evaluate"), inputs);
    put_scores(results, places, scores);
    loss += static_cast<double>(results["loss"].item<float>()) * static_cast<double>(batch.size());
  });
  loss /= static_cast<double>(scores.size());
  // What is not finite correlates with nothing, and the loss says it.
  if (!std::isfinite(loss)) return {loss, {}};
  return {loss, correlations(scores, data.scores())};
}

TrainTask similarity_task(Session& session, const SimilarityModel& model, const ScoredPairs& train,
                          const ScoredPairs* held_out) {
  TrainTask task{.train = model.find_program("train"),
                 .batch =
                     [&model, &train](std::int64_t step) {
                       const std::vector<ScoredPair> lines =
                           lines_of_step(train, model.settings, step);
                       NamedTensors inputs = similarity_inputs(model, lines);
                       inputs.emplace_back("targets", similarity_targets(lines));
                       return TrainBatch{std::move(inputs), model.settings.batch};
                     },
                 .unit = train.unit()};
  task.accumulate = model.find_program("accumulate");
  if (held_out != nullptr) {
    task.evaluate = [&session, &model, held_out](bool whole) {
      const std::int64_t count = model.settings.eval_batches * model.settings.batch;
      return evaluate(session, model, whole || count == 0 ? *held_out : spread(*held_out, count));
    };
  }
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
