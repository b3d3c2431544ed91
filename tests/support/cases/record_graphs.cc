#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "weft/autodiff/check_gradients.h"
#include "weft/graph/ir/difference.h"
#include "weft/graph/text/text.h"
#include "weft/serialization/checkpoint.h"
#include "weft/testing/close.h"
#include "weft/tests/reference/in_double.h"
#include "weft/tests/support/cases/record_cases.h"
#include "weft/tests/support/cases/run_variants.h"
#include "weft/tests/support/cases/session_case.h"

namespace weft::testing {
namespace {

bool all_finite(const Tensor& t) {
  for (std::int64_t i = 0; i < t.numel(); ++i) {
    if (!std::isfinite(t.at(i))) return false;
  }
  return true;
}

// A copy of the sample in double, in its own graph.
struct DoubleTwin {
  // Propagates the errors that are thrown while the graph is built.
  DoubleTwin(const std::shared_ptr<const OpSet>& ops, const OpRecord& op, const OpSample& sample)
      : graph(ops) {
    for (std::size_t i = 0; i < sample.inputs.size(); ++i) {
      inputs.emplace_back();
      if (!sample.inputs[i].defined()) continue;
      const Tensor t = in_double(sample.inputs[i]);
      const std::string name = "in" + std::to_string(i);
      inputs.back() = graph.input(name, {t.dtype(), Shape(t.sizes())});
      feeds.emplace_back(name, t);
      const bool skipped = std::count(sample.skip_gradient.begin(), sample.skip_gradient.end(),
                                      static_cast<int>(i)) > 0;
      if (t.dtype() == DType::f64 && t.numel() > 0 && !skipped) wrt.push_back(inputs.back());
    }
    node = &graph.apply(op, inputs, in_double(sample.attributes));
    results = evaluate_op(op, in_double(sample.inputs), in_double(sample.attributes));
  }

  Graph graph;
  std::vector<Value> inputs, wrt;
  NamedTensors feeds;
  Node* node = nullptr;
  std::vector<Tensor> results;
};

std::string check_text(const std::shared_ptr<const OpSet>& ops, const Program& program) {
  TextConstants constants;
  const std::string text = to_text(program, {.constants = &constants});
  const Module parsed = parse_text(text, {.ops = ops, .constants = &constants});
  const std::string wrong = difference(program, parsed.program);
  if (!wrong.empty()) return "from text: " + wrong + "\n" + text;
  TextConstants again;
  return to_text(parsed.program, {.constants = &again}) == text ? "" : "another text:\n" + text;
}

std::string check_file(const std::shared_ptr<const OpSet>& ops, const SessionCase& built,
                       const std::string& path) {
  const auto value = [&](const VariableInfo& info) -> Tensor {
    for (const auto& [name, tensor] : built.parameters()) {
      if (name == info.name) return tensor;
    }
    return {};
  };
  write_checkpoint(path, {built.program()}, value);
  const Checkpoint loaded = load_checkpoint(path, {.verify = true, .ops = ops});
  const std::string wrong = difference(built.program(), loaded.programs().at(0));
  return wrong.empty() ? "" : "from a file: " + wrong;
}

// Symbolic sizes must give the same gradients as concrete sizes.
std::string compare_with_numbers(const OpRecord& op, const OpSample& sample,
                                 const SessionCase& symbolic, Surroundings surroundings) {
  // With symbolic sizes, a tensor that is used for two operands becomes two values.
  for (std::size_t i = 0; i < sample.inputs.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const Tensor &one = sample.inputs[j], &other = sample.inputs[i];
      if (one.defined() && other.defined() && one.raw() == other.raw()) return "";
    }
  }
  const SessionOptions options{.threads = 1, .passes = false};
  surroundings.symbolic = nullptr;
  const SessionCase built(op, sample, surroundings);
  const std::string wrong =
      difference(symbolic.run(options, Guard::after), built.run(options, Guard::after).core(),
                 Bits::same_but_nans);
  return wrong.empty() ? "" : "with symbolic sizes: " + wrong;
}

}  // namespace

std::string check_definition(const std::shared_ptr<const OpSet>& ops, const OpRecord& op,
                             const OpSample& sample) {
  if (!op.definition) return "";
  std::optional<DoubleTwin> twin;
  try {
    twin.emplace(ops, op, sample);
  } catch (const Error&) {
    return "";  // invalid case
  }
  const auto empty = [](const Tensor& t) { return t.numel() == 0; };
  if (std::all_of(twin->results.begin(), twin->results.end(), empty)) return "";
  const std::vector<Value> defined = op.definition(*twin->node, twin->node->inputs(), twin->graph);
  Program program("definition");
  for (std::size_t o = 0; o < defined.size(); ++o) {
    if (defined[o].defined()) program.output(std::to_string(o), defined[o]);
  }
  Session session(twin->graph, {.threads = 1, .passes = false});
  NamedTensors feeds;
  for (const Value& v : program.inputs()) {
    const std::string& name = v.node().attributes().text("name");
    for (const auto& feed : twin->feeds) {
      if (feed.first == name) feeds.push_back(feed);
    }
  }
  for (const auto& [name, tensor] : session.run(program, feeds)) {
    const auto o = static_cast<std::size_t>(std::stoul(name));
    const double scale = 1e-10;
    const auto found =
        expect_close(twin->results.at(o), tensor,
                     {.absolute = scale, .relative = scale, .nan_is_close_to_nan = true});
    if (!found) {
      return fmt::format("output {} of the kernel differs from the definition: {}", o,
                         found.message());
    }
  }
  return "";
}

