#include "weft/tests/reference/scalar_ops.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "weft/core/error.h"
#include "weft/ops/make_kernel.h"
#include "weft/ops/operands.h"

namespace weft::testing {
namespace {

bool is_float(DType dtype) { return is_floating(dtype); }

/// Return the largest finite number and the smallest normal number.
Real largest(DType dtype) {
  switch (dtype) {
    case DType::f32: return std::numeric_limits<float>::max();
    case DType::f64: return std::numeric_limits<double>::max();
    case DType::bf16: return to_float(BFloat16{0x7f7f});
    default: return to_float(Float16{0x7bff});
  }
}
Real smallest(DType dtype) {
  switch (dtype) {
    case DType::f64: return std::numeric_limits<double>::min();
    case DType::f16: return 0x1p-14L;
    default: return std::numeric_limits<float>::min();
  }
}

void set_element(Tensor& tensor, std::int64_t i, const Number& n) {
  const double value = static_cast<double>(n.value);
  switch (tensor.dtype()) {
    case DType::f32: tensor.mutable_data<float>()[i] = static_cast<float>(n.value); return;
    case DType::f64: tensor.mutable_data<double>()[i] = value; return;
    case DType::bf16: tensor.mutable_data<BFloat16>()[i] = to_bfloat16(value); return;
    case DType::f16: tensor.mutable_data<Float16>()[i] = to_float16(value); return;
    case DType::i64: tensor.mutable_data<std::int64_t>()[i] = n.integer; return;
    case DType::i32:
      tensor.mutable_data<std::int32_t>()[i] = static_cast<std::int32_t>(n.integer);
      return;
    case DType::i8:
      tensor.mutable_data<std::int8_t>()[i] = static_cast<std::int8_t>(n.integer);
      return;
    case DType::u8:
      tensor.mutable_data<std::uint8_t>()[i] = static_cast<std::uint8_t>(n.integer);
      return;
    case DType::boolean: tensor.mutable_data<bool>()[i] = n.integer != 0; return;
  }
}

bool allowed(const Number& got, const Number& want, DType dtype) {
  if (want.error == kAnyValue || std::isnan(want.error)) return true;
  if (!is_float(dtype)) return got.integer == want.integer;
  if (std::isnan(want.value)) return std::isnan(got.value);
  const Real nearest = rounded(want, dtype).value;
  if (got.value == nearest) return true;
  if (want.error == 0 || std::isnan(got.value)) return false;
  const Real room = want.error + epsilon(dtype) * std::fabs(want.value) + smallest(dtype);
  // Either number may overflow if the other is close to the limit.
  if (std::isinf(got.value) || std::isinf(nearest)) {
    const bool same_sign = std::signbit(got.value) == std::signbit(nearest);
    const Real finite = std::isinf(nearest) ? got.value : nearest;
    const Real wide = room + epsilon(dtype) * largest(dtype);
    return !std::isinf(want.value) && same_sign && std::fabs(finite) + wide >= largest(dtype);
  }
  return std::fabs(got.value - want.value) <= room;
}

}  // namespace

Number number_of(Real value) { return {.value = value}; }
Number number_of_integer(std::int64_t value) {
  return {.value = static_cast<Real>(value), .integer = value};
}

Number element(const Tensor& tensor, std::int64_t index) {
  switch (tensor.dtype()) {
    case DType::i64: return number_of_integer(tensor.data<std::int64_t>()[index]);
    case DType::i32: return number_of_integer(tensor.data<std::int32_t>()[index]);
    case DType::i8: return number_of_integer(tensor.data<std::int8_t>()[index]);
    case DType::u8: return number_of_integer(tensor.data<std::uint8_t>()[index]);
    case DType::boolean: return number_of_integer(tensor.data<bool>()[index] ? 1 : 0);
    default: return number_of(tensor.at(index));
  }
}

std::int64_t wrapped(std::int64_t value, DType dtype) {
  switch (dtype) {
    case DType::i32: return static_cast<std::int32_t>(value);
    case DType::i8: return static_cast<std::int8_t>(value);
    case DType::u8: return static_cast<std::uint8_t>(value);
    case DType::boolean: return value != 0;
    default: return value;
  }
}

Number rounded(const Number& number, DType dtype) {
  Number r = number;
  if (!is_float(dtype)) {
    r.integer = wrapped(number.integer, dtype);
    r.value = static_cast<Real>(r.integer);
    return r;
  }
  switch (dtype) {
    case DType::f32: r.value = static_cast<float>(number.value); break;
    case DType::f64: r.value = static_cast<double>(number.value); break;
    case DType::bf16: r.value = to_float(to_bfloat16(static_cast<double>(number.value))); break;
    default: r.value = to_float(to_float16(static_cast<double>(number.value))); break;
  }
  return r;
}

Real epsilon(DType dtype) {
  switch (dtype) {
    case DType::f32: return 0x1p-23L;
    case DType::f64: return 0x1p-52L;
    case DType::bf16: return 0x1p-7L;
    case DType::f16: return 0x1p-10L;
    default: return 0;
  }
}

Number with_rounding(Number n, DType dtype) {
  if (std::isfinite(n.value)) n.error += epsilon(dtype) * std::fabs(n.value);
  return n;
}

Number approximate(Real value, Real units, Real magnitude, DType dtype) {
  Number n = number_of(value);
  n.error =
      units * epsilon(dtype) * std::fabs(magnitude) + std::numeric_limits<float>::denorm_min();
  // For infinite values, the result of a chain of functions depends on how it is computed.
  if (!std::isfinite(value) || std::isnan(n.error)) n.error = kAnyValue;
  return n;
}

Real precision_error(Precision precision, DType dtype) {
  if (dtype == DType::f64 || precision == Precision::highest) return 0;
  return precision == Precision::high ? 3 * 0x1p-16L : 0x1p-7L;
}

NumberTensor numbers_of(const Tensor& t) {
  NumberTensor n{t.dtype(), t.sizes(), {}};
  for (std::int64_t i = 0; i < t.numel(); ++i) n.elements.push_back(element(t, i));
  return n;
}

Tensor to_tensor(const NumberTensor& numbers) {
  Tensor t = Tensor::empty(numbers.dtype, numbers.sizes);
  for (std::int64_t i = 0; i < numbers.numel(); ++i) {
    set_element(t, i, numbers.elements[static_cast<std::size_t>(i)]);
  }
  return t;
}

std::optional<std::string> difference(const Tensor& got, const NumberTensor& want) {
  if (got.dtype() != want.dtype || got.sizes() != want.sizes) {
    return fmt::format("the result is {} instead of {}{}", got.type_str(), dtype_name(want.dtype),
                       to_string(want.sizes));
  }
  for (std::int64_t i = 0; i < want.numel(); ++i) {
    const Number w = want.elements[static_cast<std::size_t>(i)], g = element(got, i);
    if (allowed(g, w, want.dtype)) continue;
    if (!is_float(want.dtype)) {
      return fmt::format("element {} of {} is {} instead of {}", i, want.numel(), g.integer,
                         w.integer);
    }
    return fmt::format("element {} of {} is {} instead of {} (+- {:.2g})", i, want.numel(),
                       static_cast<double>(g.value), static_cast<double>(w.value),
                       static_cast<double>(w.error));
  }
  return std::nullopt;
}

Lines::Lines(const Sizes& sizes, std::int64_t axis) {
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i);
    (at < axis ? outer : at == axis ? length : inner) *= sizes[i];
  }
}

