// Timing of repeated runs, and output of results.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <vector>

namespace weft::program {

/// Benchmark results by name, in the order in which they are printed. The names include the units
/// (seconds_per_step, planned_bytes, tokens_per_second). Names of FLOP counts end in "flops".
using Figures = nlohmann::ordered_json;

/// Durations in seconds of several runs of the same work.
struct Times {
  std::vector<double> seconds;
  double median() const;
  double best() const;
};
/// Runs `work` `warmups` times without timing it, then `runs` times with timing.
Times measure(int warmups, int runs, const std::function<void()>& work);

/// Prints the results to stdout, as one JSON object or as a table with one line per result.
void print_figures(const Figures& figures, bool json);

}  // namespace weft::program
