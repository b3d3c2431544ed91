#include "weft/tests/support/cases/symbolic_sample.h"

#include <algorithm>

#include "weft/ops/operands.h"

namespace weft::testing {
namespace {

// Answers the size comparisons of a shape rule and solves the resulting equations.
class Unknowns : public DimFacts {
 public:
  /// If `believe` is true, the comparison returns true even for sizes that differ.
  Unknowns(Equalities equalities, const Bindings& values, bool believe)
      : equalities_(equalities), values_(&values), believe_(believe) {}

  bool equal(const Dim& a, const Dim& b) const override {
    const Dim left = solved(a), right = solved(b);
    if (left == right) return true;
    if (value(left) != value(right)) {
      // The rule can check concrete sizes, but not symbolic ones.
      if (!believe_ || (left.is_constant() && right.is_constant())) return false;
      contradicted = true;
      requirements.push_back(left == right);
      return true;
    }
    if (equalities_ == Equalities::require || !solve(left - right)) {
      requirements.push_back(left == right);
    }
    return true;
  }

  Dim solved(const Dim& dim) const {
    return dim.substitute([&](const SymbolPtr& s) -> std::optional<Dim> {
      const auto it = std::find_if(solutions_.begin(), solutions_.end(),
                                   [&](const auto& entry) { return entry.first == s; });
      if (it == solutions_.end()) return std::nullopt;
      return it->second;
    });
  }

  mutable bool contradicted = false;
  mutable std::vector<DimEquation> requirements;

 private:
  std::int64_t value(const Dim& dim) const { return dim.evaluate(*values_); }

  // Solves difference == 0 for a symbol that occurs linearly in it.
  bool solve(const Dim& difference) const {
    for (const SymbolPtr& s : difference.symbols()) {
      const auto with = [&](std::int64_t v) {
        return difference.substitute(
            [&](const SymbolPtr& t) { return t == s ? std::optional<Dim>(v) : std::nullopt; });
      };
      const Dim rest = with(0), slope = with(1) - rest;
      const bool unit = slope == Dim(1) || slope == Dim(-1);
      if (!unit || !(rest + slope * Dim(s) == difference)) continue;
      const Dim solution = slope == Dim(1) ? -rest : rest;
      for (auto& [symbol, dim] : solutions_) {
        dim = dim.substitute(
            [&](const SymbolPtr& t) { return t == s ? std::optional(solution) : std::nullopt; });
      }
      solutions_.emplace_back(s, solution);
      return true;
    }
    return false;
  }

  Equalities equalities_;
  const Bindings* values_;
  bool believe_;
  mutable std::vector<std::pair<SymbolPtr, Dim>> solutions_;  // Dims without solved symbols
};

class Symbols {
 public:
  explicit Symbols(const std::function<bool(std::int64_t)>& keep) : keep_(keep) {}

  Dim dim(const Dim& number) {
    if (!number.is_constant() || number.constant() < 0 || keep_(number.constant())) return number;
    auto symbol =
        std::make_shared<const Symbol>(Symbol{"s" + std::to_string(values.entries().size())});
    values.bind(symbol, number.constant());
    return Dim(std::move(symbol));
  }
  Shape shape(const Shape& numbers) {
    Shape result;
    for (const Dim& d : numbers) result.push_back(dim(d));
    return result;
  }
  Attributes attributes(const Attributes& numbers) {
    Attributes result;
    for (const auto& [name, value] : numbers) {
      if (const auto* d = std::get_if<Dim>(&value)) {
        // 0 means that there is no such size: a symbol would promise that there is one.
        result.set(name, *d == Dim(0) ? *d : dim(*d));
      } else if (const auto* s = std::get_if<Shape>(&value)) {
        result.set(name, shape(*s));
      } else {
        result.set(name, value);
      }
    }
    return result;
  }

  Bindings values;

 private:
  const std::function<bool(std::int64_t)>& keep_;
};

void collect(const Dim& dim, std::vector<SymbolPtr>& symbols) {
  for (const SymbolPtr& s : dim.symbols()) {
    if (std::find(symbols.begin(), symbols.end(), s) == symbols.end()) symbols.push_back(s);
  }
}

bool accepts(const OpRecord& op, const SymbolicSample& sample, const Unknowns& unknowns) {
  std::vector<const ValueType*> types;
  for (std::size_t i = 0; i < sample.inputs.size(); ++i) {
    types.push_back(sample.present[i] ? &sample.inputs[i] : nullptr);
  }
  try {
    const Attributes complete = op.complete(sample.attributes);
    op.infer(InferContext(op.name, types, complete, unknowns));
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

std::optional<SymbolicSample> symbolise(const OpRecord& op, const std::vector<ValueType>& inputs,
                                        const std::vector<char>& present,
                                        const Attributes& attributes, Equalities equalities,
                                        const std::function<bool(std::int64_t size)>& keep) {
  try {
    check_operands(op, std::vector<bool>(present.begin(), present.end()));
  } catch (const Error&) {
    return std::nullopt;
  }
  Symbols symbols(keep);
  SymbolicSample result;
  result.present = present;
  for (const ValueType& type : inputs) {
    result.inputs.push_back({type.dtype, symbols.shape(type.shape)});
  }
  result.attributes = symbols.attributes(attributes);

  // First compare the actual sizes. If the rule rejects them, it requires equality of sizes that
  // differ (the sample is invalid) or information that symbols do not provide.
  Unknowns unknowns(equalities, symbols.values, false);
  if (!accepts(op, result, unknowns)) {
    unknowns = Unknowns(equalities, symbols.values, true);
    if (!accepts(op, result, unknowns)) return std::nullopt;
  }
  const auto map = [&](const SymbolPtr& s) -> std::optional<Dim> {
    return unknowns.solved(Dim(s));
  };
  for (ValueType& type : result.inputs) type.shape = type.shape.substitute(map);
  result.attributes = result.attributes.substitute(map);
  result.contradicted = unknowns.contradicted;
  for (const DimEquation& e : unknowns.requirements) {
    const Dim left = unknowns.solved(e.left), right = unknowns.solved(e.right);
    if (!(left == right)) result.requirements.push_back(left == right);
  }
  for (std::size_t i = 0; i < result.inputs.size(); ++i) {
    for (const Dim& d : result.inputs[i].shape) collect(d, result.symbols);
  }
  for (const auto& [name, value] : result.attributes) {
    if (const auto* d = std::get_if<Dim>(&value)) collect(*d, result.symbols);
    if (const auto* s = std::get_if<Shape>(&value)) {
      for (const Dim& each : *s) collect(each, result.symbols);
    }
  }
  result.values = symbols.values;
  return result;
}

std::optional<SymbolicSample> symbolise(const OpRecord& op, const OpSample& sample,
                                        Equalities equalities,
                                        const std::function<bool(std::int64_t size)>& keep) {
  std::vector<ValueType> inputs;
  std::vector<char> present;
  for (const Tensor& t : sample.inputs) {
    present.push_back(t.defined());
    inputs.push_back(t.defined() ? ValueType{t.dtype(), Shape(t.sizes())} : ValueType{});
  }
  return symbolise(op, inputs, present, sample.attributes, equalities, keep);
}

}  // namespace weft::testing
