#include "weft/tests/random_programs/examination.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "weft/autodiff/retype.h"

namespace weft::testing {

/// Finite differences are meaningless for values that are rounded to few bits, for smooth functions
/// without a gradient (ops that only passes create, and ops that stop gradients), and for
/// fake_quantize, because its gradient ignores the rounding. Rows of int8 are packed from f32 only.
bool Examination::has_differences() const {
  for (const Node* node : inlined_->program.nodes()) {
    bool floating = false;
    for (int o = 0; o < node->output_count(); ++o) {
      const DType d = node->type(o).dtype;
      floating = floating || is_floating(d);
      if (d == DType::bf16 || d == DType::f16) return false;
    }
    const OpRecord& op = node->op();
    if (op.name == "fake_quantize" || op.name == "pack_int8_rows") return false;
    if (op.gradient == Gradient::none && floating && !node->inputs().empty() &&
        !op.no_gradient_reason.starts_with("piecewise constant")) {
      return false;
    }
  }
  return true;
}

void Examination::check_gradients() {
  const auto claims = gradient_claims(c_.module.program);
  if (claims.empty() || !base_.error.empty() || !has_differences()) return;
  const Module twin = retype(inlined_->program);
  Session session(*twin.graph, {.threads = 1, .passes = false});
  const CaseRun& run = c_.runs[0];
  const DimValues dims = dims_of(run, *twin.graph);
  const auto widened = [](const Tensor& t) {
    return t.dtype() == DType::f32 ? t.to(DType::f64) : t;
  };
  NamedTensors feeds, variables;
  for (const auto& [name, tensor] : feeds_of(run, *twin.graph))
    feeds.emplace_back(name, widened(tensor));
  for (const auto& [name, tensor] : c_.variables) variables.emplace_back(name, widened(tensor));
  const auto run_at = [&] {
    set_variables(session, variables);
    return session.run(twin.program, feeds, {.dims = dims});
  };
  for (const GradientClaim& claim : claims) {
    if (!run_at().contains(claim.loss)) continue;
    const auto loss_at = [&] {
      const Results results = run_at();
      long double sum = 0;
      const Tensor& loss = results[claim.loss];
      for (std::int64_t i = 0; i < loss.numel(); ++i) sum += loss.at(i);
      return static_cast<double>(sum);
    };
    Tensor* point = nullptr;
    for (NamedTensors* list : {&feeds, &variables}) {
      for (auto& [name, tensor] : *list) {
        if (name == claim.wrt) point = &tensor;
      }
    }
    if (point == nullptr) continue;
    const Tensor analytic = run_at()[claim.output].clone();
    const double here = loss_at();
    const Tensor at = *point;
    const std::int64_t n = at.numel(), count = std::min<std::int64_t>(n, 4);
    for (std::int64_t k = 0; k < count; ++k) {
      const std::int64_t i = k * n / count;
      const auto moved = [&](double h) {
        *point = at.clone();
        point->mutable_data<double>()[i] += h;
        const double value = loss_at();
        *point = at;
        return value;
      };
      if (!compare_difference(claim, i, analytic.at(i), here, moved)) return;
    }
  }
}

/// Computes one derivative from both sides and with two step sizes. If the results disagree, the
/// function has a kink or a discontinuity there or is too rough, and the comparison is skipped.
bool Examination::compare_difference(const GradientClaim& claim, std::int64_t i, double analytic,
                                     double here, const std::function<double(double)>& moved) {
  const double h = 1e-5;
  const double up = moved(h), down = moved(-h), up2 = moved(2 * h), down2 = moved(-2 * h);
  const double central = (8 * (up - down) - (up2 - down2)) / (12 * h);
  const double coarse = (up2 - down2) / (4 * h), right = (up - here) / h, left = (here - down) / h;
  if (!std::isfinite(central) || !std::isfinite(analytic)) return true;
  const double size =
      std::max({1.0, std::fabs(central), std::fabs(analytic), std::fabs(here) * 1e-4});
  const double spread = std::max(
      {std::fabs(coarse - central), std::fabs(right - central), std::fabs(left - central)});
  if (spread > 1e-3 * size) return true;
  ++examined_.gradients;
  if (std::fabs(analytic - central) <= 1e-4 * size + 3 * spread) return true;
  fail("gradient",
       fmt::format("of {} with respect to {}[{}]: analytic {}, differences {} (left {}, right {})",
                   claim.loss, claim.wrt, i, analytic, central, left, right));
  return false;
}

}  // namespace weft::testing
