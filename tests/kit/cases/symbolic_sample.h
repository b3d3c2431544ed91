// Replaces the sizes of a sample by symbols. The relations between sizes are found by querying the
// shape rule of the op, so this works for every record.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "weft/ops/op.h"

namespace weft::testing {

/// A sample with axes and with Dim and Shape attributes that are polynomials over symbols.
struct SymbolicSample {
  /// The symbols that occur: "s0", "s1", ...
  std::vector<SymbolPtr> symbols;
  /// The values of the symbols in the sample.
  Bindings values;
  /// As in the sample; meaningless for absent inputs.
  std::vector<ValueType> inputs;
  std::vector<char> present;
  Attributes attributes;
  /// Equations that the shape rule requires and that were not solved.
  std::vector<DimEquation> requirements;
  /// True if the rule assumed equality of sizes that differ: the sample is invalid, or it is valid
  /// for a reason that cannot be expressed with symbols.
  bool contradicted = false;
};

enum class Equalities {
  solve,  // equal sizes share one symbol, other sizes are expressions in symbols
  /// Every axis has its own symbol, and the equations are in `requirements`.
  require,
};

/// Replaces the size of every axis by a symbol, except where `keep` returns true; `keep` is called
/// once per axis and per size in attributes. Returns null if the rule does not accept symbols there
/// (for example because broadcasting requires sizes of 1).
std::optional<SymbolicSample> symbolise(const OpRecord& op, const OpSample& sample,
                                        Equalities equalities,
                                        const std::function<bool(std::int64_t size)>& keep);
/// As above, for types instead of tensors, as in error samples.
std::optional<SymbolicSample> symbolise(const OpRecord& op, const std::vector<ValueType>& inputs,
                                        const std::vector<char>& present,
                                        const Attributes& attributes, Equalities equalities,
                                        const std::function<bool(std::int64_t size)>& keep);

}  // namespace weft::testing
