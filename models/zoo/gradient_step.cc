// Compares linear attention layers with hand-written weights and steps of gradient descent (von
// Oswald et al. 2023). Prints and plots their predictions for the same regressions, and the largest
// difference between them.
//
//   zoo_gradient_step [OUT.svg [STEPS]]
//
// STEPS (default: 12) is the maximum number of steps and layers.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "weft/graph/functions.h"
#include "weft/graph/run/session.h"
#include "weft/models/plots/svg_plot.h"
#include "weft/models/zoo/experiments/experiment_main.h"
#include "weft/models/zoo/experiments/linear_attention.h"

using namespace weft;

namespace {

constexpr std::int64_t kRegressions = 2000, kInputs = 5, kPoints = 20;
constexpr double kNoise = 0.5, kRate = 0.5;
constexpr int kDefaultSteps = 12;     // default for STEPS
constexpr std::int64_t kShown = 300;  // number of predictions in the plot

std::string run(std::int64_t requested_steps) {
  const int max_steps = requested_steps == 0 ? kDefaultSteps : static_cast<int>(requested_steps);
  // 1. Regressions y = w . x + noise with one query each. Gradient descent starts from W = 0.
  Graph g;
  const Variable key = g.key("regressions");
  const Value x = normal(key, Shape{kRegressions, kPoints + 1, kInputs});
  const Value w = normal(key, Shape{kRegressions, kInputs, 1});
  const Value clean = matmul(x, w);
  const Value y = clean + normal(key, Shape{kRegressions, kPoints + 1, 1}, 0, kNoise);
  const auto shown = [](Value v) { return slice(v, 1, {.end = Dim(kPoints)}); };
  const auto asked = [](Value v) { return slice(v, 1, {.begin = Dim(kPoints)}); };
  const zoo::RegressionPoints points{shown(x), shown(y), asked(x),
                                     zeros(g, DType::f32, Shape{1, kInputs})};

  // 2. The predictions of 0 to `max_steps` layers, and of the same numbers of gradient descent
  // steps.
  Program program("compare");
  const auto error = [&](Value predicted) { return mean(square(predicted - asked(clean))); };
  for (int n = 0; n <= max_steps; ++n) {
    const Value layers = zoo::attention_predictions(points, kRate, n),
                steps = zoo::gradient_descent_predictions(points, kRate, n);
    program.output(fmt::format("apart {}", n), max(abs(layers - steps)))
        .output(fmt::format("layers {}", n), error(layers))
        .output(fmt::format("steps {}", n), error(steps));
    if (n == 1) program.output("layer", layers).output("step", steps);
  }
  const QrFactors f = qr(points.x);
  const Value best =
      triangular_solve(f.r, matmul(f.q, points.y, {.transpose_a = true}), {.upper = true});
  program.output("least squares", error(matmul(points.query, best)));
  Session session(g, {.seed = 1});
  const Results found = session.run(program);

  // 3. Printed results and plots.
  PlotSeries same{.name = "equal", .dashed = true, .colour = 5},
      one{.name = "query of a regression", .scattered = true, .colour = 0},
      steps{.name = "steps of gradient descent", .colour = 1},
      layers{.name = "layers of linear attention", .scattered = true, .colour = 0},
      least{.name = "least squares", .dashed = true, .colour = 2};
  double furthest = 0;
  for (std::int64_t i = 0; i < kShown; ++i) {
    one.points.emplace_back(found["step"].at(i), found["layer"].at(i));
    furthest = std::max(furthest, std::abs(found["step"].at(i)));
  }
  same.points = {{-furthest, -furthest}, {furthest, furthest}};
  for (int n = 0; n <= max_steps; ++n) {
    const auto figure = [&](const char* name) {
      return found[fmt::format("{} {}", name, n)].at(0);
    };
    fmt::print("{:2} steps: error {:.6f}  {:2} layers: {:.6f}  largest difference {:.1e}\n", n,
               figure("steps"), n, figure("layers"), figure("apart"));
    steps.points.emplace_back(n, figure("steps"));
    layers.points.emplace_back(n, figure("layers"));
    least.points.emplace_back(n, found["least squares"].at(0));
  }
  fmt::print("least squares: error {:.6f}\n", found["least squares"].at(0));
  return svg_line_plots({{{same, one},
                          {.title = "Predictions of one layer and of one step",
                           .x_label = "one step of gradient descent",
                           .y_label = "one layer of linear attention",
                           .width = 500,
                           .height = 460,
                           .legend = PlotLegend::top_left}},
                         {{steps, layers, least},
                          {.title = "Error by the number of layers or steps",
                           .x_label = "steps or layers",
                           .y_label = "mean squared error",
                           .width = 560,
                           .height = 460}}},
                        "Linear attention performs gradient descent");
}

}  // namespace

int main(int argc, char** argv) { return zoo::experiment_main("gradient_step", run, argc, argv); }
