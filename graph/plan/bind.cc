#include "weft/graph/plan/bind.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "weft/core/closest.h"
#include "weft/core/error.h"

namespace weft {
namespace {

constexpr std::string_view kCacheHint =
    "; a cache keeps the sizes of its first run: call Session::reset_caches() before runs with "
    "other sizes";

// The sizes of a tensor and the declared shape that they must match. `description` names the
// tensor in messages: "input 'x'" or "variable 'cache'".
struct ShapeCheck {
  std::string description;
  const Shape* shape;
  const Sizes* sizes;
  bool is_cache = false;

  /// The remedy for a cache that has the sizes of earlier runs.
  std::string_view hint() const { return is_cache ? kCacheHint : std::string_view(); }
};

std::string list_inputs(const CompiledProgram& c) {
  std::string text;
  for (const auto& input : c.inputs) {
    if (!input.required) continue;
    text += fmt::format("{}'{}' {}", text.empty() ? "" : ", ", input.name, input.type.str());
  }
  return text.empty() ? "none" : text;
}

void check_feed(const CompiledProgram& c, const CompiledProgram::Input& input, const FeedType& f) {
  if (f.dtype && *f.dtype != input.type.dtype) {
    throw DTypeError(fmt::format(
        "input '{}' of program '{}' is {}, but the tensor fed is {}{}; feeds are not converted: "
        "feed tensor.to(DType::{})",
        input.name, c.name, input.type.str(), dtype_name(*f.dtype), to_string(f.sizes),
        input.type.dtype == DType::boolean ? "boolean" : dtype_name(input.type.dtype)));
  }
  if (static_cast<int>(f.sizes.size()) != input.type.shape.rank()) {
    throw ShapeError(
        fmt::format("input '{}' of program '{}' is {} (rank {}), but the tensor fed has "
                    "sizes {} (rank {})",
                    input.name, c.name, input.type.str(), input.type.shape.rank(),
                    to_string(f.sizes), f.sizes.size()));
  }
  try {
    tensor_bytes(input.type.dtype, f.sizes);
  } catch (const ShapeError& e) {
    throw ShapeError(fmt::format("input '{}' of program '{}': {}", input.name, c.name, e.what()));
  }
}

void bind_axes(const ShapeCheck& s, Bindings& bindings,
               std::vector<std::pair<SymbolPtr, std::string>>& origins) {
  for (int axis = 0; axis < s.shape->rank(); ++axis) {
    const SymbolPtr symbol = (*s.shape)[axis].as_symbol();
    if (!symbol) continue;
    const std::int64_t size = (*s.sizes)[axis];
    const auto bound = bindings.find(*symbol);
    if (!bound) {
      bindings.bind(symbol, size);
      origins.emplace_back(symbol, fmt::format("axis {} of {}", axis, s.description));
    } else if (*bound != size) {
      const auto origin = std::find_if(origins.begin(), origins.end(),
                                       [&](const auto& o) { return o.first == symbol; });
      throw ShapeError(fmt::format("axis {} of {} {} should be {} = {} (from {}), but is {}{}",
                                   axis, s.description, s.shape->str(), symbol->name, *bound,
                                   origin != origins.end() ? origin->second : "the caller", size,
                                   s.hint()));
    }
  }
}

bool all_bound(const Dim& dim, const Bindings& bindings) {
  for (const SymbolPtr& s : dim.symbols()) {
    if (!bindings.find(*s)) return false;
  }
  return true;
}

void check_axes(const ShapeCheck& s, const Bindings& bindings) {
  for (int axis = 0; axis < s.shape->rank(); ++axis) {
    const Dim& dim = (*s.shape)[axis];
    const std::int64_t size = (*s.sizes)[axis];
    if (dim.as_symbol() || !all_bound(dim, bindings)) continue;
    const std::int64_t expected = dim.evaluate(bindings);
    if (expected == size) continue;
    throw ShapeError(fmt::format(
        "axis {} of {} {} should be {}{}, but is {}{}", axis, s.description, s.shape->str(),
        dim.str(),
        dim.is_constant() ? "" : fmt::format(" = {} (with {})", expected, bindings.str()), size,
        s.hint()));
  }
}

// Binds symbols that are determined by a requirement, such as "rows == batch * 4", but not by an
// axis.
void bind_required(const std::vector<DimEquation>& requirements, Bindings& bindings) {
  const auto define = [&](const Dim& symbol, const Dim& value) {
    const SymbolPtr s = symbol.as_symbol();
    if (!s || bindings.find(*s) || !all_bound(value, bindings)) return false;
    bindings.bind(s, value.evaluate(bindings));
    return true;
  };
  // Repeats until nothing changes, because one requirement may bind a symbol that another
  // requirement needs.
  for (bool any = true; any;) {
    any = false;
    for (const DimEquation& e : requirements)
      any = define(e.left, e.right) || define(e.right, e.left) || any;
  }
}

void bind_explicit(const CompiledProgram& c, const DimValues& dims, Bindings& bindings) {
  const std::vector<SymbolPtr>& symbols = c.module.graph->symbols();
  for (const auto& [name, value] : dims) {
    const auto it =
        std::find_if(symbols.begin(), symbols.end(),
                     [&, n = std::string_view(name)](const SymbolPtr& s) { return s->name == n; });
    if (it == symbols.end()) {
      std::vector<std::string> known;
      for (const SymbolPtr& s : symbols) known.push_back(s->name);
      throw ArgumentError(fmt::format("program '{}' has no symbol '{}'{}; its symbols are: {}",
                                      c.name, name, did_you_mean(name, known), list_names(known)));
    }
    if (value < 0) {
      throw ArgumentError(
          fmt::format("symbol '{}' was given {}; sizes must not be negative", name, value));
    }
    if (!bindings.bind(*it, value)) {
      throw ArgumentError(fmt::format("symbol '{}' was given two values", name));
    }
  }
}

}  // namespace

Bindings bind_symbols(const CompiledProgram& c, const std::vector<FeedType>& feeds,
                      const DimValues& dims,
                      const std::vector<std::pair<VariableId, Sizes>>& existing) {
  IdVector<InputId, char> fed(c.inputs.size());
  std::vector<ShapeCheck> shape_checks;
  for (const FeedType& f : feeds) {
    const InputId index = c.find_input(f.name);
    if (!index.defined()) {
      std::vector<std::string> known;
      for (const CompiledProgram::Input& input : c.inputs) known.push_back(input.name);
      throw ArgumentError(fmt::format("program '{}' has no input '{}'{}; its inputs are: {}",
                                      c.name, f.name, did_you_mean(f.name, known), list_inputs(c)));
    }
    const CompiledProgram::Input& input = c.inputs[index];
    if (fed[index]++) {
      throw ArgumentError(fmt::format("input '{}' of program '{}' is fed twice", f.name, c.name));
    }
    check_feed(c, input, f);
    shape_checks.push_back({fmt::format("input '{}'", f.name), &input.type.shape, &f.sizes});
  }
  for (const InputId i : c.inputs.ids()) {
    if (!c.inputs[i].required || fed[i]) continue;
    throw ArgumentError(
        fmt::format("program '{}' needs input '{}' {}, which is not fed; its inputs "
                    "are: {}",
                    c.name, c.inputs[i].name, c.inputs[i].type.str(), list_inputs(c)));
  }
  for (const auto& [variable, sizes] : existing) {
    const VariableInfo& info = c.variables[variable].info;
    shape_checks.push_back({fmt::format("{} '{}'", variable_kind_name(info.kind), info.name),
                            &info.type.shape, &sizes, info.kind == VariableKind::cache});
  }

  const bool cached = std::any_of(shape_checks.begin(), shape_checks.end(),
                                  [](const ShapeCheck& s) { return s.is_cache; });
  Bindings bindings;
  bind_explicit(c, dims, bindings);
  std::vector<std::pair<SymbolPtr, std::string>> origins;
  for (const ShapeCheck& s : shape_checks) bind_axes(s, bindings, origins);
  bind_required(c.requirements, bindings);
  for (const ShapeCheck& s : shape_checks) check_axes(s, bindings);
  for (const DimEquation& e : c.requirements) {
    if (!all_bound(e.left, bindings) || !all_bound(e.right, bindings)) continue;
    const std::int64_t left = e.left.evaluate(bindings), right = e.right.evaluate(bindings);
    if (left == right) continue;
    throw ShapeError(fmt::format(
        "program '{}' requires {} == {}, but they are {} and {} (with {}){}", c.name, e.left.str(),
        e.right.str(), left, right, bindings.str(), cached ? kCacheHint : std::string_view()));
  }
  return bindings;
}

Sizes variable_sizes(const VariableInfo& info, const Bindings& bindings) {
  try {
    Sizes sizes = info.type.shape.evaluate(bindings);
    tensor_bytes(info.type.dtype, sizes);
    return sizes;
  } catch (const ShapeError& e) {
    const bool known = std::all_of(info.type.shape.begin(), info.type.shape.end(),
                                   [&](const Dim& dim) { return all_bound(dim, bindings); });
    throw ShapeError(fmt::format("variable '{}' {}: {}{}", info.name, info.type.str(), e.what(),
                                 known ? ""
                                       : "; feed an input whose shape determines the size, or set "
                                         "it in RunOptions::dims"));
  }
}

}  // namespace weft
