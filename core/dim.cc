// Dims as polynomials: canonical form, arithmetic, evaluation. See dim_functions.cc for floor_div,
// min and max, and dim_text.cc for printing and parsing.
#include "weft/core/dim.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "weft/core/dim_polynomial.h"
#include "weft/core/error.h"
#include "weft/core/random.h"

namespace weft {
namespace {

// Both limits prevent malicious text from creating a Dim that takes minutes to process. Real shapes
// stay far below these limits: even 2^64, the product of 64 sizes of 2, does not fit into 64 bits.
constexpr std::size_t kMaxTerms = 4096;
constexpr int kMaxDegree = 64;

[[noreturn]] void throw_overflow(const char* operation, std::int64_t a, std::int64_t b) {
  throw ShapeError(fmt::format("{} {} {} overflows int64 in a dim", a, operation, b));
}

std::int64_t checked_add(std::int64_t a, std::int64_t b) {
  std::int64_t r = 0;
  if (__builtin_add_overflow(a, b, &r)) throw_overflow("+", a, b);
  return r;
}

std::int64_t checked_mul(std::int64_t a, std::int64_t b) {
  std::int64_t r = 0;
  if (__builtin_mul_overflow(a, b, &r)) throw_overflow("*", a, b);
  return r;
}

std::int64_t checked_neg(std::int64_t a) {
  std::int64_t r = 0;
  if (__builtin_sub_overflow(std::int64_t{0}, a, &r)) throw_overflow("-", 0, a);
  return r;
}

std::size_t mix(std::uint64_t h, std::uint64_t x) {
  h = (h ^ x) * 0xff51afd7ed558ccdu;
  h = (h ^ (h >> 32)) * 0xc4ceb9fe1a85ec53u;
  return h ^ (h >> 29);
}

int degree(const Term& t) {
  int sum = 0;
  for (const Factor& f : t.factors) sum += f.exponent;
  return sum;
}

template <class T>
int three_way(const T& a, const T& b) {
  return a < b ? -1 : (b < a ? 1 : 0);
}

std::size_t hash_terms(const std::vector<Term>& terms) {
  std::size_t h = 1;
  for (const Term& t : terms) {
    h = mix(h, static_cast<std::uint64_t>(t.coefficient));
    for (const Factor& f : t.factors)
      h = mix(mix(h, f.atom->hash), static_cast<unsigned>(f.exponent));
  }
  return h;
}

void collect_symbols(const Dim& dim, std::vector<SymbolPtr>* out) {
  if (dim.is_constant()) return;
  for (const Term& t : dim.polynomial()->terms) {
    for (const Factor& f : t.factors) {
      if (f.atom->kind == AtomKind::symbol) {
        out->push_back(f.atom->symbol);
      } else {
        for (const Dim& d : f.atom->operands) collect_symbols(d, out);
      }
    }
  }
}

}  // namespace

bool Bindings::bind(const SymbolPtr& symbol, std::int64_t value) {
  if (symbol == nullptr) throw ArgumentError("cannot bind a null symbol");
  if (const auto bound = find(*symbol)) return *bound == value;
  entries_.emplace_back(symbol, value);
  return true;
}

std::optional<std::int64_t> Bindings::find(const Symbol& symbol) const {
  for (const auto& [s, value] : entries_) {
    if (s.get() == &symbol) return value;
  }
  return std::nullopt;
}

std::string Bindings::str() const {
  std::string text;
  for (const auto& [s, value] : entries_) {
    text += fmt::format("{}{}={}", text.empty() ? "" : ", ", s->name, value);
  }
  return text;
}

int compare(const Atom& a, const Atom& b) {
  if (&a == &b) return 0;
  if (a.kind != b.kind) return three_way(a.kind, b.kind);
  if (a.kind == AtomKind::symbol) {
    if (a.symbol == b.symbol) return 0;
    const int by_name = a.symbol->name.compare(b.symbol->name);
    return by_name != 0 ? by_name
                        : (std::less<const Symbol*>()(a.symbol.get(), b.symbol.get()) ? -1 : 1);
  }
  for (std::size_t i = 0; i < std::min(a.operands.size(), b.operands.size()); ++i) {
    if (const int c = compare(a.operands[i], b.operands[i])) return c;
  }
  return three_way(a.operands.size(), b.operands.size());
}

int compare_monomials(const Term& a, const Term& b) {
  if (const int c = three_way(degree(a), degree(b))) return c;
  // The first atom whose exponents differ determines the order. A missing atom has exponent 0.
  const std::size_t n = std::min(a.factors.size(), b.factors.size());
  for (std::size_t i = 0; i < n; ++i) {
    if (const int c = compare(*a.factors[i].atom, *b.factors[i].atom)) return -c;
    if (const int c = three_way(a.factors[i].exponent, b.factors[i].exponent)) return c;
  }
  return three_way(a.factors.size(), b.factors.size());
}

int compare(const Dim& a, const Dim& b) {
  if (a.is_constant() || b.is_constant()) {
    if (a.is_constant() && b.is_constant()) return three_way(a.constant(), b.constant());
    return a.is_constant() ? -1 : 1;
  }
  if (a.polynomial() == b.polynomial()) return 0;
  const auto& x = a.polynomial()->terms;
  const auto& y = b.polynomial()->terms;
  for (std::size_t i = 0; i < std::min(x.size(), y.size()); ++i) {
    if (const int c = compare_monomials(x[i], y[i])) return c;
    if (const int c = three_way(x[i].coefficient, y[i].coefficient)) return c;
  }
  return three_way(x.size(), y.size());
}

Dim DimBuilder::from_terms(std::vector<Term> terms) {
  std::stable_sort(terms.begin(), terms.end(),
                   [](const Term& a, const Term& b) { return compare_monomials(a, b) > 0; });
  std::vector<Term> merged;
  for (Term& t : terms) {
    if (!merged.empty() && compare_monomials(merged.back(), t) == 0) {
      merged.back().coefficient = checked_add(merged.back().coefficient, t.coefficient);
    } else {
      if (!merged.empty() && merged.back().coefficient == 0) merged.pop_back();
      merged.push_back(std::move(t));
    }
  }
  if (!merged.empty() && merged.back().coefficient == 0) merged.pop_back();
  if (merged.empty()) return Dim(0);
  if (merged.size() == 1 && merged[0].factors.empty()) return Dim(merged[0].coefficient);
  if (merged.size() > kMaxTerms) {
    throw ShapeError(fmt::format("a dim has {} terms; more than {} are not supported",
                                 merged.size(), kMaxTerms));
  }
  auto poly = std::make_shared<Dim::Polynomial>();
  poly->hash = hash_terms(merged);
  poly->terms = std::move(merged);
  Dim d;
  d.poly_ = std::move(poly);
  return d;
}

std::vector<Term> DimBuilder::terms(const Dim& dim) {
  if (!dim.is_constant()) return dim.polynomial()->terms;
  if (dim.constant_ == 0) return {};
  return {Term{dim.constant_, {}}};
}

Dim DimBuilder::of_atom(AtomKind kind, SymbolPtr symbol, std::vector<Dim> operands) {
  auto atom = std::make_shared<Atom>();
  // Hash the name rather than the address, so that hash values and the order of hash tables are the
  // same in every process.
  atom->hash = mix(static_cast<std::uint64_t>(kind), symbol ? stable_hash(symbol->name) : 0);
  for (const Dim& d : operands) atom->hash = mix(atom->hash, d.hash());
  atom->kind = kind;
  atom->symbol = std::move(symbol);
  atom->operands = std::move(operands);
  return of_term(Term{1, {Factor{std::move(atom), 1}}});
}

Dim DimBuilder::of_term(Term term) {
  std::vector<Term> terms;
  terms.push_back(std::move(term));
  return from_terms(std::move(terms));
}

Term multiply(const Term& a, const Term& b) {
  Term out;
  out.coefficient = checked_mul(a.coefficient, b.coefficient);
  out.factors.reserve(a.factors.size() + b.factors.size());
  auto x = a.factors.begin();
  auto y = b.factors.begin();
  while (x != a.factors.end() || y != b.factors.end()) {
    const int c = x == a.factors.end()   ? 1
                  : y == b.factors.end() ? -1
                                         : compare(*x->atom, *y->atom);
    out.factors.push_back(c <= 0 ? *x : *y);
    if (c == 0) out.factors.back().exponent += y->exponent;
    if (c <= 0) ++x;
    if (c >= 0) ++y;
  }
  if (degree(out) > kMaxDegree) {
    throw ShapeError(
        fmt::format("a dim with a product of more than {} symbols is not supported", kMaxDegree));
  }
  return out;
}

std::int64_t floor_divide(std::int64_t a, std::int64_t b) {
  if (b == -1) return checked_neg(a);
  const std::int64_t q = a / b;
  return (a % b != 0 && (a < 0) != (b < 0)) ? q - 1 : q;
}

const Atom* single_atom(const Dim& dim) {
  if (dim.is_constant()) return nullptr;
  const auto& terms = dim.polynomial()->terms;
  const bool single = terms.size() == 1 && terms[0].coefficient == 1 &&
                      terms[0].factors.size() == 1 && terms[0].factors[0].exponent == 1;
  return single ? terms[0].factors[0].atom.get() : nullptr;
}

Dim::Dim(SymbolPtr symbol) {
  if (symbol == nullptr) throw ArgumentError("cannot make a Dim from a null symbol");
  *this = DimBuilder::of_atom(AtomKind::symbol, std::move(symbol), {});
}

std::int64_t Dim::constant() const {
  if (poly_ != nullptr) throw ShapeError(fmt::format("dim '{}' is not a constant", str()));
  return constant_;
}

SymbolPtr Dim::as_symbol() const {
  const Atom* atom = single_atom(*this);
  return atom != nullptr ? atom->symbol : nullptr;
}

std::vector<SymbolPtr> Dim::symbols() const {
  std::vector<SymbolPtr> out;
  collect_symbols(*this, &out);
  std::sort(out.begin(), out.end(), [](const SymbolPtr& a, const SymbolPtr& b) {
    return a->name != b->name ? a->name < b->name : std::less<const Symbol*>()(a.get(), b.get());
  });
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

namespace {

std::int64_t evaluate_atom(const Atom& atom, const Bindings& bindings, const Dim& whole) {
  if (atom.kind == AtomKind::symbol) {
    const auto value = bindings.find(*atom.symbol);
    if (value) return *value;
    throw ShapeError(fmt::format("dim '{}' has no value: the symbol '{}' is not bound", whole.str(),
                                 atom.symbol->name));
  }
  std::int64_t result = atom.operands[0].evaluate(bindings);
  for (std::size_t i = 1; i < atom.operands.size(); ++i) {
    const std::int64_t x = atom.operands[i].evaluate(bindings);
    if (atom.kind == AtomKind::min) {
      result = std::min(result, x);
    } else if (atom.kind == AtomKind::max) {
      result = std::max(result, x);
    } else if (x == 0) {
      throw ShapeError(fmt::format("division by zero: {} is 0 in dim '{}' for {}",
                                   atom.operands[i].str(), whole.str(), bindings.str()));
    } else {
      result = floor_divide(result, x);
    }
  }
  return result;
}

}  // namespace

std::int64_t Dim::evaluate(const Bindings& bindings) const {
  if (poly_ == nullptr) return constant_;
  // Sum in 128 bits: n*batch - n may fit into 64 bits even if n*batch does not.
  __int128 sum = 0;
  for (const Term& t : poly_->terms) {
    std::int64_t product = t.coefficient;
    bool overflow = false;
    for (const Factor& f : t.factors) {
      const std::int64_t x = evaluate_atom(*f.atom, bindings, *this);
      for (int e = 0; e < f.exponent; ++e) {
        // A zero factor makes the product 0, regardless of overflows in other factors.
        if (x == 0) product = 0;
        if (x == 0) overflow = false;
        overflow = __builtin_mul_overflow(product, x, &product) || overflow;
      }
    }
    if (overflow) {
      throw ShapeError(fmt::format("dim '{}' overflows int64 for {}", str(), bindings.str()));
    }
    sum += product;
  }
  const auto result = static_cast<std::int64_t>(sum);
  if (result != sum) {
    throw ShapeError(fmt::format("dim '{}' overflows int64 for {}", str(), bindings.str()));
  }
  return result;
}

Dim Dim::substitute(const std::function<std::optional<Dim>(const SymbolPtr&)>& map) const {
  if (poly_ == nullptr) return *this;
  Dim sum = 0;
  for (const Term& t : poly_->terms) {
    Dim product = t.coefficient;
    for (const Factor& f : t.factors) {
      Dim x;
      const Atom& atom = *f.atom;
      if (atom.kind == AtomKind::symbol) {
        const std::optional<Dim> mapped = map(atom.symbol);
        x = mapped ? *mapped : DimBuilder::of_term(Term{1, {Factor{f.atom, 1}}});
      } else {
        x = atom.operands[0].substitute(map);
        for (std::size_t i = 1; i < atom.operands.size(); ++i) {
          const Dim y = atom.operands[i].substitute(map);
          x = atom.kind == AtomKind::min   ? min(x, y)
              : atom.kind == AtomKind::max ? max(x, y)
                                           : floor_div(x, y);
        }
      }
      for (int e = 0; e < f.exponent; ++e) product *= x;
    }
    sum += product;
  }
  return sum;
}

std::size_t Dim::hash() const {
  return poly_ != nullptr ? poly_->hash : mix(0, static_cast<std::uint64_t>(constant_));
}

bool Dim::identical(const Dim& o) const {
  if (poly_ == o.poly_) return poly_ != nullptr || constant_ == o.constant_;
  if (poly_ == nullptr || o.poly_ == nullptr || poly_->hash != o.poly_->hash) return false;
  return compare(*this, o) == 0;
}

Dim operator+(const Dim& a, const Dim& b) {
  if (a.is_constant() && b.is_constant()) return checked_add(a.constant_, b.constant_);
  std::vector<Term> terms = DimBuilder::terms(a);
  for (Term& t : DimBuilder::terms(b)) terms.push_back(std::move(t));
  return DimBuilder::from_terms(std::move(terms));
}

Dim operator-(const Dim& a, const Dim& b) {
  if (a.is_constant() && b.is_constant()) {
    std::int64_t r = 0;
    if (__builtin_sub_overflow(a.constant_, b.constant_, &r)) {
      throw_overflow("-", a.constant_, b.constant_);
    }
    return r;
  }
  return a + -b;
}

Dim operator-(const Dim& a) {
  if (a.is_constant()) return checked_neg(a.constant_);
  std::vector<Term> terms = a.poly_->terms;
  for (Term& t : terms) t.coefficient = checked_neg(t.coefficient);
  return DimBuilder::from_terms(std::move(terms));
}

Dim operator*(const Dim& a, const Dim& b) {
  if (a.is_constant() && b.is_constant()) return checked_mul(a.constant_, b.constant_);
  const std::vector<Term> x = DimBuilder::terms(a);
  const std::vector<Term> y = DimBuilder::terms(b);
  if (x.size() * y.size() > kMaxTerms * 16) {
    throw ShapeError(
        fmt::format("a product of dims with {} and {} terms is too large", x.size(), y.size()));
  }
  std::vector<Term> terms;
  terms.reserve(x.size() * y.size());
  for (const Term& s : x) {
    for (const Term& t : y) terms.push_back(multiply(s, t));
  }
  return DimBuilder::from_terms(std::move(terms));
}

DimEquation operator==(const Dim& a, const Dim& b) { return {a, b, a.identical(b)}; }

bool operator!=(const Dim& a, const Dim& b) { return !a.identical(b); }

}  // namespace weft
