#include "weft/models/zoo/experiments/induction.h"

#include <fmt/format.h>

#include "weft/graph/functions.h"
#include "weft/models/layers/attention/attention_maps.h"

namespace weft::zoo {
namespace {

constexpr std::int64_t kEvaluationTexts = 512;

/// A batch of texts, i64 [batch, length], with their periods, i64 [batch, 1].
struct Texts {
  Value ids, periods;
};
Texts draw_texts(Arg key, std::int64_t batch, const RepeatedBlocks& texts) {
  const Value periods = random_integers(key, Shape{batch, 1}, texts.shortest, texts.longest + 1);
  // Sorting random numbers yields a random permutation of the vocabulary. The block consists of its
  // first `period` entries.
  const Value order = argsort(uniform(key, Shape{batch, texts.vocab}));
  const Value place = iota(periods.graph(), {batch, texts.length}, 1);
  return {take_along_axis(order, place - place / periods * periods, 1), periods};
}

/// Returns the mean of `v` over the elements selected by `mask`, along `axes` (all if empty).
Value masked_mean(Value v, Value mask, const Axes& axes = {}) {
  const Value weight = cast(mask, v.dtype());
  return sum(v * weight, axes) / sum(broadcast_to(weight, v.shape()), axes);
}

}  // namespace

InductionExperiment::InductionExperiment(const InductionOptions& options) : options_(options) {
  const RepeatedBlocks& texts = options_.texts;
  const auto draw = [&](Program& program, std::int64_t batch) {
    const Texts drawn = draw_texts(graph_.key(program.name()), batch, texts);
    program.output("ids", drawn.ids).output("periods", drawn.periods);
  };
  draw(draw_, options_.batch);
  draw(draw_fresh_, kEvaluationTexts);

  const Dim length = texts.length;
  const Value ids = graph_.input("ids", DType::i64, {"batch", texts.length});
  const Value periods = graph_.input("periods", DType::i64, {"batch", 1});
  const Value logits =
      small_language_model(Scope(graph_, "net"), ids, texts.vocab, options_.decoder);
  const Value next = slice(ids, 1, {.begin = Dim(1)});
  const Value losses =
      cross_entropy(slice(logits, 1, {.end = length - 1}), next, {.reduction = Reduction::none});
  const Value loss = mean(losses);
  train_.output("loss", loss).update(training_step(loss, options_.learning_rate, options_.steps));

  // The token at position t can be predicted if t > period, because the token at position t - 1 has
  // then occurred before.
  const Value known = greater(iota(graph_, {length - 1}, 0) + 1, periods);
  evaluate_.output("first", masked_mean(losses, logical_not(known)))
      .output("repeated", masked_mean(losses, known));
  // True for query i and key j <= i if the token before position j equals the token at position i.
  const Value before = pad(slice(ids, 1, {.end = length - 1}), {{0, 0}, {1, 0}}, {.value = -1});
  const Value causal =
      less_equal(iota(graph_, {length, length}, 1), iota(graph_, {length, length}, 0));
  const Value after_same = logical_and(equal(unsqueeze(ids, 2), unsqueeze(before, 1)), causal);
  const Value has_same = unsqueeze(any(after_same, 2), 1);  // [batch, 1, queries]
  const std::vector<AttentionMap> maps = attention_maps(logits);
  for (std::size_t layer = 0; layer < maps.size(); ++layer) {
    const Value p = maps[layer].probabilities;
    const Value there = sum(p * cast(unsqueeze(after_same, 1), p.dtype()), 3);
    const Value diagonal = cast(
        equal(iota(graph_, {length, length}, 1) + 1, iota(graph_, {length, length}, 0)), p.dtype());
    evaluate_.output(fmt::format("induction {}", layer), masked_mean(there, has_same, {0, 2}))
        .output(fmt::format("previous {}", layer),
                mean(slice(sum(p * diagonal, 3), 2, {.begin = Dim(1)}), {0, 2}));
    for (std::int64_t head = 0; head < options_.decoder.heads; ++head)
      attention_.output(fmt::format("{} {}", layer, head), select(select(p, 1, head), 0, 0));
  }
  session_.emplace(graph_, SessionOptions{.seed = options_.seed, .threads = options_.threads});
}

double InductionExperiment::train() {
  const Results drawn = session_->run(draw_);
  return session_->run(train_, {{"ids", drawn["ids"]}})["loss"].item<float>();
}

InductionFigures InductionExperiment::evaluate() {
  const Results drawn = session_->run(draw_fresh_);
  const Results found =
      session_->run(evaluate_, {{"ids", drawn["ids"]}, {"periods", drawn["periods"]}});
  InductionFigures figures{.first = found["first"].at(0), .repeated = found["repeated"].at(0)};
  for (std::int64_t layer = 0; layer < options_.decoder.layers; ++layer) {
    const auto heads = [&](const char* name) {
      std::vector<double> scores;
      const Tensor& t = found[fmt::format("{} {}", name, layer)];
      for (std::int64_t h = 0; h < t.numel(); ++h) scores.push_back(t.at(h));
      return scores;
    };
    figures.induction.push_back(heads("induction"));
    figures.previous.push_back(heads("previous"));
  }
  return figures;
}

InductionExperiment::Map InductionExperiment::map() {
  const Results drawn = session_->run(draw_fresh_);
  const Results found = session_->run(attention_, {{"ids", drawn["ids"]}});
  Map map{.period = drawn["periods"].data<std::int64_t>()[0]};
  for (std::int64_t layer = 0; layer < options_.decoder.layers; ++layer) {
    std::vector<Tensor>& heads = map.layers.emplace_back();
    for (std::int64_t head = 0; head < options_.decoder.heads; ++head)
      heads.push_back(found[fmt::format("{} {}", layer, head)]);
  }
  return map;
}

}  // namespace weft::zoo
