// Timing of repeated runs, and output of figures.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <vector>

namespace weft::program {

/// Figures by name, in the order in which they are printed. Units are in the names
/// (seconds_per_step, planned_bytes, tokens_per_second); names of FLOP counts end in flops.
using Figures = nlohmann::ordered_json;

/// The seconds of several runs of the same work.
struct Times {
  std::vector<double> seconds;
  double median() const;
  double best() const;
};
/// Runs `work` `warmups` times without timing it, then `runs` times with timing.
Times measure(int warmups, int runs, const std::function<void()>& work);

/// Prints the figures to stdout: as one JSON object, or as a table of names and figures.
void print_figures(const Figures& figures, bool json);

}  // namespace weft::program
