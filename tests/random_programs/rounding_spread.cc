#include "weft/tests/random_programs/rounding_spread.h"

#include <cmath>
#include <unordered_map>

#include "weft/tests/random_programs/random_source.h"
#include "weft/tests/reference/interpreter.h"

namespace weft::testing {
namespace {

// Each value is perturbed by this multiple of its tolerance.
constexpr Real kAmplitude = 8;
constexpr int kPairs = 4;     // number of pairs of perturbed runs
constexpr Real kFar = 1e15L;  // the same limit as in within_reach()
// Close to a pole (for example, one over a difference that is nearly zero), no number of runs finds
// the largest possible value. Poles are detected by asymmetric changes: the number changes by more
// than kSteep times its magnitude, and the changes in a pair of runs differ by more than kUneven
// times their distance. The changes of numbers that are small because of cancellation are
// symmetric.
constexpr double kSteep = 0.25, kUneven = 0.1;

/// Perturbs a number within its error bound. A number without an error bound is set to a different
/// value in every pair of runs.
Number moved(Number n, DType dtype, int draw, RandomSource& random) {
  const bool up = random.chance(0.5) == (draw % 2 == 0);
  // For large numbers, a different order of evaluation can overflow in an intermediate result, for
  // example in q x if it is then multiplied by a scale of zero.
  const bool far = is_floating(dtype) && std::isfinite(n.value) && std::fabs(n.value) > kFar;
  if (n.error == kAnyValue || std::isnan(n.error) || far) {
    const int which = draw / 2 % 3;
    if (is_floating(dtype)) {
      n.value = which == 0 ? NAN : which == 1 || !std::isfinite(n.value) ? 0 : 1 - n.value;
    }
    if (!is_floating(dtype)) n.integer = wrapped(n.integer + (up ? which : 0), dtype);
    return n;
  }
  if (!is_floating(dtype) || !std::isfinite(n.value)) return n;
  const Real reach = kAmplitude * (n.error + epsilon(dtype) * std::fabs(n.value));
  n.value += up ? reach : -reach;
  return n;
}

Tensor moved(NumberTensor numbers, int draw, RandomSource& random) {
  for (Number& n : numbers.elements) n = moved(n, numbers.dtype, draw, random);
  return to_tensor(numbers);
}

Tensor moved(const Tensor& t, int draw, RandomSource& random) {
  if (!is_floating(t.dtype())) return t;
  NumberTensor numbers{t.dtype(), t.sizes(), {}};
  for (std::int64_t i = 0; i < t.numel(); ++i) numbers.elements.push_back(element(t, i));
  return moved(std::move(numbers), draw, random);
}

}  // namespace

RoundingSpread::RoundingSpread(const Program& program, const Case& c, const Trace& base) {
  for (int draw = 0; draw < 2 * kPairs && !unknown_; ++draw) {
    // The two runs of a pair differ only in the sign of the perturbations.
    unknown_ = !run_moved(program, c, base, static_cast<std::uint64_t>(draw / 2), draw);
  }
}

bool RoundingSpread::run_moved(const Program& program, const Case& c, const Trace& base,
                               std::uint64_t seed, int draw) {
  RandomSource random(seed);
  const Precision precision = program.precision().value_or(Precision::highest);
  NamedTensors variables = base.start;
  for (std::size_t step = 0; step < base.steps.size(); ++step) {
    std::unordered_map<Value, Tensor, ValueHash> known;
    for (Node* node : program.nodes()) {
      const std::string& op = node->op().name;
      if (op == "input" || op == "variable") {
        const Tensor t = find_tensor(op == "input" ? c.runs[step].feeds : variables,
                                     node->attributes().text("name"));
        known[node->output(0)] = moved(t, draw, random);
        continue;
      }
      std::vector<Tensor> inputs;
      for (const Value& v : node->inputs()) inputs.push_back(v.defined() ? known.at(v) : Tensor());
      std::vector<NumberTensor> outputs;
      try {
        outputs = interpret_node(*node, inputs, base.steps[step].bindings, precision);
      } catch (const Error&) {
        return false;
      }
      for (int o = 0; o < node->output_count(); ++o) {
        known[node->output(o)] =
            moved(std::move(outputs[static_cast<std::size_t>(o)]), draw, random);
      }
    }
    std::map<std::string, Tensor> after;
    for (const auto& [variable, value] : program.updates()) after[variable.name()] = known[value];
    for (auto& [name, tensor] : variables) {
      if (const auto it = after.find(name); it != after.end()) tensor = it->second;
    }
    const Trace::Step& expected = base.steps[step];
    for (const auto& [name, tensor] : expected.variables)
      widen(draw, step, name, find_tensor(variables, name), tensor);
    for (const auto& [name, value] : program.outputs())
      widen(draw, step, name, known[value], find_tensor(expected.outputs, name));
    for (const auto& [name, value] : program.graph()->names()) {
      const auto it = known.find(value);
      if (it != known.end())
        widen(draw, step, name, it->second, find_tensor(expected.outputs, name));
    }
  }
  return true;
}

void RoundingSpread::widen(int draw, std::size_t step, const std::string& name, const Tensor& moved,
                           const Tensor& expected) {
  if (!moved.defined() || !expected.defined()) return;
  Tolerance& room = tolerances_[{step, name}];
  const auto count = static_cast<std::size_t>(expected.numel());
  room.any.resize(count);
  std::vector<double> moves(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto at = static_cast<std::int64_t>(i);
    const double x = moved.at(at), y = expected.at(at);
    if (x == y || (std::isnan(x) && std::isnan(y))) continue;
    if (!is_floating(expected.dtype()) || !std::isfinite(x) || !std::isfinite(y)) {
      room.any[i] = 1;
      continue;
    }
    moves[i] = x - y;
    room.distance = std::max(room.distance, std::fabs(x - y));
  }
  // The perturbations in the second run of a pair are opposite to those in the first run.
  if (draw % 2 == 0) {
    room.moves = std::move(moves);
    return;
  }
  for (std::size_t i = 0; i < count; ++i) {
    const double a = room.moves[i], b = moves[i];
    const double y = std::fabs(expected.at(static_cast<std::int64_t>(i)));
    const bool steep = std::max(std::fabs(a), std::fabs(b)) > kSteep * y;
    if (steep && std::fabs(a + b) > kUneven * std::fabs(a - b)) room.any[i] = 1;
  }
}

bool RoundingSpread::allows(std::size_t step, const std::string& name, const Tensor& got,
                            const Tensor& expected) const {
  if (got.dtype() != expected.dtype() || got.sizes() != expected.sizes()) return false;
  if (unknown_ || same(got, expected)) return true;
  const auto it = tolerances_.find({step, name});
  if (it == tolerances_.end()) return false;
  for (std::int64_t i = 0; i < got.numel(); ++i) {
    const double x = got.at(i), y = expected.at(i);
    if (it->second.any[static_cast<std::size_t>(i)] || x == y || (std::isnan(x) && std::isnan(y)))
      continue;
    if (!is_floating(got.dtype()) || !(std::fabs(x - y) <= it->second.distance)) return false;
  }
  return true;
}

}  // namespace weft::testing
