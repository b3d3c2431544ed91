#include "weft/models/tasks/text_ranking/rerank.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "weft/core/error.h"
#include "weft/graph/functions.h"
#include "weft/models/data/batching/by_length.h"
#include "weft/models/inputs/sentences/cross_encoder.h"
#include "weft/models/inputs/sentences/torch_activation.h"
#include "weft/models/tasks/common/run_checked.h"
#include "weft/models/training/run_distributed.h"

namespace weft {
namespace {

constexpr std::int64_t kPairBatchTokens = 4096;

/// Returns the settings of the folder that a model came from. Models trained by Weft have none.
std::optional<CrossEncoderSettings> settings_of(const TrainedModel& model, std::size_t labels) {
  const auto* encoder = dynamic_cast<const EncoderModel*>(&model);
  if (encoder == nullptr || !encoder->reading || !model.origin) return std::nullopt;
  return cross_encoder_settings(*model.origin, labels);
}

/// Applies an activation function to all rows, in the precision of the model.
void activate_rows(const std::string& activation, std::vector<std::vector<double>>& rows) {
  if (activation == "Identity" || rows.empty()) return;
  const auto width = std::ssize(rows.front());
  std::vector<float> values;
  for (const auto& row : rows) values.insert(values.end(), row.begin(), row.end());
  Graph graph;
  const Value y = apply_torch_activation(
      activation, graph.constant(Tensor::of({std::ssize(rows), width}, values)));
  Session session(graph, std::make_shared<VariableStore>(), {.threads = 1});
  const Tensor result = session.run(Program("activation").output("y", y), {})["y"];
  std::int64_t next = 0;
  for (auto& row : rows) {
    for (double& value : row) value = result.at(next++);
  }
}

const PairScorer& scorer_of(const TrainedModel& model) { return model.as<PairScorer>(Use::rerank); }

/// Returns the settings for encoding pairs: those of the folder, if it has some.
std::optional<TextReading> reading_of_pairs(const EncoderModel& model, std::size_t scores) {
  std::optional<TextReading> reading = model.reading;
  if (const auto settings = settings_of(model, scores)) {
    reading->max_tokens = settings->max_tokens;
    reading->lower_case = settings->lower_case;
  }
  return reading;
}

}  // namespace

std::vector<PairRows> rows_of_pairs(const EncoderModel& model, std::span<const PairTexts> pairs,
                                    const OnCut& on_cut, std::size_t scores) {
  const TextReader reader(model.config, model.tokenizer, reading_of_pairs(model, scores));
  std::vector<PairRows> rows;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    Encoding row = reader.encode(TokenizerInput{pairs[i].first, pairs[i].second}, i,
                                 on_cut ? on_cut : ignore_truncation());
    rows.push_back({{std::move(row.ids), std::move(row.type_ids)}});
  }
  return rows;
}

std::vector<std::vector<double>> outputs_for_pairs(Session& session, const EncoderModel& model,
                                                   const Program& program,
                                                   const std::string& output,
                                                   std::span<const PairRows* const> pairs,
                                                   std::size_t scores) {
  const TextReader reader(model.config, model.tokenizer, reading_of_pairs(model, scores));
  std::vector<std::size_t> lengths;
  for (const PairRows* pair : pairs) lengths.push_back(pair->front().ids.size());
  const auto batches = batches_by_tokens(lengths, kPairBatchTokens);
  std::vector<std::vector<double>> result(pairs.size());
  run_distributed(
      session, program, std::ssize(batches),
      [&](std::int64_t b) {
        std::vector<const TextRow*> places;
        for (const std::size_t i : batches[static_cast<std::size_t>(b)])
          places.push_back(&pairs[i]->front());
        return inputs_of(program, reader, places, 1);
      },
      [&](std::int64_t b, const Results& results) {
        check_results(results);
        auto values = results[output].span<float>();
        for (const std::size_t i : batches[static_cast<std::size_t>(b)]) {
          result[i].assign(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(scores));
          values = values.subspan(scores);
        }
      });
  return result;
}

std::vector<std::vector<double>> pair_scores(Session& session, const TrainedModel& model,
                                             std::span<const PairRows* const> pairs) {
  const PairScorer& scorer = scorer_of(model);
  auto scores = scorer.pair_outputs(session, pairs);
  if (const auto settings = settings_of(model, scorer.score_names().size()))
    activate_rows(settings->activation, scores);
  return scores;
}

std::vector<std::vector<double>> pair_scores(Session& session, const TrainedModel& model,
                                             std::span<const PairTexts> pairs,
                                             const OnCut& on_cut) {
  const std::vector<PairRows> rows = scorer_of(model).read_pairs(pairs, on_cut);
  std::vector<const PairRows*> places;
  for (const PairRows& row : rows) places.push_back(&row);
  return pair_scores(session, model, places);
}

std::size_t ranking_score(const TrainedModel& model, const std::optional<std::string>& label) {
  const std::vector<std::string> names = scorer_of(model).score_names();
  if (!label) {
    if (names.size() == 1) return 0;
    throw ArgumentError(
        fmt::format("texts are ranked by one score, but the model has {} labels: choose one of "
                    "them (--label): {}",
                    names.size(), fmt::join(names, ", ")));
  }
  const auto found = std::find(names.begin(), names.end(), *label);
  if (found == names.end()) {
    throw ArgumentError(fmt::format("the model has no label \"{}\"; its labels are {}", *label,
                                    fmt::join(names, ", ")));
  }
  return static_cast<std::size_t>(found - names.begin());
}

std::vector<RankedText> ranked(std::span<const double> scores, std::optional<std::int64_t> most) {
  std::vector<RankedText> texts;
  for (std::size_t i = 0; i < scores.size(); ++i) texts.push_back({i, scores[i]});
  std::stable_sort(texts.begin(), texts.end(),
                   [](const RankedText& a, const RankedText& b) { return a.score > b.score; });
  if (most)
    texts.resize(
        std::min(texts.size(), static_cast<std::size_t>(std::max<std::int64_t>(*most, 0))));
  return texts;
}

std::vector<RankedText> rerank(Session& session, const TrainedModel& model,
                               const std::string& query, std::span<const std::string> texts,
                               const RerankOptions& options) {
  const std::size_t score = ranking_score(model, options.label);
  std::vector<PairTexts> pairs;
  for (const std::string& text : texts) pairs.push_back({query, text});
  std::vector<double> scores;
  for (const auto& all : pair_scores(session, model, pairs, options.on_cut))
    scores.push_back(all[score]);
  return ranked(scores, options.most);
}

}  // namespace weft
