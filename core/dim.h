// Symbolic sizes: integer polynomials over named symbols, kept in canonical form.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// A named unknown size (for example "batch"). Its identity is the object, not the name: symbols
/// belong to the graph that made them. A symbol stands for an integer >= 0.
struct Symbol {
  std::string name;
};
using SymbolPtr = std::shared_ptr<const Symbol>;

/// What each symbol stands for in one run.
class Bindings {
 public:
  /// False if `symbol` is bound to another value already.
  bool bind(const SymbolPtr& symbol, std::int64_t value);
  /// The value of a symbol, if it has one.
  std::optional<std::int64_t> find(const Symbol& symbol) const;
  const std::vector<std::pair<SymbolPtr, std::int64_t>>& entries() const { return entries_; }
  /// "batch=8, seq=128".
  std::string str() const;

 private:
  std::vector<std::pair<SymbolPtr, std::int64_t>> entries_;
};

struct DimEquation;

class Dim;
// Declared here, too: g++ hides what is declared as a friend alone.
Dim operator+(const Dim& a, const Dim& b);
Dim operator-(const Dim& a, const Dim& b);
Dim operator*(const Dim& a, const Dim& b);
Dim operator-(const Dim& a);
DimEquation operator==(const Dim& a, const Dim& b);
bool operator!=(const Dim& a, const Dim& b);

/// An integer polynomial over symbols and atoms (floor_div, min, max of other Dims), in canonical
/// form: two Dims that are equal as polynomials compare equal. Arithmetic throws ShapeError when a
/// coefficient overflows 64 bits. Cheap to copy; a constant Dim does not allocate.
class Dim {
 public:
  struct Polynomial;

  Dim() = default;                               // 0
  Dim(std::int64_t value) : constant_(value) {}  // NOLINT(google-explicit-constructor)
  Dim(int value) : constant_(value) {}           // NOLINT(google-explicit-constructor)
  explicit Dim(SymbolPtr symbol);

  bool is_constant() const { return poly_ == nullptr; }
  /// The value of a constant Dim; throws ShapeError that names the Dim if it is symbolic.
  std::int64_t constant() const;
  /// The symbol if this Dim is exactly one symbol, else null.
  SymbolPtr as_symbol() const;
  /// All symbols that occur, inside atoms too, each once, ordered by name.
  std::vector<SymbolPtr> symbols() const;

  /// The value under `bindings`; throws ShapeError naming the Dim and the first unbound symbol,
  /// on overflow, and on division by zero.
  std::int64_t evaluate(const Bindings& bindings) const;
  /// Replaces symbols: `map(symbol)` gives the Dim to put there, or nullopt to keep it.
  Dim substitute(const std::function<std::optional<Dim>(const SymbolPtr&)>& map) const;

  /// "2*batch*seq + 1", "floor_div(seq, 2)", "-1": parse() reads it back.
  std::string str() const;
  /// Reads what str() writes (and any expression of + - * ( ) floor_div min max). `symbol` gives
  /// the symbol for a name. Throws FormatError with the position.
  static Dim parse(std::string_view text, const std::function<SymbolPtr(std::string_view)>& symbol);
  /// Whether text with a symbol of this name reads back: it has letters (any beyond ASCII, too),
  /// digits and "_./", begins with none of "0123456789./", and has no "//", which begins comments.
  static bool is_symbol_name(std::string_view name);

  std::size_t hash() const;

  Dim& operator+=(const Dim& o) { return *this = *this + o; }
  Dim& operator-=(const Dim& o) { return *this = *this - o; }
  Dim& operator*=(const Dim& o) { return *this = *this * o; }
  friend Dim operator+(const Dim& a, const Dim& b);
  friend Dim operator-(const Dim& a, const Dim& b);
  friend Dim operator*(const Dim& a, const Dim& b);
  friend Dim operator-(const Dim& a);
  friend DimEquation operator==(const Dim& a, const Dim& b);
  friend bool operator!=(const Dim& a, const Dim& b);

  /// a / b where the division has no remainder as polynomials; nullopt where that is not proven.
  static std::optional<Dim> try_exact_div(const Dim& a, const Dim& b);
  /// True if a <= b for every non-negative value of the symbols (false means "not proven").
  static bool provably_le(const Dim& a, const Dim& b);

  const Polynomial* polynomial() const { return poly_.get(); }

 private:
  friend struct DimBuilder;
  bool identical(const Dim& o) const;

  std::int64_t constant_ = 0;               // the value when poly_ is null
  std::shared_ptr<const Polynomial> poly_;  // canonical, never constant
};

/// Floor division, rounding towards minus infinity. Simplifies when the division is exact.
Dim floor_div(const Dim& a, const Dim& b);
/// The smaller one, and the larger one.
Dim min(const Dim& a, const Dim& b);
Dim max(const Dim& a, const Dim& b);
/// Exact division; throws ShapeError naming both if it is not proven to have no remainder.
Dim exact_div(const Dim& a, const Dim& b);

/// What `a == b` gives: true where both are the same polynomial, and also the statement itself, for
/// Graph::require(a == b).
struct DimEquation {
  Dim left, right;
  bool holds = false;
  operator bool() const { return holds; }  // NOLINT(google-explicit-constructor)
};

}  // namespace weft
