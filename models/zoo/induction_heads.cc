// Trains two attention layers without feed-forward layers on repeating blocks of random tokens, so
// that induction heads emerge. Prints the losses and the scores of each head, and plots the
// attention of the heads.
//
//   zoo_induction_heads [OUT.svg [STEPS]]
#include <fmt/format.h>

#include <cstdio>

#include "weft/models/plots/svg_heat_map.h"
#include "weft/models/zoo/experiments/experiment_main.h"
#include "weft/models/zoo/experiments/induction.h"

using namespace weft;

namespace {

void print(std::int64_t step, const zoo::InductionFigures& found) {
  fmt::print("step {:5}  loss of first tokens {:.4f}, of repeated tokens {:.4f}\n", step,
             found.first, found.repeated);
  std::fflush(stdout);
}

std::string run(std::int64_t steps) {
  zoo::InductionOptions options;
  if (steps > 0) options.steps = steps;
  zoo::InductionExperiment experiment(options);
  for (std::int64_t step = 0; step < options.steps; ++step) {
    if (step % 250 == 0) print(step, experiment.evaluate());
    experiment.train();
  }
  const zoo::InductionFigures found = experiment.evaluate();
  print(options.steps, found);

  const zoo::InductionExperiment::Map map = experiment.map();
  std::vector<HeatMap> panels;
  for (std::size_t layer = 0; layer < map.layers.size(); ++layer) {
    for (std::size_t head = 0; head < map.layers[layer].size(); ++head) {
      const double before = found.previous[layer][head], after = found.induction[layer][head];
      fmt::print("layer {} head {}: attention to the previous token {:.3f}, induction {:.3f}\n",
                 layer + 1, head + 1, before, after);
      HeatMap panel = heat_map(map.layers[layer][head]);
      panel.title = fmt::format("{}.{}: previous {:.2f}, induction {:.2f}", layer + 1, head + 1,
                                before, after);
      panel.low = 0;
      panel.high = 1;
      panel.decimals = 1;
      panel.show_values = false;
      panel.show_scale = head + 1 == map.layers[layer].size();
      panel.cell = 6;
      panels.push_back(std::move(panel));
    }
  }
  return svg_heat_maps(
      panels, {.title = fmt::format("Attention in a text that repeats after {} tokens (layer.head)",
                                    map.period),
               .panels_per_row = static_cast<int>(options.decoder.heads)});
}

}  // namespace

int main(int argc, char** argv) { return zoo::experiment_main("induction_heads", run, argc, argv); }
