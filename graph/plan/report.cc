// Text, memory and cost reports of plans.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "weft/graph/plan/control_plan.h"
#include "weft/graph/plan/offsets.h"
#include "weft/graph/plan/plan.h"
#include "weft/graph/plan/report_text.h"
#include "weft/ops/fusion/tile_program.h"

namespace weft {
namespace {

std::string type_text(const PlanValue& v) {
  return fmt::format("{}{}", dtype_name(v.dtype), to_string(v.sizes));
}

/// Returns the name of the op, followed by a summary of the fused steps for fused ops and products.
std::string op_text(const Node& node) {
  const Attribute* program = node.attributes().find("program");
  if (program == nullptr) return node.op().name;
  const std::string steps =
      summary(TileProgram::parse(std::get<std::string>(*program), &node.graph().ops()));
  const std::size_t product = node.op().name.find("matmul_fused");
  if (product != std::string::npos) return node.op().name.substr(0, product) + "matmul+" + steps;
  if (node.op().name == "conv2d_fused") return "conv2d+" + steps;
  if (!node.op().name.starts_with("fused")) return node.op().name;
  const Attribute* reduction = node.attributes().find("reduction");
  return "fused " + steps + (reduction == nullptr ? "" : "+" + std::get<std::string>(*reduction));
}

}  // namespace

std::string bytes_text(double bytes) {
  const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  int unit = 0;
  for (; bytes >= 1024 && unit < 4; ++unit) bytes /= 1024;
  return unit == 0 ? fmt::format("{:.0f} B", bytes) : fmt::format("{:.1f} {}", bytes, units[unit]);
}

std::string flops_text(double flops) {
  const char* units[] = {"", "k", "M", "G", "T", "P"};
  int unit = 0;
  for (; flops >= 1000 && unit < 5; ++unit) flops /= 1000;
  return fmt::format("{:.{}f} {}FLOP", flops, unit == 0 ? 0 : 2, units[unit]);
}

std::string Plan::step_name(StepId s) const {
  const PlanStep& step = steps[s];
  if (step.node == nullptr) return "copy";
  const Node& node = *step.node;
  const Graph& graph = node.graph();
  const std::string op = (step.rematerialised ? "recomputed " : "") + op_text(node);
  for (int o = 0; o < node.output_count(); ++o) {
    const std::string name = graph.name_of(Value(const_cast<Node*>(&node), o));
    if (!name.empty()) return fmt::format("{} '{}'", op, name);
  }
  const std::string_view scope = graph.scope_of(node);
  return scope.empty() ? op : fmt::format("{} ({})", op, scope);
}

namespace {

void report_rematerialised(const Plan& plan, MemoryReport& report) {
  const auto entry_of = [&](const Node& node) {
    const std::string& op = node.op().name;
    auto entry = std::find_if(report.recomputed.begin(), report.recomputed.end(),
                              [&](const auto& e) { return e.op == op; });
    if (entry == report.recomputed.end()) {
      entry = report.recomputed.insert(entry, MemoryReport::Recomputed{.op = op});
    }
    ++entry->steps;
    return entry;
  };
  for (const PlanStep& step : plan.steps) {
    if (step.control != nullptr && step.control->replayed != nullptr) {
      const auto entry = entry_of(*step.control->replayed);
      entry->flops += step.control->replayed_flops;
      entry->bytes += step.control->replayed_bytes;
    }
    if (!step.rematerialised) continue;
    const auto entry = entry_of(*step.node);
    entry->flops += step.flops;
    for (const ValueId id : step.outputs) {
      if (id.defined()) entry->bytes += plan.values[id].bytes;
    }
  }
  for (const auto& entry : report.recomputed) {
    report.recomputed_bytes += entry.bytes;
    report.recomputed_flops += entry.flops;
  }
  std::stable_sort(report.recomputed.begin(), report.recomputed.end(),
                   [](const auto& a, const auto& b) { return a.flops > b.flops; });
}

}  // namespace

MemoryReport Plan::memory() const {
  MemoryReport report;
  report.arena = arena_bytes;
  report.budget = memory_budget;
  report_rematerialised(*this, report);
  report.slot_scratch = slot_scratch;
  IdVector<ValueId, StepId> producer(values.size());
  IdVector<BufferId, StepId> scratch_of(buffers.size());
  for (const StepId s : steps.ids()) {
    for (const ValueId id : steps[s].outputs) {
      if (id.defined()) producer[id] = s;
    }
    if (steps[s].scratch.defined()) scratch_of[steps[s].scratch] = s;
  }
  std::vector<MemoryBlock> blocks;
  for (const BufferId i : buffers.ids()) {
    const PlanBuffer& b = buffers[i];
    if (b.space == Space::feed) report.feeds += b.bytes;
    if (b.space == Space::constant) report.constants += b.bytes;
    if (b.space != Space::arena) continue;
    blocks.push_back({b.bytes + 2 * guard, b.begin.number(), b.end.number()});
    MemoryReport::Entry e;
    if (!b.first_value.defined()) {
      e.name = "scratch of " + step_name(scratch_of[i]);
      e.type = "bytes";
    } else {
      e.name = step_name(producer[b.first_value]);
      e.type = type_text(values[b.first_value]);
    }
    e.bytes = b.bytes;
    e.offset = b.offset;
    e.begin = b.begin;
    e.end = b.end;
    report.entries.push_back(std::move(e));
  }
  report.live_peak = live_peak(blocks);
  for (const auto& use : program->variables) {
    const Sizes sizes = use.info.type.shape.evaluate(bindings);
    report.variables += tensor_bytes(use.info.type.dtype, sizes);
  }
  std::set<std::pair<VariableId, std::string>> packed;
  for (const PlanStep& step : steps) {
    if (!step.packed_variable.defined()) continue;
    if (packed.emplace(step.packed_variable, step.kernel.packed->layout).second)
      report.packed += step.kernel.packed->bytes;
  }
  for (const PlanOutput& o : outputs) {
    if (!o.streamed) report.outputs += values[o.value].bytes;
  }
  std::stable_sort(report.entries.begin(), report.entries.end(),
                   [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
  return report;
}

CostReport Plan::cost() const {
  CostReport report;
  for (const StepId s : steps.ids()) {
    report.entries.push_back({step_name(s), steps[s].flops, steps[s].bytes});
    report.flops += steps[s].flops;
    report.bytes += steps[s].bytes;
  }
  return report;
}

std::string MemoryReport::text(std::size_t rows) const {
  std::string text = fmt::format(
      "arena {} (live at most {}), scratch per worker {}\nvariables {}, constants {}, feeds {}, "
      "outputs {}\n",
      bytes_text(static_cast<double>(arena)), bytes_text(static_cast<double>(live_peak)),
      bytes_text(static_cast<double>(slot_scratch)), bytes_text(static_cast<double>(variables)),
      bytes_text(static_cast<double>(constants)), bytes_text(static_cast<double>(feeds)),
      bytes_text(static_cast<double>(outputs)));
  if (packed > 0) {
    text += fmt::format("packed copies of weights {}\n", bytes_text(static_cast<double>(packed)));
  }
  if (budget > 0) {
    text += fmt::format("budget {}: recomputed {}, {}", bytes_text(static_cast<double>(budget)),
                        bytes_text(static_cast<double>(recomputed_bytes)),
                        flops_text(recomputed_flops));
    for (const Recomputed& r : recomputed) {
      text += fmt::format("{}{} x {}", &r == recomputed.data() ? ": " : ", ", r.steps, r.op);
    }
    text += '\n';
  }
  for (std::size_t i = 0; i < entries.size() && i < rows; ++i) {
    const Entry& e = entries[i];
    text +=
        fmt::format("{:>11}  waves {:>5}..{:<5} {}  {}\n", bytes_text(static_cast<double>(e.bytes)),
                    e.begin.number(), e.end.number(), e.type, e.name);
  }
  if (entries.size() > rows) text += fmt::format("and {} more\n", entries.size() - rows);
  return text;
}

std::string CostReport::text(std::size_t rows) const {
  std::string text = fmt::format("{}, {} moved\n", flops_text(flops), bytes_text(bytes));
  std::vector<Entry> sorted = entries;
  std::stable_sort(sorted.begin(), sorted.end(), [](const Entry& a, const Entry& b) {
    return a.flops != b.flops ? a.flops > b.flops : a.bytes > b.bytes;
  });
  for (std::size_t i = 0; i < sorted.size() && i < rows; ++i) {
    text += fmt::format("{:>14}  {:>11}  {}\n", flops_text(sorted[i].flops),
                        bytes_text(sorted[i].bytes), sorted[i].name);
  }
  if (sorted.size() > rows) text += fmt::format("and {} more\n", sorted.size() - rows);
  return text;
}

std::string Plan::text() const {
  const auto place = [&](ValueId id) -> std::string {
    if (!id.defined()) return "-";
    const PlanBuffer& b = buffer_of(id);
    const std::string type = type_text(values[id]);
    switch (b.space) {
      case Space::arena: return fmt::format("%{} {} @{}", id.number(), type, b.offset);
      case Space::feed:
        return fmt::format("%{} {} feed '{}'", id.number(), type,
                           program->inputs[InputId(b.index)].name);
      case Space::variable:
        return fmt::format("%{} {} variable '{}'", id.number(), type,
                           program->variables[b.variable()].info.name);
      case Space::constant: return fmt::format("%{} {} constant", id.number(), type);
      case Space::successor:
        return fmt::format("%{} {} next '{}'", id.number(), type,
                           program->variables[VariableId(b.index)].info.name);
      case Space::output: break;
    }
    return fmt::format("%{} {} output '{}'", id.number(), type,
                       outputs[static_cast<std::size_t>(b.index)].name);
  };
  const auto list = [&](const std::vector<ValueId>& ids) {
    std::string text;
    for (const ValueId id : ids) text += (text.empty() ? "" : ", ") + place(id);
    return text;
  };
  std::string text =
      fmt::format("plan of '{}' with {}: {} steps in {} waves, arena {}\n", program->name,
                  bindings.str().empty() ? "no symbols" : bindings.str(), steps.size(),
                  waves.size(), bytes_text(static_cast<double>(arena_bytes)));
  for (const WaveId w : waves.ids()) {
    for (const StepId s : waves[w].checks)
      text += fmt::format("wave {}: check {}\n", w.number(), step_name(s));
    for (const StepId s : waves[w].steps) {
      const PlanStep& step = steps[s];
      text += fmt::format("wave {}: {} = {}({}){}\n", w.number(), list(step.outputs), step_name(s),
                          list(step.inputs), step.inplace.empty() ? "" : " in place");
      if (step.control != nullptr && step.control->segment > 0) {
        text.insert(text.size() - 1, fmt::format(" in segments of {}", step.control->segment));
      }
    }
  }
  for (const PlanOutput& o : outputs) {
    if (o.direct) continue;
    text += fmt::format("{}: output '{}' = {}\n", o.streamed ? "streamed" : "end", o.name,
                        place(o.value));
  }
  for (const PlanUpdate& u : updates) {
    if (u.direct || u.successor || u.output >= 0) continue;
    text += fmt::format("end: variable '{}' = {}\n", program->variables[u.variable].info.name,
                        place(u.value));
  }
  return text;
}

}  // namespace weft
