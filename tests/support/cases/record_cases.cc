#include "weft/tests/support/cases/record_cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "weft/autodiff/rule.h"
#include "weft/graph/ir/graph.h"
#include "weft/tests/reference/in_double.h"
#include "weft/tests/support/cases/op_execution.h"
#include "weft/tests/support/cases/run_outcome.h"

namespace weft::testing {
namespace {

constexpr std::size_t kMaxScratch = std::size_t{1} << 32;

// Checks that the scratch sizes and costs are values that the planner and the executor can handle.
std::string wrong_numbers(const OpRecord& op, const OpExecution& run) {
  const Kernel& kernel = run.kernel();
  if (kernel.shared_scratch > kMaxScratch || kernel.slot_scratch > kMaxScratch) {
    return fmt::format("the kernel requests scratch of {} and {} bytes", kernel.shared_scratch,
                       kernel.slot_scratch);
  }
  for (const Phase& phase : kernel.phases) {
    if (phase.chunks < 0) return fmt::format("{} chunks", phase.chunks);
    if (!(phase.cost_ns >= 0) || !std::isfinite(phase.cost_ns)) {
      return fmt::format("a phase has a cost of {} ns", phase.cost_ns);
    }
  }
  if (op.cost == nullptr) return "";
  const Cost cost = op.cost(run.request());
  const auto sane = [](double x) { return x >= 0 && std::isfinite(x); };
  return sane(cost.flops) && sane(cost.bytes)
             ? ""
             : fmt::format("the cost is {} FLOPs and {} bytes", cost.flops, cost.bytes);
}

// Returns the {output, input} pairs that may share memory in this case.
std::vector<std::pair<int, int>> possible_inplace(const OpRecord& op, const OpSample& sample,
                                                  const std::vector<Tensor>& results) {
  std::vector<std::pair<int, int>> pairs;
  for (const auto& [output, input] : op.inplace) {
    const auto out = static_cast<std::size_t>(output), in = static_cast<std::size_t>(input);
    if (out >= results.size() || in >= sample.inputs.size()) continue;
    const Tensor& t = sample.inputs[in];
    if (t.defined() && t.sizes() == results[out].sizes() &&
        dtype_size(t.dtype()) == dtype_size(results[out].dtype())) {
      pairs.emplace_back(output, input);
    }
  }
  return pairs;
}

std::string compare_run(const OpRecord& op, const OpSample& sample,
                        const std::vector<Tensor>& expected, const OpExecutionOptions& options) {
  OpExecution run(op, sample, expected, options);
  std::string numbers = wrong_numbers(op, run);
  if (!numbers.empty()) return numbers;
  run.execute();
  if (!run.scratch_intact()) return "the kernel writes outside its scratch";
  for (std::size_t o = 0; o < expected.size(); ++o) {
    if (options.wanted && !options.wanted(o)) continue;
    const std::string wrong = difference(run.results()[o], expected[o], Bits::same);
    if (!wrong.empty()) return fmt::format("output {}: {}", o, wrong);
  }
  return "";
}

double largest(const Tensor& t) {
  double m = 0;
  for (std::int64_t i = 0; i < t.numel(); ++i) {
    if (std::isfinite(t.at(i))) m = std::max(m, std::abs(t.at(i)));
  }
  return m;
}

// Random draws and step functions differ between f32 and f64 by design. Integers and their steps
// have no f64 form.
bool comparable_across_dtypes(const OpRecord& op) {
  constexpr std::string_view kNotComparable[] = {
      "floor",          "ceil",          "round",          "fake_quantize",
      "pack_int8_rows", "quantize_rows", "integer_matmul", "integer_matmul_fused"};
  return !op.has(Trait::random) && std::find(std::begin(kNotComparable), std::end(kNotComparable),
                                             op.name) == std::end(kNotComparable);
}

}  // namespace

std::string check_complete(const OpRecord& op) {
  if (op.doc.empty()) return "it has no documentation (OpRecord::doc)";
  const bool exempt = op.has(Trait::leaf) || op.has_bodies();
  if (!exempt && (op.samples == nullptr || op.samples().empty())) {
    return "it has no samples (OpRecord::samples), which tests need as valid calls";
  }
  switch (op.gradient) {
    case Gradient::rule:
      if (op.rule || op.has_bodies() || builtin_rules().find(op.name)) break;
      return "it has no gradient: give it a rule or a definition, or Gradient::none with a reason";
    case Gradient::decomposition:
      if (op.definition || builtin_rules().definition(op.name)) break;
      return "it has no definition to derive its gradient from (OpRecord::definition)";
    case Gradient::none:
      if (!op.no_gradient_reason.empty()) break;
      return "it declares that it has no gradient, but states no reason "
             "(OpRecord::no_gradient_reason)";
  }
  for (const auto& [output, input] : op.inplace) {
    const bool there = output >= 0 && output < static_cast<int>(op.outputs.size()) && input >= 0 &&
                       input < static_cast<int>(op.inputs.size());
    if (!there) {
      return fmt::format(
          "it declares that output {} may overwrite input {}, but one of them does not exist",
          output, input);
    }
  }
  return "";
}

std::string check_error_sample(const std::shared_ptr<const OpSet>& ops, const OpRecord& op,
                               const OpErrorSample& sample) {
  Graph g(ops);
  std::vector<Value> inputs;
  for (std::size_t i = 0; i < sample.inputs.size(); ++i) {
    // Symbols belong to the sample's graph and are declared again in this graph by name.
    const ValueType& t = sample.inputs[i];
    const Shape shape = t.shape.substitute(
        [&](const SymbolPtr& s) -> std::optional<Dim> { return g.dim(s->name); });
    inputs.push_back(g.input("in" + std::to_string(i), {t.dtype, shape}));
  }
  try {
    g.apply(op, inputs, sample.attributes, {"user.cc", 42});
  } catch (const Error& e) {
    const std::string text = e.what();
    const auto has = [&](const std::string& part) { return text.find(part) != std::string::npos; };
    if (has(sample.message) && text.starts_with(op.name + ": ") && has("user.cc:42") &&
        (inputs.empty() || has(inputs[0].type().str()))) {
      return "";
    }
    return fmt::format("an error sample should cause the error '{}', but causes '{}'",
                       sample.message, text);
  }
  return fmt::format("an error sample does not cause the error '{}'", sample.message);
}

std::string check_kernel(const OpRecord& op, const OpSample& sample, Draw& draw) {
  RunOutcome expected =
      outcome_of([&] { return evaluate_op(op, sample.inputs, sample.attributes); });
  if (expected.failed() || !has_kernel(op)) return "";
  const Precision precision = draw.pick(
      std::array{Precision::highest, Precision::highest, Precision::high, Precision::medium});
  if (precision != Precision::highest) {
    OpExecution run(op, sample, expected.results, {.precision = precision});
    run.execute();
    expected.results = run.results();
  }
  for (const Guard guard : {Guard::after, Guard::before}) {
    OpExecutionOptions options{.guard = guard, .shuffle_seed = draw.bits(), .precision = precision};
    const std::string side = guard == Guard::after ? "after" : "before";
    std::string wrong = compare_run(op, sample, expected.results, options);
    if (!wrong.empty()) return fmt::format("with a guard {} all memory: {}", side, wrong);
    if (expected.results.size() > 1) {
      const auto which = static_cast<std::size_t>(draw.below(std::ssize(expected.results)));
      const bool alone = draw.one_in(2);
      options.wanted = [=](std::size_t o) { return (o == which) == alone; };
      wrong = compare_run(op, sample, expected.results, options);
      if (!wrong.empty()) {
        return fmt::format("with {} output {} wanted: {}", alone ? "only" : "all but", which,
                           wrong);
      }
      options.wanted = {};
    }
    for (const auto& pair : possible_inplace(op, sample, expected.results)) {
      options.inplace = pair;
      wrong = compare_run(op, sample, expected.results, options);
      if (!wrong.empty()) {
        return fmt::format("output {} over input {}: {}", pair.first, pair.second, wrong);
      }
    }
  }
  return "";
}

std::vector<Tensor> double_results(const OpRecord& op, const OpSample& sample) {
  if (!has_kernel(op) || !comparable_across_dtypes(op)) return {};
  const RunOutcome alone =
      outcome_of([&] { return evaluate_op(op, sample.inputs, sample.attributes); });
  if (alone.failed()) return {};  // invalid case
  return evaluate_op(op, in_double(sample.inputs), in_double(sample.attributes));
}

std::string check_against_double(const OpRecord& op, const OpSample& sample,
                                 const std::vector<Tensor>& in_double) {
  constexpr double kTolerance = 2e-5;
  if (in_double.empty()) return "";
  const auto actual = evaluate_op(op, sample.inputs, sample.attributes);
  for (std::size_t o = 0; o < actual.size(); ++o) {
    const Tensor& reference = in_double.at(o);
    if (actual[o].sizes() != reference.sizes()) {
      return fmt::format("output {} has sizes {}, but {} in double", o,
                         to_string(actual[o].sizes()), to_string(reference.sizes()));
    }
    const double scale = std::max(1.0, largest(reference));
    for (std::int64_t i = 0; i < actual[o].numel(); ++i) {
      const double a = actual[o].at(i), r = reference.at(i);
      const bool same =
          a == r || (std::isnan(a) && std::isnan(r)) || std::abs(a - r) <= kTolerance * scale;
      if (!same) return fmt::format("output {}, element {}: {}, but {} in double", o, i, a, r);
    }
  }
  return "";
}

}  // namespace weft::testing
