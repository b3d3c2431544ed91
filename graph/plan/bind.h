// Binding: determines the values of a program's symbols for one run.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weft/graph/plan/compile.h"

namespace WEFT_API weft {

/// Name, dtype and sizes of a fed tensor. The dtype is unknown if planning happens before a run.
struct FeedType {
  std::string name;
  std::optional<DType> dtype;
  Sizes sizes;
};
/// Explicit values of symbols, by name, for symbols that no input determines.
using DimValues = std::vector<std::pair<std::string, std::int64_t>>;

/// Binds the symbols of `program`. If the Dim of an axis is a plain symbol, the axis binds this
/// symbol. Then the graph's requirements bind each symbol that must equal an expression of bound
/// symbols. Afterwards, all other Dims and all requirements with bound symbols are checked.
/// `existing` lists the variables that already have sizes (caches also bind symbols). Throws
/// - ArgumentError for an unknown, repeated or missing input (the message lists the inputs), for an
///   unknown symbol, or for an invalid symbol value,
/// - DTypeError if a dtype differs (feeds are not converted),
/// - ShapeError if a rank or size differs; the message names the input, the axis, the expected Dim
///   with its value, and the actual size.
Bindings bind_symbols(const CompiledProgram& program, const std::vector<FeedType>& feeds,
                      const DimValues& dims,
                      const std::vector<std::pair<VariableId, Sizes>>& existing = {});

/// Returns the concrete sizes of a variable. If the sizes cannot be evaluated, throws a ShapeError
/// that names the variable and the unbound symbol.
Sizes variable_sizes(const VariableInfo& info, const Bindings& bindings);

}  // namespace weft
