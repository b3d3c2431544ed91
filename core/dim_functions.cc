// floor_div, min, max and exact division, and the proofs used to simplify them.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "weft/core/dim_polynomial.h"
#include "weft/core/error.h"

namespace weft {
namespace {

// The maximum number of atoms that a proof successively replaces by their bounds.
constexpr int kProofDepth = 3;
// The maximum number of operands of a min or max.
constexpr std::size_t kMaxOperands = 64;

// Returns the quotient a / b of two monomials with coefficients; nullopt if b does not divide a.
std::optional<Term> divide_terms(const Term& a, const Term& b) {
  if (a.coefficient % (b.coefficient == -1 ? 1 : b.coefficient) != 0) return std::nullopt;
  Term out;
  out.coefficient = floor_divide(a.coefficient, b.coefficient);
  auto y = b.factors.begin();
  for (const Factor& f : a.factors) {
    Factor left = f;
    if (y != b.factors.end() && compare(*f.atom, *y->atom) == 0) {
      left.exponent -= y->exponent;
      if (left.exponent < 0) return std::nullopt;
      ++y;
    }
    if (left.exponent > 0) out.factors.push_back(std::move(left));
  }
  if (y != b.factors.end()) return std::nullopt;
  return out;
}

struct Division {
  Dim quotient, remainder;
};

// Computes a = quotient * b + remainder by repeated division of leading terms, for a symbolic b. A
// term that is not divisible by the leading term of b becomes part of the remainder, or, if `exact`
// is set, makes the function return nullopt.
std::optional<Division> divide(const Dim& a, const Dim& b, bool exact) {
  Division d;
  const Term& lead = b.polynomial()->terms[0];
  std::vector<Term> remainder;
  Dim rest = a;
  for (;;) {
    const std::vector<Term> terms = DimBuilder::terms(rest);
    if (terms.empty()) break;
    if (const auto q = divide_terms(terms[0], lead)) {
      const Dim quotient = DimBuilder::of_term(*q);
      d.quotient += quotient;
      rest -= quotient * b;
    } else if (exact) {
      return std::nullopt;
    } else {
      remainder.push_back(terms[0]);
      rest -= DimBuilder::of_term(terms[0]);
    }
  }
  d.remainder = DimBuilder::from_terms(std::move(remainder));
  return d;
}

bool provably_nonnegative(const Dim& d, int depth);

bool nonnegative(const Atom& atom, int depth) {
  auto proven = [&](const Dim& d) { return depth > 0 && provably_nonnegative(d, depth - 1); };
  switch (atom.kind) {
    case AtomKind::symbol: return true;
    case AtomKind::max: return std::any_of(atom.operands.begin(), atom.operands.end(), proven);
    case AtomKind::min:
    case AtomKind::floor_div: break;  // evaluation throws if the divisor is 0
  }
  return std::all_of(atom.operands.begin(), atom.operands.end(), proven);
}

bool nonnegative(const std::vector<Factor>& factors, int depth) {
  return std::all_of(factors.begin(), factors.end(), [&](const Factor& f) {
    return f.exponent % 2 == 0 || nonnegative(*f.atom, depth);
  });
}

// Tries to prove d >= 0 by replacing the atom `index` of `term` (with exponent 1) by one of its
// bounds.
bool proven_by_bound(const Dim& d, const Term& term, std::size_t index, int depth) {
  const Atom& atom = *term.factors[index].atom;
  if (atom.kind == AtomKind::symbol || term.factors[index].exponent != 1) return false;
  Term others = term;
  others.factors.erase(others.factors.begin() + static_cast<std::ptrdiff_t>(index));
  if (!nonnegative(others.factors, depth)) return false;
  const Dim scale = DimBuilder::of_term(others);
  const Dim rest = d - DimBuilder::of_term(term);
  auto replaced = [&](const Dim& by) { return provably_nonnegative(rest + scale * by, depth - 1); };

  const bool upper = term.coefficient < 0;  // then an upper bound on the atom is needed
  if (atom.kind == AtomKind::floor_div) {
    const Dim& x = atom.operands[0];
    const Dim& k = atom.operands[1];
    if (k.is_constant() && k.constant() > 0) {  // x - k + 1 <= k * floor_div(x, k) <= x
      return provably_nonnegative(k * rest + scale * (upper ? x : x - k + 1), depth - 1);
    }
    return upper && provably_nonnegative(x, depth - 1) && provably_nonnegative(k, depth - 1) &&
           replaced(x);
  }
  // Any operand of min is an upper bound, whereas a lower bound must hold for all operands. For
  // max, the reverse is true.
  const bool any = (atom.kind == AtomKind::min) == upper;
  return any ? std::any_of(atom.operands.begin(), atom.operands.end(), replaced)
             : std::all_of(atom.operands.begin(), atom.operands.end(), replaced);
}

bool provably_nonnegative(const Dim& d, int depth) {
  if (d.is_constant()) return d.constant() >= 0;
  const std::vector<Term>& terms = d.polynomial()->terms;
  if (std::all_of(terms.begin(), terms.end(), [&](const Term& t) {
        return t.coefficient > 0 && nonnegative(t.factors, depth);
      })) {
    return true;
  }
  if (depth == 0) return false;
  for (const Term& t : terms) {
    for (std::size_t i = 0; i < t.factors.size(); ++i) {
      if (proven_by_bound(d, t, i, depth)) return true;
    }
  }
  return false;
}

Dim min_or_max(AtomKind kind, const Dim& a, const Dim& b) {
  if (a.is_constant() && b.is_constant()) {
    const std::int64_t x = a.constant(), y = b.constant();
    return kind == AtomKind::min ? std::min(x, y) : std::max(x, y);
  }
  // Flatten nested calls, so that the result does not depend on the order in which they were
  // combined.
  std::vector<Dim> operands;
  for (const Dim* d : {&a, &b}) {
    const Atom* atom = single_atom(*d);
    if (atom != nullptr && atom->kind == kind) {
      operands.insert(operands.end(), atom->operands.begin(), atom->operands.end());
    } else {
      operands.push_back(*d);
    }
  }
  if (operands.size() > kMaxOperands) {  // all pairs are compared below
    throw ShapeError(fmt::format("a {} of more than {} dims is not supported",
                                 kind == AtomKind::min ? "min" : "max", kMaxOperands));
  }
  std::sort(operands.begin(), operands.end(),
            [](const Dim& x, const Dim& y) { return compare(x, y) > 0; });
  // Drop every operand that another operand makes redundant. Of two equal operands, the later one
  // is dropped.
  std::vector<Dim> kept;
  for (const Dim& x : operands) {
    auto beats = [&](const Dim& winner, const Dim& loser) {
      return kind == AtomKind::min ? Dim::provably_le(winner, loser)
                                   : Dim::provably_le(loser, winner);
    };
    if (std::any_of(kept.begin(), kept.end(), [&](const Dim& k) { return beats(k, x); })) continue;
    kept.erase(std::remove_if(kept.begin(), kept.end(), [&](const Dim& k) { return beats(x, k); }),
               kept.end());
    kept.push_back(x);
  }
  return kept.size() == 1 ? kept[0] : DimBuilder::of_atom(kind, nullptr, std::move(kept));
}

// Canonical form of floor_div(a, k) for k >= 2: multiples of k are moved out of the division,
// common factors cancel, and nested divisions merge, so that equal quotients compare equal.
Dim floor_div_constant(const Dim& a, std::int64_t k) {
  std::vector<Term> outside, inside;
  std::int64_t common = k;
  std::int64_t offset = 0;
  for (const Term& t : a.polynomial()->terms) {
    const std::int64_t q = floor_divide(t.coefficient, k);
    std::int64_t r = t.coefficient % k;  // not c - q * k, where q * k may overflow
    if (r < 0) r += k;
    if (q != 0) outside.push_back(Term{q, t.factors});
    if (r == 0) continue;
    if (t.factors.empty()) {
      offset = r;
    } else {
      inside.push_back(Term{r, t.factors});
      common = std::gcd(common, r);
    }
  }
  Dim whole = DimBuilder::from_terms(std::move(outside));
  if (inside.empty()) return whole;  // offset < k
  for (Term& t : inside) t.coefficient /= common;
  k /= common;
  const Dim rest = DimBuilder::from_terms(std::move(inside));
  const Dim dividend = rest + offset / common;
  if (k == 1) return whole + dividend;
  // floor((floor(x / m) + c) / k) = floor((x + c * m) / (m * k)) for m > 0.
  const Atom* inner = single_atom(rest);
  if (inner != nullptr && inner->kind == AtomKind::floor_div && inner->operands[1].is_constant()) {
    const std::int64_t m = inner->operands[1].constant();
    std::int64_t divisor = 0;
    if (m > 0 && !__builtin_mul_overflow(m, k, &divisor)) {
      return whole + floor_div(inner->operands[0] + Dim(offset / common) * Dim(m), Dim(divisor));
    }
  }
  return whole + DimBuilder::of_atom(AtomKind::floor_div, nullptr, {dividend, Dim(k)});
}

}  // namespace

std::optional<Dim> Dim::try_exact_div(const Dim& a, const Dim& b) {
  try {
    if (b.is_constant()) {
      const std::int64_t k = b.constant();
      if (k == 0) return std::nullopt;
      std::vector<Term> terms = DimBuilder::terms(a);
      for (Term& t : terms) {
        if (k != -1 && t.coefficient % k != 0) return std::nullopt;
        t.coefficient = floor_divide(t.coefficient, k);
      }
      return DimBuilder::from_terms(std::move(terms));
    }
    if (a.is_constant() && a.constant() != 0) return std::nullopt;
    const auto division = divide(a, b, true);
    if (!division) return std::nullopt;
    return division->quotient;
  } catch (const ShapeError&) {
    return std::nullopt;  // overflow in an intermediate result: not proven
  }
}

bool Dim::provably_le(const Dim& a, const Dim& b) {
  try {
    return provably_nonnegative(b - a, kProofDepth);
  } catch (const ShapeError&) {
    return false;  // overflow in an intermediate result: not proven
  }
}

Dim floor_div(const Dim& a, const Dim& b) {
  if (b.is_constant()) {
    const std::int64_t k = b.constant();
    if (k == 0) throw ShapeError(fmt::format("division by zero: floor_div({}, 0)", a.str()));
    if (a.is_constant()) return floor_divide(a.constant(), k);
    if (k == 1) return a;
    return k < 0 ? floor_div(-a, -b) : floor_div_constant(a, k);
  }
  if (a.is_constant() && a.constant() == 0) return 0;
  if (b.polynomial()->terms[0].coefficient < 0) return floor_div(-a, -b);
  // floor((q * b + r) / b) = q + floor(r / b). If that overflows, use the plain atom instead.
  Dim quotient = 0, remainder = a;
  try {
    if (auto division = divide(a, b, false)) {
      quotient = division->quotient;
      remainder = division->remainder;
    }
  } catch (const ShapeError&) {
    quotient = 0;
    remainder = a;
  }
  if (remainder.is_constant() && remainder.constant() == 0) return quotient;
  return quotient + DimBuilder::of_atom(AtomKind::floor_div, nullptr, {remainder, b});
}

Dim min(const Dim& a, const Dim& b) { return min_or_max(AtomKind::min, a, b); }

Dim max(const Dim& a, const Dim& b) { return min_or_max(AtomKind::max, a, b); }

Dim exact_div(const Dim& a, const Dim& b) {
  if (const auto q = Dim::try_exact_div(a, b)) return *q;
  throw ShapeError(
      fmt::format("cannot prove that {} is divisible by {} without remainder", a.str(), b.str()));
}

}  // namespace weft
