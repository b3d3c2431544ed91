#include "weft/models/program/bench/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string>

#include "weft/models/fields/numbers.h"
#include "weft/models/program/terminal/console.h"

namespace weft::program {
namespace {

bool ends_with(const std::string& text, std::string_view end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

std::string shown(const std::string& name, const Figures& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_integer() && !ends_with(name, "_bytes")) {
    return grouped(value.get<std::int64_t>());
  }
  if (!value.is_number()) return value.dump();
  const auto number = value.get<double>();
  if (ends_with(name, "_bytes")) return short_bytes(number);
  if (ends_with(name, "_bytes_per_second")) return short_bytes(number) + "/s";
  if (ends_with(name, "flops")) return short_number(number);
  return fmt::format("{:.4g}", number);
}

}  // namespace

double Times::median() const {
  if (seconds.empty()) return 0;
  std::vector<double> sorted = seconds;
  std::sort(sorted.begin(), sorted.end());
  const std::size_t middle = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

double Times::best() const {
  return seconds.empty() ? 0 : *std::min_element(seconds.begin(), seconds.end());
}

Times measure(int warmups, int runs, const std::function<void()>& work) {
  Times times;
  for (int i = 0; i < warmups; ++i) work();
  for (int i = 0; i < runs; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
    times.seconds.push_back(elapsed.count());
  }
  return times;
}

void print_figures(const Figures& figures, bool json) {
  if (json) {
    say("{}\n", figures.dump());
    return;
  }
  std::size_t width = 0;
  for (const auto& [name, value] : figures.items()) width = std::max(width, name.size());
  for (const auto& [name, value] : figures.items()) {
    say("{:<{}}  {}\n", name, width, shown(name, value));
  }
}

}  // namespace weft::program
