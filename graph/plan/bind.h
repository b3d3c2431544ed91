// Binding: what the symbols of a program are in one run.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weft/graph/plan/compile.h"

namespace WEFT_API weft {

/// What is known of a fed tensor: planning ahead of a run knows no dtype.
struct FeedType {
  std::string name;
  std::optional<DType> dtype;
  Sizes sizes;
};
/// Sizes given by name, for symbols that no input shows.
using DimValues = std::vector<std::pair<std::string, std::int64_t>>;

/// Binds symbols: an axis that is a plain symbol binds it, and then so does a requirement that one
/// is equal to something known. Every other Dim is checked afterwards; so are the graph's
/// requirements, as far as their symbols are bound. `existing` are variables
/// that have sizes already (caches bind symbols too). Throws
/// - ArgumentError for an unknown, repeated or missing input (the legal ones are listed) or symbol,
/// - DTypeError for another dtype (nothing is converted),
/// - ShapeError for another rank or size: input, axis, expected Dim, its value and what came.
Bindings bind_symbols(const CompiledProgram& program, const std::vector<FeedType>& feeds,
                      const DimValues& dims,
                      const std::vector<std::pair<VariableId, Sizes>>& existing = {});

/// Concrete sizes of a variable; throws ShapeError that names variable and unbound symbol.
Sizes variable_sizes(const VariableInfo& info, const Bindings& bindings);

}  // namespace weft
