// Converts the operands and attributes of an op to double precision.
#pragma once

#include <variant>
#include <vector>

#include "weft/core/tensor.h"
#include "weft/ops/attribute.h"

namespace weft::testing {

inline Tensor in_double(const Tensor& t) {
  return t.defined() && t.dtype() == DType::f32 ? t.to(DType::f64) : t;
}

inline std::vector<Tensor> in_double(const std::vector<Tensor>& inputs) {
  std::vector<Tensor> result;
  for (const Tensor& t : inputs) result.push_back(in_double(t));
  return result;
}

inline Attributes in_double(const Attributes& attributes) {
  Attributes result = attributes;
  for (const auto& [name, value] : attributes) {
    const DType* dtype = std::get_if<DType>(&value);
    if (dtype != nullptr && *dtype == DType::f32) result.set(name, DType::f64);
  }
  return result;
}

}  // namespace weft::testing
