// How a Dim looks inside. For the files of Dim only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "weft/core/dim.h"

namespace WEFT_API weft {

enum class AtomKind : std::uint8_t { symbol, floor_div, min, max };

/// What a polynomial is made of: a symbol, or a function of Dims. min and max have two or more
/// operands, sorted and none of them a min or max itself; floor_div has two.
struct Atom {
  AtomKind kind = AtomKind::symbol;
  SymbolPtr symbol;
  std::vector<Dim> operands;
  std::size_t hash = 0;
};
using AtomPtr = std::shared_ptr<const Atom>;

struct Factor {
  AtomPtr atom;
  int exponent = 1;
};

/// coefficient * product of factors; factors are sorted by atom and each atom occurs once.
struct Term {
  std::int64_t coefficient = 0;
  std::vector<Factor> factors;
};

/// Terms in graded lexicographic order, largest first (the constant last), no coefficient 0. That
/// order respects multiplication, which polynomial division needs.
struct Dim::Polynomial {
  std::vector<Term> terms;
  std::size_t hash = 0;
};

/// Total orders: negative, 0 or positive. Symbols are ordered by name, then by address.
int compare(const Atom& a, const Atom& b);
int compare(const Dim& a, const Dim& b);
/// Positive where a comes first in a polynomial.
int compare_monomials(const Term& a, const Term& b);

struct DimBuilder {
  /// Sorts and merges; throws ShapeError where a coefficient overflows or the result is too large.
  static Dim from_terms(std::vector<Term> terms);
  /// The terms of a Dim; 0 has none.
  static std::vector<Term> terms(const Dim& dim);
  static Dim of_atom(AtomKind kind, SymbolPtr symbol, std::vector<Dim> operands);
  static Dim of_term(Term term);
  static bool identical(const Dim& a, const Dim& b) { return a.identical(b); }
};

/// a * b; throws ShapeError on overflow.
Term multiply(const Term& a, const Term& b);
/// floor(a / b) for b != 0; throws ShapeError on overflow.
std::int64_t floor_divide(std::int64_t a, std::int64_t b);

/// The atom if `dim` is exactly one atom, else null.
const Atom* single_atom(const Dim& dim);

}  // namespace weft
