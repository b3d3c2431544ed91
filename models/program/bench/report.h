// Times of repeated runs, and how figures are shown.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <vector>

namespace weft::program {

/// Figures by name, in the order in which they are shown. Units are in the names
/// (seconds_per_step, planned_bytes, tokens_per_second); names in FLOP/s end in _flops.
using Figures = nlohmann::ordered_json;

/// Seconds of several runs of the same work.
struct Times {
  std::vector<double> seconds;
  double median() const;
  double best() const;
};
/// Runs `work` `warmups` times unmeasured, then `runs` times measured.
Times measure(int warmups, int runs, const std::function<void()>& work);

/// One JSON object on stdout, or a table of name and figure for people.
void print_figures(const Figures& figures, bool json);

}  // namespace weft::program
