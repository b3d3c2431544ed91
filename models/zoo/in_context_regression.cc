// Trains decoders on in-context linear regression, with and without noise. For each number of
// preceding points, compares their errors with the errors of least squares, ridge regression and
// predicting zero.
//
//   zoo_in_context_regression [OUT.svg [STEPS]]
#include <fmt/format.h>

#include <cstdio>

#include "weft/models/plots/svg_plot.h"
#include "weft/models/zoo/experiments/experiment_main.h"
#include "weft/models/zoo/experiments/regression.h"

using namespace weft;

namespace {

constexpr std::int64_t kPrompts = 20000;
constexpr double kNoise = 0.5;

PlotSeries line(const char* name, const std::vector<double>& errors, int colour) {
  PlotSeries series{.name = name, .colour = colour};
  for (std::size_t k = 0; k < errors.size(); ++k)
    series.points.emplace_back(static_cast<double>(k), errors[k]);
  return series;
}

/// Trains a decoder on prompts with this amount of noise, evaluates it and returns the plot.
LinePlot learn(double noise, std::int64_t steps) {
  zoo::RegressionExperiment::Options options{.task = {.noise = noise}};
  if (steps > 0) options.steps = steps;
  zoo::RegressionExperiment experiment(options);
  fmt::print("noise with standard deviation {}\n", noise);
  double loss = 0;
  for (std::int64_t step = 1; step <= options.steps; ++step) {
    loss += experiment.train() / 500;
    if (step % 500 != 0) continue;
    fmt::print("step {:6}  loss {:.4f}\n", step, loss);
    std::fflush(stdout);
    loss = 0;
  }

  const zoo::RegressionErrors found = experiment.evaluate(kPrompts);
  fmt::print("error over {} prompts (predicting 0: 1)\npoints   decoder  least squares     ridge\n",
             kPrompts);
  for (std::size_t k = 0; k < found.zero.size(); ++k) {
    fmt::print("{:6} {:9.5f} {:14.5f} {}\n", k, found.decoder[k], found.least_squares[k],
               found.ridge.empty() ? "" : fmt::format("{:9.5f}", found.ridge[k]));
  }
  const auto asked = static_cast<std::size_t>(2 * options.task.inputs);
  if (noise > 0) {
    fmt::print(
        "after {} points: {:.3f} times the error of least squares, {:.3f} times the error of "
        "ridge\n",
        asked, found.decoder[asked] / found.least_squares[asked],
        found.decoder[asked] / found.ridge[asked]);
  } else {
    fmt::print("after {} points: error {:.5f} above the error of least squares\n", asked,
               found.decoder[asked] - found.least_squares[asked]);
  }
  LinePlot plot{
      .series = {line("decoder", found.decoder, 0), line("least squares", found.least_squares, 1)},
      .options = {.title = noise == 0 ? "Without noise" : "With noise",
                  .x_label = "points shown",
                  .y_label = "squared error (predicting 0: 1)",
                  .width = 560,
                  .y_scale = PlotScale::logarithmic,
                  .legend = noise == 0 ? PlotLegend::bottom_left : PlotLegend::top_right,
                  .y_low = noise == 0 ? 1e-4 : 0.02,
                  .y_high = noise == 0 ? 2.0 : 10.0}};
  if (noise > 0) plot.series.push_back(line("ridge", found.ridge, 2));
  PlotSeries zero = line("zero", found.zero, 5);
  zero.dashed = true;
  plot.series.push_back(zero);
  return plot;
}

std::string run(std::int64_t steps) {
  return svg_line_plots({learn(0, steps), learn(kNoise, steps)},
                        "In-context linear regression, three inputs");
}

}  // namespace

int main(int argc, char** argv) {
  return zoo::experiment_main("in_context_regression", run, argc, argv);
}
