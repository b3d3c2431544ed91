#include "weft/models/zoo/data/print_progress.h"

#include <fmt/format.h>

#include <cstdio>

namespace weft::zoo {

void PrintProgress::on_step(const StepReport& report) {
  if (every_ == 0 || (report.step % every_ != 0 && report.step != report.steps)) return;
  fmt::print("step {:4}/{}  loss {:.4f}  {:.0f} {}/s\n", report.step, report.steps, report.loss,
             report.items_per_second, report.unit);
  std::fflush(stdout);
}

void PrintProgress::on_evaluation(std::int64_t step, const Evaluation& found, bool whole) {
  fmt::print("step {:4}  validation loss {:.4f}", step, found.loss);
  for (const Metric& metric : found.metrics) fmt::print("  {} {:.4f}", metric.name, metric.value);
  fmt::print("{}\n", whole ? " (entire validation set)" : "");
  std::fflush(stdout);
}

}  // namespace weft::zoo
