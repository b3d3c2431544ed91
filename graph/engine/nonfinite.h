// Finds NaN and infinite elements in tensors and stores.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "weft/core/tensor.h"
#include "weft/graph/engine/variable_store.h"

namespace WEFT_API weft {

/// Returns the position of element `index` of a row-major tensor as text: "[3, 5]".
std::string place_text(const Sizes& sizes, std::int64_t index);

/// Returns the flat index of the first element that is NaN or infinite, or nullopt if all elements
/// are finite (as they are in integer tensors). The speed is limited by memory bandwidth.
std::optional<std::int64_t> first_nonfinite(const Tensor& tensor);

/// A variable with an element that is NaN or infinite.
struct NonFiniteVariable {
  std::string name;
  VariableKind kind = VariableKind::parameter;
  std::int64_t index = 0;  // flat index of the first such element
  double value = 0;
  /// "the parameter 'net.w' is nan at [3, 5]".
  std::string message;
};

/// Describes a variable with these sizes whose element `index` is `value`.
NonFiniteVariable describe_nonfinite(const std::string& name, VariableKind kind, const Sizes& sizes,
                                     std::int64_t index, double value);

/// Returns the first parameter or optimizer variable, in creation order, with a non-finite element.
/// Other kinds are not checked, because buffers may contain infinities on purpose (a mask), and
/// caches and keys contain no learned values. Throws StateError if the store is torn.
std::optional<NonFiniteVariable> first_nonfinite(const VariableStore& store);

/// Throws DataError if first_nonfinite() finds a variable: "<what>: the parameter 'net.w' is nan at
/// [0]".
void check_finite(const VariableStore& store, std::string_view what);

}  // namespace weft
