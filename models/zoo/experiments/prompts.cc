#include "weft/models/zoo/experiments/prompts.h"

#include <algorithm>
#include <cmath>

#include "weft/graph/functions.h"

namespace weft::zoo {
namespace {

constexpr std::int64_t kPromptTexts = 512;

/// Returns v modulo `symbols`, for 0 <= v < 2 * symbols.
Value on_circle(Value v, std::int64_t symbols) { return where(v < symbols, v, v - symbols); }

/// A batch of texts. x and y are [batch, examples], and shift is [batch, 1]; all are i64.
struct Prompts {
  Value x, y, shift;
};
Prompts draw_prompts(Arg key, std::int64_t batch, const ShiftPrompts& texts) {
  const Shape shape{batch, texts.examples};
  const Value x = random_integers(key, shape, 0, texts.symbols);
  const Value shift = random_integers(key, Shape{batch, 1}, 0, texts.shifts);
  const Value right = on_circle(x + shift, texts.symbols);
  const Value other =
      on_circle(right + random_integers(key, shape, 1, texts.symbols), texts.symbols);
  return {x, where(bernoulli(key, shape, texts.wrong), other, right), shift};
}

/// Returns the answer to every x, [batch, examples], under the most likely shift given the
/// preceding examples. The shift is computed by Bayes' rule. The likelihood of a shift is the
/// product of the probabilities of all y in these examples.
Value bayes_answers(Value x, Value y, const ShiftPrompts& texts) {
  Graph& graph = x.graph();
  const Value shifts = arange(graph, Dim(texts.shifts));
  const Value fits = equal(unsqueeze(y, 2), on_circle(unsqueeze(x, 2) + shifts, texts.symbols));
  const double right = std::log(1 - texts.wrong),
               wrong = std::log(texts.wrong / static_cast<double>(texts.symbols - 1));
  const Value evidence = cumsum(cast(fits, DType::f64) * (right - wrong), 1, {.exclusive = true});
  return on_circle(x + argmax(evidence, 2), texts.symbols);
}

}  // namespace

PromptExperiment::PromptExperiment(const PromptOptions& options) : options_(options) {
  const ShiftPrompts& texts = options_.texts;
  const auto draw = [&](Program& program, std::int64_t batch) {
    const Prompts drawn = draw_prompts(graph_.key(program.name()), batch, texts);
    program.output("x", drawn.x).output("y", drawn.y).output("shift", drawn.shift);
  };
  draw(draw_, options_.batch);
  draw(draw_fresh_, kPromptTexts);

  const Value x = graph_.input("x", DType::i64, {"batch", texts.examples});
  const Value y = graph_.input("y", DType::i64, {"batch", texts.examples});
  const Value shift = graph_.input("shift", DType::i64, {"batch", 1});
  const std::int64_t length = 2 * texts.examples;
  const Value ids = reshape(stack({x, y}, 2), Shape{x.size(0), length});
  const Value logits =
      small_language_model(Scope(graph_, "net"), ids, texts.symbols, options_.decoder);
  const Value loss =
      cross_entropy(slice(logits, 1, {.end = Dim(length - 1)}), slice(ids, 1, {.begin = Dim(1)}));
  train_.output("loss", loss).update(training_step(loss, options_.learning_rate, options_.steps));

  // The answer to x_k is the prediction at position 2 k, the position of x_k.
  const Value predicted = argmax(slice(logits, 1, {.step = 2}), 2);
  const Value rule = on_circle(x + shift, texts.symbols);
  const auto count = [&](std::string_view name, Value answers, Value texts_of_it) {
    const Value counted = cast(texts_of_it, DType::f64);
    evaluate_.output(name, sum(cast(equal(answers, rule), DType::f64) * counted, 0))
        .output(std::string(name) + " texts", sum(counted));
  };
  const Value every = greater_equal(shift, 0);
  count("copy", predicted, equal(shift, 0));
  count("plus one", predicted, equal(shift, 1));
  count("all", predicted, every);
  count("bayes", bayes_answers(x, y, texts), every);
  session_.emplace(graph_, SessionOptions{.seed = options_.seed, .threads = options_.threads});
}

double PromptExperiment::train() {
  const Results drawn = session_->run(draw_);
  return session_->run(train_, {{"x", drawn["x"]}, {"y", drawn["y"]}})["loss"].item<float>();
}

PromptAccuracies PromptExperiment::evaluate(std::int64_t texts) {
  const auto examples = static_cast<std::size_t>(options_.texts.examples);
  const auto zeros = std::vector<double>(examples, 0);
  PromptAccuracies found{zeros, zeros, zeros, zeros};
  const std::pair<std::string, std::vector<double>*> lines[] = {{"copy", &found.copy},
                                                                {"plus one", &found.plus_one},
                                                                {"all", &found.all},
                                                                {"bayes", &found.bayes}};
  double counts[4] = {};
  for (std::int64_t done = 0; done == 0 || done < texts; done += kPromptTexts) {
    const Results drawn = session_->run(draw_fresh_);
    const Results r =
        session_->run(evaluate_, {{"x", drawn["x"]}, {"y", drawn["y"]}, {"shift", drawn["shift"]}});
    for (std::size_t i = 0; i < 4; ++i) {
      counts[i] += r[lines[i].first + " texts"].at(0);
      for (std::size_t k = 0; k < examples; ++k)
        (*lines[i].second)[k] += r[lines[i].first].at(static_cast<std::int64_t>(k));
    }
  }
  for (std::size_t i = 0; i < 4; ++i) {
    for (double& share : *lines[i].second) share /= std::max(counts[i], 1.0);
  }
  return found;
}

}  // namespace weft::zoo
