// Models of one node, for tests of operators.
#pragma once

#include <limits>

#include "weft/tests/onnx/onnx_model.h"

namespace weft::testing {

using Numbers = std::vector<double>;
inline constexpr double kInf = std::numeric_limits<double>::infinity();
inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// Returns a tensor with these elements, converted to its dtype.
Tensor tensor_of(DType dtype, const Sizes& sizes, const Numbers& values);
inline Tensor f32(const Sizes& sizes, const Numbers& v) { return tensor_of(DType::f32, sizes, v); }
inline Tensor f64(const Sizes& sizes, const Numbers& v) { return tensor_of(DType::f64, sizes, v); }
inline Tensor f16(const Sizes& sizes, const Numbers& v) { return tensor_of(DType::f16, sizes, v); }
inline Tensor bf16(const Sizes& sizes, const Numbers& v) {
  return tensor_of(DType::bf16, sizes, v);
}
inline Tensor i64(const Sizes& sizes, const Numbers& v) { return tensor_of(DType::i64, sizes, v); }
inline Tensor i32(const Sizes& sizes, const Numbers& v) { return tensor_of(DType::i32, sizes, v); }
inline Tensor i8(const Sizes& sizes, const Numbers& v) { return tensor_of(DType::i8, sizes, v); }
inline Tensor u8(const Sizes& sizes, const Numbers& v) { return tensor_of(DType::u8, sizes, v); }
inline Tensor booleans(const Sizes& sizes, const Numbers& v) {
  return tensor_of(DType::boolean, sizes, v);
}

/// A model of one node with inputs x0, x1, ... and outputs y0, y1, ...
struct OneNode {
  const char* op;
  std::int64_t opset;
  std::vector<Tensor> inputs;  // an undefined tensor is an absent operand
  std::vector<onnx_proto::Attribute> attributes = {};
  std::size_t outputs = 1;
  std::vector<std::size_t> known = {};  // further inputs with known values
  bool symbolic = false;                // the sizes of input 0 are symbols
  bool constants = false;               // inputs other than 0 are initialisers
};

/// Reads the model. Integers and scalars become constants if they determine shapes.
OnnxModel read_node(const OneNode& node);
/// Returns the inputs of the node that are inputs of the model.
NamedTensors feeds_of(const OnnxModel& model, const OneNode& node);
Results run_node(const OneNode& node);

struct Example {
  OneNode node;
  std::vector<Tensor> expected;  // its outputs
};
/// Checks dtypes, sizes and elements. Elements of f32 and f64 may be wrong by a few ULP, those of
/// f16 and bf16 by one, and integers must be equal.
void check_example(Example example);

}  // namespace weft::testing
