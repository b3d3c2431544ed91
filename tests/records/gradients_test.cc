// Gradients of one op: against finite differences in double, and in every way in which a Session
// may run them.
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "weft/autodiff/check_gradients.h"
#include "weft/tests/records/fuzz_loop.h"
#include "weft/tests/records/session_case.h"
#include "weft/tests/records/ways.h"

namespace weft::testing {
namespace {

bool is_differentiable(const OpRecord& op) { return op.gradient != Gradient::none; }

Tensor widened(const Tensor& t) {
  return t.defined() && t.dtype() == DType::f32 ? t.to(DType::f64) : t;
}

Attributes widened(Attributes attributes) {
  const Attributes narrow = attributes;
  for (const auto& [name, value] : narrow) {
    const DType* dtype = std::get_if<DType>(&value);
    if (dtype != nullptr && *dtype == DType::f32) attributes.set(name, DType::f64);
  }
  return attributes;
}

bool all_finite(const Tensor& t) {
  for (std::int64_t i = 0; i < t.numel(); ++i) {
    if (!std::isfinite(t.at(i))) return false;
  }
  return true;
}

// A double twin of the sample in a graph of its own, checked output by output.
std::string check_differences(const OpRecord& op, const OpSample& sample, Draw& draw) {
  Graph graph;
  std::vector<Value> inputs, wrt;
  std::vector<std::pair<std::string, Tensor>> feeds;
  for (std::size_t i = 0; i < sample.inputs.size(); ++i) {
    inputs.emplace_back();
    if (!sample.inputs[i].defined()) continue;
    const Tensor t = widened(sample.inputs[i]);
    const std::string name = "in" + std::to_string(i);
    inputs.back() = graph.input(name, {t.dtype(), Shape(t.sizes())});
    feeds.emplace_back(name, t);
    const bool skipped = std::count(sample.skip_gradient.begin(), sample.skip_gradient.end(),
                                    static_cast<int>(i)) > 0;
    if (t.dtype() == DType::f64 && t.numel() > 0 && !skipped) wrt.push_back(inputs.back());
  }
  Node* node = nullptr;
  std::vector<Tensor> results;
  try {
    node = &graph.apply(op, inputs, widened(sample.attributes));
    std::vector<Tensor> wide;
    for (const Tensor& t : sample.inputs) wide.push_back(widened(t));
    results = evaluate_op(op, wide, widened(sample.attributes));
  } catch (const Error&) {
    return "";  // an illegal case
  }
  if (wrt.empty()) return "";
  for (int o = 0; o < node->output_count(); ++o) {
    const Value out = node->output(o);
    if (out.dtype() != DType::f64 || out.shape().numel() == Dim(0)) continue;
    // The -inf of a row that sees nothing, say, has no differences.
    if (!all_finite(results[static_cast<std::size_t>(o)])) continue;
    // A kink between the points of a difference goes away with smaller steps; a wrong gradient does
    // not.
    std::string worst;
    for (const double step : {1e-3, 1e-4, 2e-5, 1e-6, 1e-7}) {
      const GradientReport report = check_gradients(
          out, wrt,
          {.feeds = feeds, .step = step, .max_elements = 6, .second_order = draw.one_in(8)});
      worst.clear();
      if (report.max_relative_error < 1e-6 * (1e-3 / step)) break;
      worst = report.worst;
    }
    if (!worst.empty()) return "output " + std::to_string(o) + ": " + worst;
  }
  return "";
}

// Symbols for sizes give the gradients that numbers give.
std::string compare_with_numbers(const OpRecord& op, const OpSample& sample,
                                 const SessionCase& symbolic, std::uint64_t seed) {
  // With symbols a tensor that is two operands is two values.
  for (std::size_t i = 0; i < sample.inputs.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const Tensor &one = sample.inputs[j], &other = sample.inputs[i];
      if (one.defined() && other.defined() && one.raw() == other.raw()) return "";
    }
  }
  const SessionOptions options{.threads = 1, .passes = false};
  const SessionCase built(op, sample, {.gradient_seed = seed});
  const std::string wrong =
      difference(symbolic.run(options, Guard::behind), built.run(options, Guard::behind).core(),
                 Bits::same_but_nans);
  return wrong.empty() ? "" : "with symbols for its sizes: " + wrong;
}

std::string check_ways(const OpRecord& op, const OpSample& sample, Draw& draw) {
  Surroundings surroundings{.gradient_seed = draw.bits() | 1};
  std::optional<SymbolicSample> symbolic;
  if (draw.one_in(2)) {
    symbolic = symbolise(op, sample, Equalities::solve,
                         [&](std::int64_t size) { return size == 1 || draw.one_in(3); });
    if (symbolic && !symbolic->contradicted) surroundings.symbolic = &*symbolic;
  }
  try {
    const SessionCase built(op, sample, surroundings);
    if (built.empty()) return "";
    const std::string wrong = compare_ways(built, draw);
    if (!wrong.empty() || surroundings.symbolic == nullptr) return wrong;
    return compare_with_numbers(op, sample, built, surroundings.gradient_seed);
  } catch (const Error&) {
    return "";  // an illegal case
  }
}

BOOST_AUTO_TEST_SUITE(record_gradients)

BOOST_AUTO_TEST_CASE(gradients_match_finite_differences) {
  fuzz_records({.cases_per_op = 24,
                .vary =
                    [](Draw&) {
                      return VaryOptions{.values = Values::spread,
                                         .elements = 256,
                                         .flops = 1e4,
                                         .illegal_one_in = 0,
                                         .extreme_one_in = 0};
                    },
                .ops = is_differentiable},
               check_differences);
}

BOOST_AUTO_TEST_CASE(gradients_are_the_same_in_every_way_to_run_them) {
  fuzz_records({.cases_per_op = 45, .ops = is_differentiable}, check_ways);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft::testing
