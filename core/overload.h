// One function object of several: what std::visit wants.
#pragma once

#include "weft/core/export.h"

namespace WEFT_API weft {

/// std::visit(Overload{[](int i) { ... }, [](const auto& other) { ... }}, variant)
template <class... Cases>
struct Overload : Cases... {
  using Cases::operator()...;
};
template <class... Cases>
Overload(Cases...) -> Overload<Cases...>;  // clang 14 needs to be told

}  // namespace weft
