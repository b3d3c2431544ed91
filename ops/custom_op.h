// What records of one's own are made with. ops/README.md has an example of each kind.
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

/// One phase over `count` units of work, `ns_each` nanoseconds each, in pieces of at least some 16
/// microseconds: body(run, begin, end) works on units [begin, end). Pieces depend on `count` and
/// `ns_each` alone; a unit must get the same bits wherever pieces begin.
Phase loop_phase(std::int64_t count, double ns_each,
                 std::function<void(const KernelRun&, std::int64_t begin, std::int64_t end)> body);
/// A kernel of one such phase.
Kernel loop_kernel(
    std::int64_t count, double ns_each,
    std::function<void(const KernelRun&, std::int64_t begin, std::int64_t end)> body);

/// For OpRecord::kernel of an op of f32 or f64: calls make(zero, request), where `zero` is a float
/// or a double, as the first input's dtype is. Ops need kernels for both, since gradients are
/// checked in double.
template <class Make>
RecordFunction<Kernel(const KernelRequest&)> floating_kernel(Make make) {
  return [make](const KernelRequest& request) -> Kernel {
    return request.inputs.at(0).dtype == DType::f64 ? make(double{}, request)
                                                    : make(float{}, request);
  };
}

/// `shape` without axis `axis` (from 0, or from the end: -1 is the last).
Shape without_axis(const Shape& shape, int axis);

// What elementwise_op is made of.
namespace custom_op_detail {

/// The record of an elementwise op of `operands` operands but for its functions: f32 or f64, all of
/// one dtype, broadcast; samples between -2 and 2.
OpRecord elementwise_record(std::string name, std::size_t operands,
                            std::vector<AttributeSpec> attributes);
/// Gives the record its row kernel, and the kernel that runs it.
void set_row(OpRecord& record, RowRule row);

template <class Formula>
constexpr std::size_t operands_of() {
  if constexpr (std::is_invocable_v<const Formula&, float>) {
    return 1;
  } else if constexpr (std::is_invocable_v<const Formula&, float, float>) {
    return 2;
  } else {
    static_assert(std::is_invocable_v<const Formula&, float, float, float>,
                  "a formula takes one to three numbers of a floating type");
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

/// The record of an elementwise op of one to three operands (f32 or f64, all of one dtype, with
/// NumPy broadcasting): make(attributes) gives its formula, a function of one number per operand,
/// which is called with floats and with doubles:
///   elementwise_op("swish", {{"beta", 1.0}}, [](const Attributes& a) {
///     return [beta = a.real("beta")](auto x) { return x / (1 + std::exp(-beta * x)); };
///   })
/// Operands are called x, or a, b and c. The formula is compiled with the caller's options; it must
/// give the same bits for the same numbers and change nothing. Such an op runs in parallel, over
/// its operands' memory where nobody reads them any more, inside fused chains and behind matrix
/// products. It has no gradient until it has a `rule` or `definition` (or says Gradient::none), and
/// samples between -2 and 2 until it has others.
template <class Make>
OpRecord elementwise_op(std::string name, std::vector<AttributeSpec> attributes, Make make) {
  using Formula = decltype(make(std::declval<const Attributes&>()));
  OpRecord record = custom_op_detail::elementwise_record(
      std::move(name), custom_op_detail::operands_of<Formula>(), std::move(attributes));
  custom_op_detail::set_row(record, [make](const RowRequest& request) {
    for (const DType dtype : request.inputs) {
      if (dtype != request.output) return RowKernel{};
    }
    if (request.output == DType::f64) {
      return custom_op_detail::row_of<double>(request, make(request.attributes));
    }
    if (request.output != DType::f32) return RowKernel{};
    return custom_op_detail::row_of<float>(request, make(request.attributes));
  });
  return record;
}

/// The same without attributes: elementwise_op("softsign", [](auto x) { return x / (1 + abs(x));
/// }).
template <class Formula>
OpRecord elementwise_op(std::string name, Formula formula) {
  return elementwise_op(std::move(name), {}, [formula](const Attributes&) { return formula; });
}

}  // namespace weft