std::string check_differences(const std::shared_ptr<const OpSet>& ops, const OpRecord& op,
                              const OpSample& sample, Draw& draw) {
  constexpr std::int64_t kElements = 6;
  if (op.gradient == Gradient::none) return "";
  std::optional<DoubleTwin> twin;
  try {
    twin.emplace(ops, op, sample);
  } catch (const Error&) {
    return "";  // invalid case
  }
  if (twin->wrt.empty()) return "";
  for (int o = 0; o < twin->node->output_count(); ++o) {
    const Value out = twin->node->output(o);
    if (out.dtype() != DType::f64 || out.shape().numel() == Dim(0)) continue;
    // Finite differences do not exist for infinite values, such as the -inf of a fully masked row.
    if (!all_finite(twin->results[static_cast<std::size_t>(o)])) continue;
    const GradientReport report = check_gradients(out, twin->wrt,
                                                  {.feeds = twin->feeds,
                                                   .seed = draw.bits(),
                                                   .max_elements = kElements,
                                                   .second_order = draw.one_in(8)});
    if (!report) return fmt::format("output {}: {}", o, report.message);
  }
  return "";
}

std::string check_neighbours(const std::shared_ptr<const OpSet>& ops, const OpRecord& op,
                             const OpSample& sample, Draw& draw) {
  Surroundings surroundings{.neighbours_seed = draw.bits() | 1, .ops = ops};
  std::optional<SymbolicSample> symbolic;
  if (draw.one_in(2)) {
    symbolic = symbolise(op, sample, Equalities::solve,
                         [&](std::int64_t size) { return size == 1 || draw.one_in(4); });
  }
  if (symbolic && !symbolic->contradicted) {
    surroundings.symbolic = &*symbolic;
  } else {
    surroundings.roles = draw_roles(sample, draw);
  }
  try {
    const SessionCase built(op, sample, surroundings);
    return compare_run_variants(built, draw);
  } catch (const Error&) {
    return "";  // invalid case
  }
}

std::string check_gradient_run_variants(const std::shared_ptr<const OpSet>& ops, const OpRecord& op,
                                        const OpSample& sample, Draw& draw) {
  if (op.gradient == Gradient::none) return "";
  Surroundings surroundings{.gradient_seed = draw.bits() | 1, .ops = ops};
  std::optional<SymbolicSample> symbolic;
  if (draw.one_in(2)) {
    symbolic = symbolise(op, sample, Equalities::solve,
                         [&](std::int64_t size) { return size == 1 || draw.one_in(3); });
    if (symbolic && !symbolic->contradicted) surroundings.symbolic = &*symbolic;
  }
  try {
    const SessionCase built(op, sample, surroundings);
    if (built.empty()) return "";
    std::string wrong = compare_run_variants(built, draw);
    if (!wrong.empty() || surroundings.symbolic == nullptr) return wrong;
    return compare_with_numbers(op, sample, built, surroundings);
  } catch (const Error&) {
    return "";  // invalid case
  }
}

std::string check_round_trip_of(const std::shared_ptr<const OpSet>& ops, const OpRecord& op,
                                const OpSample& sample, Draw& draw, const std::string& folder) {
  Surroundings surroundings{.neighbours_seed = draw.one_in(2) ? draw.bits() | 1 : 0, .ops = ops};
  const auto symbolic = symbolise(op, sample, Equalities::solve,
                                  [&](std::int64_t size) { return size == 1 || draw.one_in(2); });
  if (symbolic && !symbolic->contradicted && draw.one_in(2)) {
    surroundings.symbolic = &*symbolic;
  } else {
    constexpr std::array kRoles = {Role::fed, Role::constant, Role::parameter};
    for (const Tensor& t : sample.inputs) {
      surroundings.roles.push_back(t.defined() ? draw.pick(kRoles) : Role::fed);
    }
  }
  std::optional<SessionCase> built;
  try {
    built.emplace(op, sample, surroundings);
  } catch (const Error&) {
    return "";  // invalid case
  }
  if (built->empty()) return "";
  std::string wrong = check_text(ops, built->program());
  if (!wrong.empty() || !draw.one_in(3)) return wrong;
  return check_file(ops, *built, folder + "/case.weft");
}

}  // namespace weft::testing
