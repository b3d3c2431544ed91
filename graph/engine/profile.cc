#include "weft/graph/engine/profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace weft {
namespace {

std::string where(const Plan& plan, StepId step) {
  const Node* node = plan.steps[step].node;
  return node == nullptr ? std::string() : node->graph().where(*node);
}

}  // namespace

double Profile::now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void Profile::record(const std::shared_ptr<const Plan>& plan, StepId step, double begin,
                     double end) {
  PlanTimes& times = plans_[plan.get()];
  if (times.plan == nullptr) {
    times.plan = plan;
    times.steps.resize(plan->steps.size());
  }
  StepTimes& t = times.steps[step];
  ++t.runs;
  t.seconds += end - begin;
  t.least = t.runs == 1 ? end - begin : std::min(t.least, end - begin);
}

void Profile::clear() { plans_.clear(); }

std::vector<Profile::Entry> Profile::collect(bool nodes) const {
  std::map<std::pair<std::string, std::string>, Entry> by_name;
  for (const auto& [key, times] : plans_) {
    for (const StepId s : times.steps.ids()) {
      if (times.steps[s].runs == 0) continue;
      const PlanStep& step = times.plan->steps[s];
      const std::string name = nodes                  ? times.plan->step_name(s)
                               : step.node == nullptr ? std::string("copy")
                                                      : step.node->op().name;
      const std::string place = nodes ? where(*times.plan, s) : std::string();
      Entry& e = by_name[{name, place}];
      e.name = name;
      e.where = place;
      e.runs += times.steps[s].runs;
      e.seconds += times.steps[s].seconds;
      e.least_seconds += times.steps[s].least * static_cast<double>(times.steps[s].runs);
      e.flops += step.flops * static_cast<double>(times.steps[s].runs);
      e.bytes += step.bytes * static_cast<double>(times.steps[s].runs);
    }
  }
  std::vector<Entry> result;
  for (auto& [key, entry] : by_name) result.push_back(std::move(entry));
  std::stable_sort(result.begin(), result.end(),
                   [](const Entry& a, const Entry& b) { return a.seconds > b.seconds; });
  return result;
}

std::vector<Profile::Entry> Profile::entries() const { return collect(true); }
std::vector<Profile::Entry> Profile::op_entries() const { return collect(false); }

std::string Profile::table(std::size_t rows) const {
  std::string text;
  const auto add = [&](const std::vector<Entry>& all, std::string_view what) {
    double total = 0, least = 0;
    for (const Entry& e : all) {
      total += e.seconds;
      least += e.least_seconds;
    }
    text += fmt::format("{:>10} {:>6} {:>10} {:>8} {:>10} {:>9}  {}\n", "ms", "%", "least ms",
                        "runs", "GFLOP/s", "GB/s", what);
    for (std::size_t i = 0; i < all.size() && i < rows; ++i) {
      const Entry& e = all[i];
      text +=
          fmt::format("{:>10.3f} {:>6.1f} {:>10.3f} {:>8} {:>10.2f} {:>9.2f}  {}{}\n",
                      e.seconds * 1e3, total > 0 ? 100 * e.seconds / total : 0.0,
                      e.least_seconds * 1e3, e.runs, e.flops_per_second() * 1e-9,
                      e.bytes_per_second() * 1e-9, e.name, e.where.empty() ? "" : "  " + e.where);
    }
    if (all.size() > rows) text += fmt::format("and {} more\n", all.size() - rows);
    text += fmt::format("{:>10.3f} ms in total, {:.3f} ms if every run is as fast as the fastest\n",
                        total * 1e3, least * 1e3);
  };
  add(op_entries(), "op");
  text += "\n";
  add(entries(), "node");
  return text;
}

}  // namespace weft
