#include "weft/graph/engine/finite_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "weft/core/error.h"
#include "weft/graph/engine/nonfinite.h"
#include "weft/graph/plan/liveness.h"

namespace weft {
namespace {

using Index = std::size_t;

constexpr std::int64_t kElementsPerChunk = 1 << 16;

std::string type_text(const PlanValue& v) {
  return fmt::format("{}{}", dtype_name(v.dtype), to_string(v.sizes));
}

// "lse" is the log-sum-exp of a row, which is negative infinity by definition if the row is
// completely masked.
bool may_be_negative_infinity(const OpRecord& op, Index output) {
  return op.outputs[std::min(output, op.outputs.size() - 1)] == "lse";
}

std::string input_label(const OpRecord& op, Index i) {
  const InputSpec& spec = op.inputs[std::min(i, op.inputs.size() - 1)];
  return spec.arity == Arity::variadic ? fmt::format("{}[{}]", spec.name, i) : spec.name;
}

std::string where_first(const PlanValue& value, std::int64_t first) {
  return value.sizes.empty() ? ""
                             : fmt::format("; the first at {}", place_text(value.sizes, first));
}

}  // namespace

std::string FiniteCheck::Range::text() const {
  if (elements == 0) return "has no elements";
  std::string text;
  const auto add = [&](std::int64_t count, const char* what) {
    if (count > 0) text += fmt::format("{}{} {}", text.empty() ? "has " : ", ", count, what);
  };
  add(nan, "NaN");
  add(positive, "inf");
  add(negative, "-inf");
  const std::int64_t others = elements - nan - positive - negative;
  if (text.empty()) return fmt::format("is in [{:.9g}, {:.9g}]", min, max);
  text += fmt::format(" of {} elements", elements);
  return others == 0 ? text : text + fmt::format(", the others in [{:.9g}, {:.9g}]", min, max);
}

void FiniteCheck::begin(const Plan& plan) { ranges_.assign(plan.values.size(), {}); }

FiniteCheck::Range FiniteCheck::scan(const PlanValue& value, const void* data) {
  const std::int64_t n = num_elements(value.sizes);
  const std::int64_t chunks = chunk_count(n, kElementsPerChunk);
  std::vector<Range> parts(static_cast<Index>(chunks));
  visit_dtype(value.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    workers_.for_chunks(chunks, [&](std::int64_t chunk, int) {
      const ChunkRange range = chunk_range(n, chunks, chunk);
      Range& part = parts[chunk];
      part.min = std::numeric_limits<double>::infinity();
      part.max = -part.min;
      for (std::int64_t i = range.begin; i < range.end; ++i) {
        double x = 0;
        if constexpr (std::is_same_v<T, BFloat16> || std::is_same_v<T, Float16>) {
          x = to_float(static_cast<const T*>(data)[i]);
        } else if constexpr (std::is_same_v<T, bool>) {
          x = static_cast<const std::uint8_t*>(data)[i] != 0 ? 1 : 0;
        } else {
          x = static_cast<double>(static_cast<const T*>(data)[i]);
        }
        if (std::isfinite(x)) {
          part.min = std::min(part.min, x);
          part.max = std::max(part.max, x);
          continue;
        }
        ++(std::isnan(x) ? part.nan : x > 0 ? part.positive : part.negative);
        if (part.first < 0) part.first = i;
      }
    });
  });
  Range whole = parts[0];
  for (Index i = 1; i < parts.size(); ++i) {
    whole.min = std::min(whole.min, parts[i].min);
    whole.max = std::max(whole.max, parts[i].max);
    whole.nan += parts[i].nan;
    whole.positive += parts[i].positive;
    whole.negative += parts[i].negative;
    if (whole.first < 0) whole.first = parts[i].first;
  }
  whole.seen = true;
  whole.elements = n;
  return whole;
}

void FiniteCheck::before(const Plan& plan, StepId s, const KernelRun& run) {
  const PlanStep& step = plan.steps[s];
  for (Index i = 0; i < step.inputs.size(); ++i) {
    const ValueId root = root_of(plan, step.inputs[i]);
    if (!root.defined() || ranges_[root].seen) continue;
    const CompiledProgram::Leaf leaf = leaf_of(plan, root);
    if (leaf.kind == CompiledProgram::LeafKind::none) continue;
    const PlanValue& value = plan.values[root];
    const Range& range = ranges_[root] = scan(value, run.inputs[i]);
    // NaNs in constants are assumed to be intended; values computed from them are not checked.
    if (!outermost_ || range.nan == 0 || leaf.kind == CompiledProgram::LeafKind::constant) continue;
    const bool fed = leaf.kind == CompiledProgram::LeafKind::input;
    const CompiledProgram& c = *plan.program;
    throw DataError(fmt::format(
        "{} '{}' {} {}{}{}", fed ? "input" : "variable",
        fed ? c.inputs[InputId(leaf.index)].name : c.variables[leaf.variable()].info.name,
        type_text(value), range.text(), where_first(value, range.first),
        fed ? "" : ", before this run has written anything"));
  }
}

void FiniteCheck::after(const Plan& plan, StepId s, const KernelRun& run) {
  const PlanStep& step = plan.steps[s];
  bool operands_finite = true, operands_nan = false, operands_any = false;
  for (const ValueId id : step.inputs) {
    if (!id.defined()) continue;
    const Range& range = ranges_[root_of(plan, id)];
    operands_any = true;
    operands_finite = operands_finite && range.finite();
    operands_nan = operands_nan || range.nan > 0;
  }
  for (Index o = 0; o < step.outputs.size(); ++o) {
    const ValueId id = step.outputs[o];
    if (!id.defined()) continue;
    const PlanValue& value = plan.values[id];
    const Range& range = ranges_[id] = scan(value, run.outputs[o]);
    // Values of nodes without operands, such as `full`, are assumed to be intended.
    if (step.node == nullptr || !operands_any || range.finite()) continue;
    const OpRecord& op = step.node->op();
    const bool allowed = range.nan == 0 && range.positive == 0 && may_be_negative_infinity(op, o);
    if (allowed || (!operands_finite && (operands_nan || range.nan == 0))) continue;
    std::string text =
        fmt::format("{} {} {}{}; {}", op.outputs[std::min(o, op.outputs.size() - 1)],
                    type_text(value), range.text(), where_first(value, range.first),
                    operands_finite ? "the operands are finite" : "no operand holds a NaN");
    for (Index i = 0; i < step.inputs.size(); ++i) {
      if (!step.inputs[i].defined()) continue;
      text += fmt::format("\n  operand {} {}", input_label(op, i),
                          ranges_[root_of(plan, step.inputs[i])].text());
    }
    step.node->graph().fail(DataError(text), *step.node);
  }
}

}  // namespace weft
