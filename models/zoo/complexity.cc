// Measures the cost of sequence layers for length n and width d, and the number of steps that
// information needs to travel from one end of the sequence to the other. Compares both with theory
// (Vaswani et al. 2017, table 1).
//
//   zoo_complexity [OUT.svg [STEPS]]
//
// STEPS (default: 5) is the number of measured lengths and widths. Each length or width is twice
// the previous one.
#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "weft/models/plots/svg_plot.h"
#include "weft/models/zoo/experiments/experiment_main.h"
#include "weft/models/zoo/experiments/sequence_layers.h"

using namespace weft;

namespace {

constexpr std::int64_t kShortest = 256, kNarrowest = 64;  // smallest length and width
constexpr std::int64_t kWidth = 64, kLength = 512;        // fixed while the other varies
constexpr std::int64_t kShortestPath = 32;  // smallest length for paths; larger than the window

using Numbers = std::vector<double>;

/// Adds a line with the measured values and a dashed line with the theoretical slope through the
/// last measured point. A line with an empty name is not listed in the legend, because all panels
/// share one legend.
void add(LinePlot& plot, const std::string& name, const Numbers& x, const Numbers& y,
         double exponent) {
  const int colour = static_cast<int>(plot.series.size() / 2);
  PlotSeries measured{.name = name, .colour = colour}, theory{.dashed = true, .colour = colour};
  for (std::size_t i = 0; i < x.size(); ++i) {
    measured.points.emplace_back(x[i], y[i]);
    theory.points.emplace_back(x[i], y.back() * std::pow(x[i] / x.back(), exponent));
  }
  plot.series.push_back(measured);
  plot.series.push_back(theory);
}

LinePlot panel(const std::string& title, const std::string& x, const std::string& y) {
  return {.options = {.title = title,
                      .x_label = x,
                      .y_label = y,
                      .width = 460,
                      .height = 440,
                      .x_scale = PlotScale::logarithmic,
                      .y_scale = PlotScale::logarithmic,
                      .legend = PlotLegend::top_left}};
}

std::string run(std::int64_t steps) {
  if (steps == 0) steps = 5;
  LinePlot lengths = panel(fmt::format("Width {}", kWidth), "tokens n", "milliseconds"),
           widths = panel(fmt::format("{} tokens", kLength), "width d", "milliseconds"),
           paths = panel("Path from end to end", "tokens n", "steps");
  fmt::print("{:20} {:>9} {:>18} {:>18}   {:>5} {}\n", "", "theory", "FLOPs", "time", "path",
             "  steps measured");
  for (const zoo::SequenceLayer& layer : zoo::sequence_layers()) {
    Numbers ns, ds, fars, n_flops, d_flops, n_times, d_times, path;
    for (std::int64_t i = 0; i < steps; ++i) {
      const std::int64_t n = kShortest << i, d = kNarrowest << i, far = kShortestPath << i;
      ns.push_back(static_cast<double>(n));
      ds.push_back(static_cast<double>(d));
      fars.push_back(static_cast<double>(far));
      n_flops.push_back(zoo::layer_flops(layer, n, kWidth));
      d_flops.push_back(zoo::layer_flops(layer, kLength, d));
      n_times.push_back(1000 * zoo::layer_seconds(layer, n, kWidth));
      d_times.push_back(1000 * zoo::layer_seconds(layer, kLength, d));
      path.push_back(static_cast<double>(zoo::path_length(layer, far)));
    }
    std::string steps_taken;
    for (std::size_t i = 0; i < path.size(); ++i)
      steps_taken += fmt::format("  {} tokens {}", fars[i], path[i]);
    const auto fit = zoo::fitted_exponent;
    fmt::print("{:20} {:>9}    n^{:.2f} d^{:.2f}    n^{:.2f} d^{:.2f}   {:>5}{}\n", layer.name,
               layer.cost, fit(ns, n_flops), fit(ds, d_flops), fit(ns, n_times), fit(ds, d_times),
               layer.path, steps_taken);
    std::fflush(stdout);
    add(lengths, "", ns, n_times, layer.by_n);
    add(widths, "", ds, d_times, layer.by_d);
    add(paths, layer.name, fars, path, layer.path_by_n);
  }
  paths.options.legend = PlotLegend::beside;
  paths.options.width += 170;
  return svg_line_plots({lengths, widths, paths},
                        "Cost of sequence layers: measured, and theoretical slopes (dashed)", 3);
}

}  // namespace

int main(int argc, char** argv) { return zoo::experiment_main("complexity", run, argc, argv); }
