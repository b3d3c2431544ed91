// A sample with symbols for its sizes: found by asking the op's shape rule, so that it works for
// every record.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "weft/ops/op.h"

namespace weft::testing {

/// A sample whose axes, and whose Dim and Shape attributes, are polynomials over symbols.
struct SymbolicSample {
  std::vector<SymbolPtr> symbols;  // "s0", "s1", ...: those that occur
  Bindings values;                 // what they are in the sample
  std::vector<ValueType> inputs;   // as in the sample; meaningless where an input is absent
  std::vector<char> present;
  Attributes attributes;
  /// What the rule asked for and could not be solved, or was not to be.
  std::vector<DimEquation> requirements;
  /// The rule took sizes to be equal that are not: the sample is illegal, or legal for a reason
  /// that symbols do not show.
  bool contradicted = false;
};

enum class Equalities {
  solve,    // sizes that must be equal get one symbol, others an expression in symbols
  require,  // every axis has a symbol of its own; what must be equal is in `requirements`
};

/// Gives every axis a symbol, except where `keep` says that its number stays; it is asked once per
/// axis and per size in attributes. Null where the rule refuses symbols there (broadcasting needs
/// its 1s, say).
std::optional<SymbolicSample> symbolise(const OpRecord& op, const OpSample& sample,
                                        Equalities equalities,
                                        const std::function<bool(std::int64_t size)>& keep);
/// The same for types alone, as error samples have them.
std::optional<SymbolicSample> symbolise(const OpRecord& op, const std::vector<ValueType>& inputs,
                                        const std::vector<char>& present,
                                        const Attributes& attributes, Equalities equalities,
                                        const std::function<bool(std::int64_t size)>& keep);

}  // namespace weft::testing