ScalarModel within_reach(ScalarModel model) {
  return [model = std::move(model)](const ScalarCall& call, std::vector<NumberTensor>& out) {
    model(call, out);
    bool far = false;
    for (const Tensor& t : call.in) {
      for (std::int64_t i = 0; t.defined() && is_float(t.dtype()) && i < t.numel(); ++i)
        far = far || !(std::fabs(t.at(i)) < 1e15);
    }
    for (NumberTensor& o : out) {
      for (Number& n : o.elements) {
        if (far) n.error = kAnyValue;
      }
    }
  };
}

const ScalarModels& scalar_models() {
  static const ScalarModels models = [] {
    ScalarModels m;
    add_elementwise_models(m);
    add_fused_models(m);
    add_reduction_models(m);
    add_movement_models(m);
    add_index_models(m);
    add_product_models(m);
    add_window_models(m);
    add_random_models(m);
    add_network_models(m);
    add_soft_loss_models(m);
    add_attention_models(m);
    add_factorisation_models(m);
    return m;
  }();
  return models;
}

bool has_scalar_model(const OpRecord& op) {
  return builtin_ops()->find(op.name, op.version) == &op && scalar_models().contains(op.name);
}

std::vector<NumberTensor> scalar_outputs(const OpRecord& op, const std::vector<Tensor>& inputs,
                                         const Attributes& attributes, Precision precision) {
  std::vector<bool> given;
  for (const Tensor& t : inputs) given.push_back(t.defined());
  check_operands(op, given);
  const auto model = scalar_models().find(op.name);
  if (model == scalar_models().end()) {
    throw GraphError(fmt::format("op {} has no scalar model in tests/reference", op.name));
  }
  ScalarCall call{op, inputs, op.complete(attributes).evaluate(Bindings{}), precision};
  call.precision = precision_for(call.attributes, precision);
  std::vector<ValueType> types(inputs.size());
  std::vector<const ValueType*> pointers(inputs.size(), nullptr);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].defined()) continue;
    types[i] = {inputs[i].dtype(), Shape(inputs[i].sizes())};
    pointers[i] = &types[i];
  }
  const DimFacts facts;
  std::vector<NumberTensor> out;
  for (const ValueType& t : op.infer(InferContext(op.name, pointers, call.attributes, facts))) {
    NumberTensor o{t.dtype, t.shape.constant(), {}};
    o.elements.resize(static_cast<std::size_t>(num_elements(o.sizes)));
    out.push_back(std::move(o));
  }
  model->second(call, out);
  return out;
}

}  // namespace weft::testing
