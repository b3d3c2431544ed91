// Finding elements that are NaN or infinite in tensors and stores.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "weft/core/tensor.h"
#include "weft/graph/run/variable_store.h"

namespace WEFT_API weft {

class OwnedState;

/// Where element `index` of a row-major tensor stands: "[3, 5]".
std::string place_text(const Sizes& sizes, std::int64_t index);

/// The flat index of the first element that is NaN or infinite; none in integers. As fast as memory
/// is read.
std::optional<std::int64_t> first_nonfinite(const Tensor& tensor);

/// A variable with an element that is NaN or infinite.
struct NonFiniteVariable {
  std::string name;
  VariableKind kind = VariableKind::parameter;
  std::int64_t index = 0;  // of the first such element, flat
  double value = 0;
  /// "the parameter 'net.w' is nan at [3, 5]".
  std::string message;
};

/// The first of the parameters and of the optimizer's variables that is not finite, in the order of
/// their creation. Buffers may hold infinities on purpose (a mask), caches and keys are no
/// knowledge. Throws StateError where the store is torn.
std::optional<NonFiniteVariable> first_nonfinite(const VariableStore& store);
/// The same of what this rank has of the state that ranks share out.
std::optional<NonFiniteVariable> first_nonfinite(const OwnedState& owned, int rank);

/// Throws DataError where first_nonfinite finds one: "<what>: the parameter 'net.w' is nan at [0]".
void check_finite(const VariableStore& store, std::string_view what);

}  // namespace weft
