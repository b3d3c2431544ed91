#include "weft/testing/precision_spread.h"

#include <algorithm>
#include <cmath>

#include "weft/graph/run/session.h"

namespace weft::testing {
namespace {

void measure(std::map<std::string, double>& spread, const std::string& name, const Tensor& a,
             const Tensor& b) {
  if (!is_floating(a.dtype()) || a.sizes() != b.sizes()) return;
  double& largest = spread[name];
  for (std::int64_t i = 0; i < a.numel(); ++i) {
    const double change = std::abs(a.at(i) - b.at(i));
    if (std::isfinite(change)) largest = std::max(largest, change);
  }
}

Tolerance widened(Tolerance tolerance, const std::map<std::string, double>& spread,
                  const std::string& name) {
  const auto it = spread.find(name);
  if (it != spread.end()) tolerance.absolute += 2 * it->second;
  return tolerance;
}

}  // namespace

PrecisionSpread::PrecisionSpread(Graph& graph, const Program& program, const RunSetup& setup) {
  if (program.precision() == Precision::highest) return;
  rounding_ = program.precision() == Precision::high ? 0x1p-18 : 0x1p-8;
  Program exact = program;
  exact.precision(Precision::highest);
  // Kernels with and without passes may use the precision in different products.
  for (const bool passes : {false, true}) {
    const SessionOptions options{.seed = setup.seed, .threads = 1, .passes = passes};
    Session rounded(graph, options), reference(graph, options);
    set_variables(rounded, setup);
    set_variables(reference, setup);
    for (int run = 0; run < setup.runs; ++run) {
      const Results a = rounded.run(program, setup.feeds, {.dims = setup.dims});
      const Results b = reference.run(exact, setup.feeds, {.dims = setup.dims});
      for (const auto& [name, tensor] : a) measure(outputs_, name, tensor, b[name]);
    }
    const auto others = reference.store()->snapshot();
    for (const auto& [name, tensor] : rounded.store()->snapshot()) {
      measure(variables_, name, tensor, others.at(name));
    }
  }
}

Tolerance PrecisionSpread::output(Tolerance tolerance, const std::string& name) const {
  return widened(tolerance, outputs_, name);
}

Tolerance PrecisionSpread::variable(Tolerance tolerance, const std::string& name) const {
  return widened(tolerance, variables_, name);
}

Tolerance PrecisionSpread::value(Tolerance tolerance) const {
  tolerance.absolute += 4 * rounding_;
  tolerance.relative += 4 * rounding_;
  return tolerance;
}

}  // namespace weft::testing
