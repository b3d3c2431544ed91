// Replaces the sizes of a sample by symbols. The relations between sizes are found by querying the
// op's shape rule, so this works for every record.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "weft/ops/op.h"

namespace weft::testing {

/// A sample whose axes, and whose Dim and Shape attributes, are polynomials in symbols.
struct SymbolicSample {
  /// The symbols that occur: "s0", "s1", ...
  std::vector<SymbolPtr> symbols;
  /// The values of the symbols in the sample.
  Bindings values;
  /// One type per input of the sample; unspecified for absent inputs.
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
  /// every axis has its own symbol; the equations are in `requirements`
  require,
};

/// Replaces the size of every axis by a symbol, except those for which `keep` returns true. `keep`
/// is called once per axis and once per size in attributes. Returns nullopt if the rule does not
/// accept symbols there (for example, because broadcasting requires sizes of 1).
std::optional<SymbolicSample> symbolise(const OpRecord& op, const OpSample& sample,
                                        Equalities equalities,
                                        const std::function<bool(std::int64_t size)>& keep);
/// As above, for types instead of tensors. Error samples contain types.
std::optional<SymbolicSample> symbolise(const OpRecord& op, const std::vector<ValueType>& inputs,
                                        const std::vector<char>& present,
                                        const Attributes& attributes, Equalities equalities,
                                        const std::function<bool(std::int64_t size)>& keep);

}  // namespace weft::testing
