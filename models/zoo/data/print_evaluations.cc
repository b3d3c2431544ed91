#include "weft/models/zoo/data/print_evaluations.h"

#include <fmt/format.h>

#include <cstdio>

namespace weft::zoo {

void PrintEvaluations::on_evaluation(std::int64_t step, const Evaluation& found, bool) {
  fmt::print("step {:4}  loss {:.4f}", step, found.loss);
  for (const Metric& metric : found.metrics) fmt::print("  {} {:.4f}", metric.name, metric.value);
  fmt::print("\n");
  std::fflush(stdout);
}

}  // namespace weft::zoo
