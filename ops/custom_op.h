// Helpers for writing the records of custom ops. See docs/custom-operations.md for examples.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "weft/ops/op.h"

namespace WEFT_API weft {

/// Returns a phase over `count` units of work that take `ns_each` nanoseconds each, divided into
/// chunks of at least about 16 microseconds. body(run, begin, end) processes the units [begin,
/// end). Chunk boundaries depend only on `count` and `ns_each`. The bits that are computed for a
/// unit must not depend on where chunks begin.
Phase loop_phase(std::int64_t count, double ns_each,
                 std::function<void(const KernelRun&, std::int64_t begin, std::int64_t end)> body);
/// Returns a kernel that consists of a single phase as returned by loop_phase().
Kernel loop_kernel(
    std::int64_t count, double ns_each,
    std::function<void(const KernelRun&, std::int64_t begin, std::int64_t end)> body);

/// Returns an OpRecord::kernel for an op on f32 or f64. It calls make(zero, request), in which
/// `zero` is a float or a double depending on the dtype of the first input. Ops need kernels for
/// both types, because gradients are checked in double.
template <class Make>
RecordFunction<Kernel(const KernelRequest&)> floating_kernel(Make make) {
  return [make](const KernelRequest& request) -> Kernel {
    return request.inputs.at(0).dtype == DType::f64 ? make(double{}, request)
                                                    : make(float{}, request);
  };
}

/// Returns `shape` without axis `axis`. A negative axis counts from the end; -1 is the last axis.
Shape without_axis(const Shape& shape, int axis);

// Implementation details of elementwise_op.
namespace custom_op_detail {

/// Returns the record of an elementwise op with `operands` operands, which have the same dtype, f32
/// or f64, and are broadcast. The samples are between -2 and 2.
OpRecord elementwise_record(std::string name, std::size_t operands,
                            std::vector<AttributeSpec> attributes, RowRule row);

template <class Formula>
constexpr std::size_t operands_of() {
  if constexpr (std::is_invocable_v<const Formula&, float>) {
    return 1;
  } else if constexpr (std::is_invocable_v<const Formula&, float, float>) {
    return 2;
  } else {
    static_assert(std::is_invocable_v<const Formula&, float, float, float>,
                  "a formula must accept one to three floating-point numbers");
    return 3;
  }
}

template <class T, class Formula, std::size_t... operand>
void run_row(const RowKernel& self, const void* const* in, void* out, std::int64_t n,
             std::index_sequence<operand...>) {
  const Formula formula = *static_cast<const Formula*>(self.captured.get());
  T* const to = static_cast<T*>(out);
  const std::array<const T*, sizeof...(operand)> from{static_cast<const T*>(in[operand])...};
  if (self.scalars == 0) {
    for (std::int64_t i = 0; i < n; ++i) to[i] = static_cast<T>(formula(from[operand][i]...));
    return;
  }
  const std::array<std::int64_t, sizeof...(operand)> step{self.scalar(operand) ? 0 : 1 ...};
  for (std::int64_t i = 0; i < n; ++i) {
    to[i] = static_cast<T>(formula(from[operand][i * step[operand]]...));
  }
}

template <class T, class Formula>
RowKernel row_of(const RowRequest& request, Formula formula) {
  RowKernel kernel;
  kernel.function = [](const RowKernel& self, const void* const* in, void* out, std::int64_t n,
                       std::int64_t) {
    run_row<T, Formula>(self, in, out, n, std::make_index_sequence<operands_of<Formula>()>());
  };
  kernel.scalars = request.scalars;
  kernel.captured = std::make_shared<const Formula>(std::move(formula));
  kernel.ns_per_element = 1;
  return kernel;
}

}  // namespace custom_op_detail

/// Returns the record of an elementwise op with one to three operands, which have the same dtype
/// (f32 or f64) and are broadcast as in NumPy. make(attributes) returns the formula of the op, a
/// function with one number per operand, which is called with floats and with doubles:
///   elementwise_op("swish", {{"beta", 1.0}}, [](const Attributes& a) {
///     return [beta = a.real("beta")](auto x) { return x / (1 + std::exp(-beta * x)); };
///   })
/// A single operand is named x; two or three operands are named a, b and c. The formula is compiled
/// with the caller's compiler options. It must return the same bits for the same numbers and have
/// no side effects. The op runs in parallel, may overwrite an operand that has no later reader, and
/// can be fused into chains and matmul epilogues. To define its gradient, set `rule` or
/// `definition`, or set Gradient::none. Its samples are between -2 and 2 unless they are replaced.
template <class Make>
OpRecord elementwise_op(std::string name, std::vector<AttributeSpec> attributes, Make make) {
  using Formula = decltype(make(std::declval<const Attributes&>()));
  const auto row = [make](const RowRequest& request) {
    for (const DType dtype : request.inputs) {
      if (dtype != request.output) return RowKernel{};
    }
    if (request.output == DType::f64) {
      return custom_op_detail::row_of<double>(request, make(request.attributes));
    }
    if (request.output != DType::f32) return RowKernel{};
    return custom_op_detail::row_of<float>(request, make(request.attributes));
  };
  return custom_op_detail::elementwise_record(
      std::move(name), custom_op_detail::operands_of<Formula>(), std::move(attributes), row);
}

/// As above, without attributes:
///   elementwise_op("softsign", [](auto x) { return x / (1 + abs(x)); });
template <class Formula>
OpRecord elementwise_op(std::string name, Formula formula) {
  return elementwise_op(std::move(name), {}, [formula](const Attributes&) { return formula; });
}

}  // namespace weft
