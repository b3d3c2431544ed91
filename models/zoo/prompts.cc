// In-context learning. A decoder that is trained only to predict the next symbol learns to infer
// tasks (copy, "+1" and other shifts) from the examples in its text, although a quarter of the
// examples are wrong. Prints and plots the accuracies of the decoder and of Bayes' rule for each
// number of preceding examples.
//
//   zoo_prompts [OUT.svg [STEPS]]
#include <fmt/format.h>

#include <cstdio>

#include "weft/models/plots/svg_plot.h"
#include "weft/models/zoo/experiments/experiment_main.h"
#include "weft/models/zoo/experiments/prompts.h"

using namespace weft;

namespace {

constexpr std::int64_t kTexts = 20000;

std::string run(std::int64_t steps) {
  zoo::PromptOptions options;
  if (steps > 0) options.steps = steps;
  zoo::PromptExperiment experiment(options);
  double loss = 0;
  for (std::int64_t step = 1; step <= options.steps; ++step) {
    loss += experiment.train() / 250;
    if (step % 250 != 0) continue;
    fmt::print("step {:5}  loss {:.4f}\n", step, loss);
    std::fflush(stdout);
    loss = 0;
  }

  const zoo::PromptAccuracies found = experiment.evaluate(kTexts);
  fmt::print("accuracy in % over {} texts\nexamples   copy     +1    all  Bayes\n", kTexts);
  PlotSeries copy{.name = "copy"}, plus_one{.name = "+1"}, all{.name = "all eight tasks"},
      bayes{.name = "all eight, by Bayes' rule", .dashed = true, .colour = 5};
  for (std::size_t k = 0; k < found.all.size(); ++k) {
    fmt::print("{:8} {:6.2f} {:6.2f} {:6.2f} {:6.2f}\n", k, 100 * found.copy[k],
               100 * found.plus_one[k], 100 * found.all[k], 100 * found.bayes[k]);
    const auto shown = static_cast<double>(k);
    copy.points.emplace_back(shown, 100 * found.copy[k]);
    plus_one.points.emplace_back(shown, 100 * found.plus_one[k]);
    all.points.emplace_back(shown, 100 * found.all[k]);
    bayes.points.emplace_back(shown, 100 * found.bayes[k]);
  }
  return svg_line_plot({copy, plus_one, all, bayes},
                       {.title = "Inferring the task from examples, a quarter of which are wrong",
                        .x_label = "examples shown",
                        .y_label = "accuracy, %",
                        .legend = PlotLegend::bottom_right,
                        .y_low = 0,
                        .y_high = 100});
}

}  // namespace

int main(int argc, char** argv) { return zoo::experiment_main("prompts", run, argc, argv); }
