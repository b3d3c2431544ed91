#include "weft/graph/ir/facts.h"

#include <algorithm>

#include "weft/core/error.h"

namespace weft {
namespace {

// Solves zero = 0 for s: if `zero` is c*s + rest with c = +-1 and no s in rest, returns -rest / c.
std::optional<Dim> solve_for(const Dim& zero, const SymbolPtr& s) {
  const auto at = [&](std::int64_t value) {
    return zero.substitute([&](const SymbolPtr& x) -> std::optional<Dim> {
      return x == s ? std::optional<Dim>(Dim(value)) : std::nullopt;
    });
  };
  try {
    const Dim rest = at(0);
    const Dim slope = at(1) - rest;
    if (!slope.is_constant() || (slope.constant() != 1 && slope.constant() != -1))
      return std::nullopt;
    if (zero != Dim(s) * slope + rest) return std::nullopt;  // not linear in s
    return slope.constant() == 1 ? -rest : rest;
  } catch (const ShapeError&) {
    return std::nullopt;  // s is a divisor, or an intermediate number overflows
  }
}

}  // namespace

void Graph::Facts::add(const DimEquation& equation) {
  const Dim zero = normalize(equation.left) - normalize(equation.right);
  if (zero.is_constant()) return;  // already implied by earlier equations
  // Solve for the symbol declared last. Any choice works, but a fixed one is deterministic.
  const auto symbols = zero.symbols();
  for (auto it = symbols.rbegin(); it != symbols.rend(); ++it) {
    if (const auto solution = solve_for(zero, *it)) {
      const SymbolPtr& symbol = *it;
      for (auto& [s, d] : substitutions_) {
        d = d.substitute([&](const SymbolPtr& x) -> std::optional<Dim> {
          return x == symbol ? solution : std::nullopt;
        });
      }
      substitutions_.emplace_back(symbol, *solution);
      return;
    }
  }
  others_.push_back(equation);
}

Dim Graph::Facts::normalize(const Dim& d) const {
  if (d.is_constant() || substitutions_.empty()) return d;
  return d.substitute([this](const SymbolPtr& x) -> std::optional<Dim> {
    for (const auto& [s, replacement] : substitutions_) {
      if (s == x) return replacement;
    }
    return std::nullopt;
  });
}

bool Graph::Facts::equal(const Dim& a, const Dim& b) const {
  if (a == b) return true;
  const Dim difference = normalize(a) - normalize(b);
  if (difference == Dim(0)) return true;
  return std::any_of(others_.begin(), others_.end(), [&](const DimEquation& e) {
    const Dim known = normalize(e.left) - normalize(e.right);
    return difference == known || difference == -known;
  });
}

}  // namespace weft
