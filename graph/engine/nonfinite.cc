#include "weft/graph/engine/nonfinite.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "weft/core/error.h"

namespace weft {
namespace {

bool finite(float x) { return std::fabs(x) <= std::numeric_limits<float>::max(); }
bool finite(double x) { return std::fabs(x) <= std::numeric_limits<double>::max(); }
// A value is NaN or infinite if all exponent bits are ones.
bool finite(BFloat16 x) { return (x.bits & 0x7f80) != 0x7f80; }
bool finite(Float16 x) { return (x.bits & 0x7c00) != 0x7c00; }

template <class T>
std::optional<std::int64_t> first_in(std::span<const T> values) {
  // Scans blocks without a branch in the inner loop, so that compilers vectorise it, and searches a
  // block again only if it contains a non-finite element.
  constexpr std::size_t kBlock = 1024;
  for (std::size_t begin = 0; begin < values.size(); begin += kBlock) {
    const std::span<const T> block = values.subspan(begin, std::min(kBlock, values.size() - begin));
    unsigned found = 0;
    for (const T& x : block) found |= finite(x) ? 0U : 1U;
    if (found == 0) continue;
    const auto at = std::find_if(block.begin(), block.end(), [](T x) { return !finite(x); });
    return static_cast<std::int64_t>(begin) + (at - block.begin());
  }
  return {};
}

std::string_view noun(VariableKind kind) {
  return kind == VariableKind::parameter ? "parameter" : "optimizer's variable";
}

}  // namespace

std::string place_text(const Sizes& sizes, std::int64_t index) {
  std::vector<std::int64_t> at(sizes.size());
  for (std::size_t axis = sizes.size(); axis-- > 0; index /= sizes[axis])
    at[axis] = index % sizes[axis];
  return fmt::format("[{}]", fmt::join(at, ", "));
}

std::optional<std::int64_t> first_nonfinite(const Tensor& tensor) {
  switch (tensor.dtype()) {
    case DType::f32: return first_in(tensor.span<float>());
    case DType::f64: return first_in(tensor.span<double>());
    case DType::bf16: return first_in(tensor.span<BFloat16>());
    case DType::f16: return first_in(tensor.span<Float16>());
    default: return {};
  }
}

NonFiniteVariable describe_nonfinite(const std::string& name, VariableKind kind, const Sizes& sizes,
                                     std::int64_t index, double value) {
  NonFiniteVariable found{name, kind, index, value, {}};
  found.message =
      fmt::format("the {} '{}' is {} at {}", noun(kind), name,
                  std::isnan(value) ? "nan" : fmt::format("{}", value), place_text(sizes, index));
  return found;
}

std::optional<NonFiniteVariable> first_nonfinite(const VariableStore& store) {
  for (const std::string& name : store.names()) {
    const VariableKind kind = store.kind(name);
    if (kind != VariableKind::parameter && kind != VariableKind::optimizer) continue;
    const Tensor tensor = store.tensor(name);
    const std::optional<std::int64_t> index = first_nonfinite(tensor);
    if (index) return describe_nonfinite(name, kind, tensor.sizes(), *index, tensor.at(*index));
  }
  return {};
}

void check_finite(const VariableStore& store, std::string_view what) {
  const std::optional<NonFiniteVariable> found = first_nonfinite(store);
  if (found) throw DataError(fmt::format("{}: {}", what, found->message));
}

}  // namespace weft
