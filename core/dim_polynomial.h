// The internal representation of Dim, for its implementation files only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "weft/core/dim.h"

namespace WEFT_API weft {

enum class AtomKind : std::uint8_t { symbol, floor_div, min, max };

/// An indeterminate of a polynomial: a symbol, or a function of Dims. min and max have two or more
/// sorted operands, none of which is itself an atom of the same kind; floor_div has two.
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

/// coefficient * product of factors. Factors are sorted by atom, and each atom occurs once.
struct Term {
  std::int64_t coefficient = 0;
  std::vector<Factor> factors;
};

/// Terms in graded lexicographic order, largest first (the constant last), without zero
/// coefficients. Multiplication preserves that order, which polynomial division requires.
struct Dim::Polynomial {
  std::vector<Term> terms;
  std::size_t hash = 0;
};

/// Three-way comparisons that define a total order: return a negative number, 0 or a positive
/// number. Symbols are ordered by name, then by address.
int compare(const Atom& a, const Atom& b);
int compare(const Dim& a, const Dim& b);
/// Returns a positive number if `a` comes before `b` in a polynomial.
int compare_monomials(const Term& a, const Term& b);

struct DimBuilder {
  /// Sorts and merges terms. Throws ShapeError if a coefficient overflows or the result is too
  /// large.
  static Dim from_terms(std::vector<Term> terms);
  /// Returns the terms of a Dim; the Dim 0 has no terms.
  static std::vector<Term> terms(const Dim& dim);
  static Dim of_atom(AtomKind kind, SymbolPtr symbol, std::vector<Dim> operands);
  static Dim of_term(Term term);
  static bool identical(const Dim& a, const Dim& b) { return a.identical(b); }
};

/// Returns a * b; throws ShapeError on overflow.
Term multiply(const Term& a, const Term& b);
/// Returns floor(a / b) for b != 0; throws ShapeError on overflow.
std::int64_t floor_divide(std::int64_t a, std::int64_t b);

/// Returns the atom if `dim` consists of exactly one atom, otherwise null.
const Atom* single_atom(const Dim& dim);

}  // namespace weft
