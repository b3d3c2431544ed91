#include "weft/models/zoo/experiments/regression.h"

#include <algorithm>

#include "weft/graph/functions.h"
#include "weft/models/layers/linear.h"

namespace weft::zoo {
namespace {

constexpr std::int64_t kEvaluationBatch = 512;

Value first_points(Value v, std::int64_t count) { return slice(v, 1, {.end = Dim(count)}); }

/// Returns the least-squares solution w [batch, inputs, 1] of x w = y, with x [batch, count,
/// inputs] and y [batch, count, 1]. If count < inputs, returns the minimum-norm solution.
Value least_squares(Value x, Value y, std::int64_t count, std::int64_t inputs) {
  if (count >= inputs) {
    const QrFactors f = qr(x);
    return triangular_solve(f.r, matmul(f.q, y, {.transpose_a = true}), {.upper = true});
  }
  const Value factor = cholesky(matmul(x, x, {.transpose_b = true}));
  return matmul(x, cholesky_solve(factor, y), {.transpose_a = true});
}

/// Returns the prediction at every point. For each point, w is the result of solve(x, y, count) for
/// the `count` points before it.
template <class Solve>
Value predictions(Value x, Value y, const Solve& solve) {
  const DType dtype = x.dtype();
  x = cast(x, DType::f64);
  y = unsqueeze(cast(y, DType::f64), 2);
  const std::int64_t points = x.size(1).constant();
  std::vector<Value> columns = {zeros_like(select(y, 1, 0))};
  for (std::int64_t k = 1; k < points; ++k) {
    const Value w = solve(first_points(x, k), first_points(y, k), k);
    columns.push_back(squeeze(matmul(unsqueeze(select(x, 1, k), 1), w), 2));
  }
  return cast(concat(columns, 1), dtype);
}

}  // namespace

Regressions draw_regressions(Arg key, std::int64_t batch, const RegressionTask& task) {
  const Value x = normal(key, Shape{batch, task.points, task.inputs});
  const Value w = normal(key, Shape{batch, task.inputs, 1});
  const Value clean = squeeze(matmul(x, w), 2);
  if (task.noise == 0) return {x, clean, clean};
  return {x, clean + normal(key, Shape{batch, task.points}, 0, task.noise), clean};
}

Value least_squares_predictions(Value x, Value y) {
  const std::int64_t inputs = x.size(2).constant();
  return predictions(x, y, [&](Value xs, Value ys, std::int64_t count) {
    return least_squares(xs, ys, count, inputs);
  });
}

Value ridge_predictions(Value x, Value y, double penalty) {
  const std::int64_t inputs = x.size(2).constant();
  std::vector<double> diagonal(static_cast<std::size_t>(inputs * inputs), 0);
  for (std::int64_t i = 0; i < inputs; ++i)
    diagonal[static_cast<std::size_t>(i * inputs + i)] = penalty;
  const Value ridge = x.graph().constant(Tensor::of({inputs, inputs}, diagonal));
  return predictions(x, y, [&](Value xs, Value ys, std::int64_t) {
    const Value factor = cholesky(matmul(xs, xs, {.transpose_a = true}) + ridge);
    return cholesky_solve(factor, matmul(xs, ys, {.transpose_a = true}));
  });
}

Value decoder_predictions(const Scope& scope, Value x, Value y, const SmallDecoder& sizes) {
  const Dim &batch = x.size(0), &points = x.size(1), &inputs = x.size(2);
  const Value answers = pad(unsqueeze(y, 2), {{0, 0}, {0, 0}, {0, inputs - 1}});
  const Value tokens = reshape(stack({x, answers}, 2), Shape{batch, points * 2, inputs});
  const Value h =
      small_decoder(scope / "decoder", linear(scope / "in", tokens, sizes.width), sizes);
  const Value prediction = reshape(linear(scope / "out", h, 1), Shape{batch, points, 2});
  return select(prediction, 2, 0);
}

RegressionExperiment::RegressionExperiment(const Options& options) : options_(options) {
  const RegressionTask& task = options_.task;
  const auto draw = [&](Program& program, std::int64_t batch) {
    const Regressions drawn = draw_regressions(graph_.key(program.name()), batch, task);
    program.output("x", drawn.x).output("y", drawn.y).output("clean", drawn.clean);
  };
  draw(draw_, options_.batch);
  draw(draw_fresh_, kEvaluationBatch);

  const Value x = graph_.input("x", DType::f32, {"batch", task.points, task.inputs});
  const Value y = graph_.input("y", DType::f32, {"batch", task.points});
  const Value clean = graph_.input("clean", DType::f32, {"batch", task.points});
  const Value prediction = decoder_predictions(Scope(graph_, "net"), x, y, options_.decoder);
  const Value loss = mean(square(prediction - y));
  train_.output("loss", loss).update(training_step(loss, options_.learning_rate, options_.steps));
  const auto measure = [&](std::string_view name, Value predicted) {
    const Value error = square(cast(predicted - clean, DType::f64));
    evaluate_.output(name, mean(error, 0) / static_cast<double>(task.inputs));
  };
  measure("zero", zeros_like(y));
  measure("decoder", prediction);
  measure("least squares", least_squares_predictions(x, y));
  if (task.noise > 0) measure("ridge", ridge_predictions(x, y, task.noise * task.noise));
  session_.emplace(graph_, SessionOptions{.seed = options_.seed, .threads = options_.threads});
}

double RegressionExperiment::train() {
  const Results drawn = session_->run(draw_);
  return session_->run(train_, {{"x", drawn["x"]}, {"y", drawn["y"]}})["loss"].item<float>();
}

RegressionErrors RegressionExperiment::evaluate(std::int64_t prompts) {
  const auto points = static_cast<std::size_t>(options_.task.points);
  const std::int64_t batches =
      std::max<std::int64_t>(1, (prompts + kEvaluationBatch - 1) / kEvaluationBatch);
  RegressionErrors errors;
  for (std::int64_t b = 0; b < batches; ++b) {
    const Results drawn = session_->run(draw_fresh_);
    const Results found =
        session_->run(evaluate_, {{"x", drawn["x"]}, {"y", drawn["y"]}, {"clean", drawn["clean"]}});
    const auto add = [&](std::string_view name, std::vector<double>& sums) {
      if (!found.contains(name)) return;
      sums.resize(points, 0);
      for (std::size_t k = 0; k < points; ++k)
        sums[k] += found[name].at(static_cast<std::int64_t>(k)) / static_cast<double>(batches);
    };
    add("zero", errors.zero);
    add("decoder", errors.decoder);
    add("least squares", errors.least_squares);
    add("ridge", errors.ridge);
  }
  return errors;
}

}  // namespace weft::zoo
