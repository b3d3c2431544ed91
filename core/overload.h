// Combines several function objects into one overload set, for std::visit.
#pragma once

#include "weft/core/export.h"

namespace WEFT_API weft {

/// An overload set of function objects, for example:
///   std::visit(Overload{[](int i) { ... }, [](const auto& other) { ... }}, variant)
template <class... Cases>
struct Overload : Cases... {
  using Cases::operator()...;
};
template <class... Cases>
Overload(Cases...) -> Overload<Cases...>;  // clang 14 needs this explicit deduction guide

}  // namespace weft
