// Predicts the time of a GPT-2 training step (124M parameters) on 1 to 1,024 machines for several
// network bandwidths. Prints a table and plots the speed-up.
//
//   weft_ranks_simulation OUT.svg [GFLOPS [TOKENS]]
//
// GFLOPS (default: 2000) is the speed of one machine, TOKENS (default: 512) the number of tokens
// per shard. By default, a step has half a million tokens, as in the original training run of
// GPT-2.
#include <fmt/format.h>

#include <cmath>
#include <string>
#include <vector>

#include "weft/core/error.h"
#include "weft/models/fields/numbers.h"
#include "weft/models/plots/svg_plot.h"
#include "weft/models/program/limits/step_model.h"
#include "weft/serialization/files/atomic_file.h"

namespace weft {
namespace {

void simulate(const std::string& picture, double gflops, double tokens) {
  constexpr double kParameters = 124'439'808;
  // The parameters of the token and position embeddings, which are included in kParameters.
  constexpr double kTables = (50257.0 + 1024) * 768;
  constexpr int kShards = 1024;  // per step, independent of the number of machines
  const program::StepCost cost{.shard_flops = 6 * kParameters * tokens,
                               .step_flops = 20 * kParameters,
                               .parameter_bytes = 4 * kParameters,
                               .table_bytes = 4 * kTables,
                               .state_bytes = 8 * kParameters,
                               .sum_bytes = 4 * kParameters};
  fmt::print("GPT-2 124M, {} shards of {:.0f} tokens, {:.0f} GFLOP/s per machine\n", kShards,
             tokens, gflops);
  fmt::print("{:>9} {:>9} {:>10} {:>10} {:>10} {:>10} {:>9}\n", "network", "machines", "compute s",
             "send s", "hidden s", "step s", "speed-up");
  std::vector<PlotSeries> series;
  PlotSeries ideal{.name = "linear speed-up", .dashed = true};
  for (const int gigabits : {10, 25, 100}) {
    PlotSeries& line = series.emplace_back(PlotSeries{.name = fmt::format("{} Gbit/s", gigabits)});
    const program::Network network{.bytes_per_second = gigabits * 1e9 / 8, .latency = 50e-6};
    const double alone = predict_step(cost, 1, kShards, 1e9 * gflops, network).seconds();
    for (int machines = 1; machines <= kShards; machines *= 2) {
      const auto step = predict_step(cost, machines, kShards, 1e9 * gflops, network);
      const double speedup = alone / step.seconds();
      fmt::print("{:>4} Gbit/s {:>7} {:>10.3f} {:>10.3f} {:>10.3f} {:>10.3f} {:>9.1f}\n", gigabits,
                 machines, step.compute, step.communicate, step.hidden, step.seconds(), speedup);
      line.points.emplace_back(machines, speedup);
      if (gigabits == 10) ideal.points.emplace_back(machines, machines);
    }
  }
  series.push_back(ideal);
  const std::string svg =
      svg_line_plot(series, {.title = "Speed-up of a GPT-2 training step over one machine",
                             .x_label = "machines",
                             .y_label = "speed-up",
                             .x_scale = PlotScale::logarithmic,
                             .y_scale = PlotScale::logarithmic,
                             .legend = PlotLegend::top_left});
  AtomicFile file(picture);
  file.write(svg.data(), svg.size());
  file.commit();
}

}  // namespace
}  // namespace weft

int main(int argc, char** argv) {
  const auto number = [&](int i, const char* what, double otherwise) {
    return argc > i ? weft::parse_real(what, argv[i], {.low = 0, .open_low = true}) : otherwise;
  };
  try {
    if (argc < 2) throw weft::ArgumentError("OUT.svg is missing");
    weft::simulate(argv[1], number(2, "GFLOPS", 2000), number(3, "TOKENS", 512));
  } catch (const weft::ArgumentError& e) {
    fmt::print(stderr, "{}\nusage: weft_ranks_simulation OUT.svg [GFLOPS] [TOKENS]\n", e.what());
    return 2;
  } catch (const weft::Error& e) {
    fmt::print(stderr, "{}\n", e.what());
    return 1;
  }
  return 0;
}
