// Symbolic sizes, represented as integer polynomials over named symbols in canonical form.
#pragma once

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

/// A named unknown size (for example "batch"), an integer >= 0. Symbols are identified by their
/// address, not by their name, and belong to the graph that created them.
struct Symbol {
  std::string name;
};
using SymbolPtr = std::shared_ptr<const Symbol>;

/// The values of the symbols in one run.
class Bindings {
 public:
  /// Binds `symbol` to `value`. Returns false if it is already bound to another value.
  bool bind(const SymbolPtr& symbol, std::int64_t value);
  /// Returns the value of a symbol, or nullopt if the symbol is not bound.
  std::optional<std::int64_t> find(const Symbol& symbol) const;
  const std::vector<std::pair<SymbolPtr, std::int64_t>>& entries() const { return entries_; }
  /// Returns, for example, "batch=8, seq=128".
  std::string str() const;

 private:
  std::vector<std::pair<SymbolPtr, std::int64_t>> entries_;
};

struct DimEquation;

class Dim;
// Also declared here: g++ gives hidden visibility to functions declared only as friends.
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
  /// Returns the value of a constant Dim. Throws ShapeError, naming the Dim, if it is symbolic.
  std::int64_t constant() const;
  /// Returns the symbol if this Dim consists of exactly one symbol, otherwise null.
  SymbolPtr as_symbol() const;
  /// Returns all distinct symbols of this Dim, including symbols inside atoms, ordered by name.
  std::vector<SymbolPtr> symbols() const;

  /// Returns the value under `bindings`. Throws ShapeError if a symbol is unbound (the message
  /// names the symbol and the Dim), on overflow, and on division by zero.
  std::int64_t evaluate(const Bindings& bindings) const;
  /// Returns a copy in which each symbol is replaced by `map(symbol)`. Symbols for which `map`
  /// returns nullopt are kept.
  Dim substitute(const std::function<std::optional<Dim>(const SymbolPtr&)>& map) const;

  /// Returns text that parse() accepts, such as "2*batch*seq + 1", "floor_div(seq, 2)" or "-1".
  std::string str() const;
  /// Parses the output of str(), or any other expression built from +, -, *, parentheses,
  /// floor_div, min and max. `symbol` returns the symbol for a name, or null if the name is
  /// unknown. Throws FormatError with the position of the error.
  static Dim parse(std::string_view text, const std::function<SymbolPtr(std::string_view)>& symbol);
  /// Returns true if parse() accepts `name` as the name of a symbol. A name consists of letters
  /// (including all non-ASCII characters), digits and "_./". It must not contain "//", which starts
  /// a comment, or begin with any of "0123456789./".
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

  /// Returns a / b if polynomial division provably has no remainder, otherwise nullopt.
  static std::optional<Dim> try_exact_div(const Dim& a, const Dim& b);
  /// Returns true if a <= b for all non-negative values of the symbols; false means "not proven".
  static bool provably_le(const Dim& a, const Dim& b);

  const Polynomial* polynomial() const { return poly_.get(); }

 private:
  friend struct DimBuilder;
  bool identical(const Dim& o) const;

  std::int64_t constant_ = 0;               // the value if poly_ is null
  std::shared_ptr<const Polynomial> poly_;  // canonical, never constant
};

/// Floor division, rounding towards minus infinity. Simplifies if the division is exact.
Dim floor_div(const Dim& a, const Dim& b);
/// Return the smaller or the larger of two Dims.
Dim min(const Dim& a, const Dim& b);
Dim max(const Dim& a, const Dim& b);
/// Exact division. Throws ShapeError, naming both Dims, if the remainder is not provably zero.
Dim exact_div(const Dim& a, const Dim& b);

/// The result of `a == b`. Converts to true if both sides are the same polynomial. Stores both
/// sides of the equation for Graph::require(a == b).
struct DimEquation {
  Dim left, right;
  bool holds = false;
  operator bool() const { return holds; }  // NOLINT(google-explicit-constructor)
};

}  // namespace weft
