// Scalar models of all op records: plain loops over single elements (long double for floats, 64-bit
// integers that wrap around like the dtype). They follow the documentation of the records and use
// no code from ops/kernels. A test fails if a record has no model.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "weft/core/tensor.h"
#include "weft/ops/op.h"
#include "weft/ops/precision.h"

namespace weft::testing {

using Real = long double;

/// One element: its value as a real number, its value as an integer (for integer dtypes and bool),
/// and the error bound for a kernel's result. An error of 0 means that the result must equal the
/// number, rounded once to the dtype, in every bit.
struct Number {
  Real value = 0;
  std::int64_t integer = 0;
  Real error = 0;
};
/// An error bound that accepts any value, for example at the discontinuity of a step function.
inline constexpr Real kAnyValue = __builtin_inf();

Number number_of(Real value);
Number number_of_integer(std::int64_t value);
/// Returns an element of a tensor of any dtype.
Number element(const Tensor& tensor, std::int64_t index);
/// Converts `number` to `dtype`: rounds to nearest even, or wraps around. Keeps the error.
Number rounded(const Number& number, DType dtype);
/// Wraps `value` around to the range of an integer dtype.
std::int64_t wrapped(std::int64_t value, DType dtype);
/// Returns the distance from 1 to the next larger number.
Real epsilon(DType dtype);
/// For floating-point dtypes, adds the error of one more rounding.
Number with_rounding(Number n, DType dtype);
/// Returns `value` with the error of `units` roundings of numbers as large as `magnitude`.
Number approximate(Real value, Real units, Real magnitude, DType dtype);

/// Returns the maximum error of one term in a sum of products at a precision (docs/precision.md),
/// relative to the magnitude of the term.
Real precision_error(Precision precision, DType dtype);

/// A tensor whose elements are Numbers.
struct NumberTensor {
  DType dtype = DType::f32;
  Sizes sizes;
  std::vector<Number> elements;
  std::int64_t numel() const { return static_cast<std::int64_t>(elements.size()); }
};
/// Converts the elements of a tensor to Numbers.
NumberTensor numbers_of(const Tensor& tensor);
/// Rounds every element to the dtype.
Tensor to_tensor(const NumberTensor& numbers);
/// Returns a description of the first element of `got` that `want` does not allow, such as "element
/// 3 is 1.5 instead of 1.25 (+-1e-07)", or nullopt. All NaNs are equal, and zeros of different sign
/// are equal.
std::optional<std::string> difference(const Tensor& got, const NumberTensor& want);

/// One call of an op with concrete operands and attributes.
struct ScalarCall {
  const OpRecord& op;
  const std::vector<Tensor>& in;  // undefined if absent
  Attributes attributes;          // complete, with evaluated Dims
  Precision precision = Precision::highest;

  bool has(std::size_t i) const { return i < in.size() && in[i].defined(); }
};
/// Computes the outputs. Their dtypes and sizes are already set, and their elements are initially
/// 0. Throws DataError for data that the record does not allow.
using ScalarModel = std::function<void(const ScalarCall& call, std::vector<NumberTensor>& out)>;
using ScalarModels = std::map<std::string, ScalarModel, std::less<>>;

/// Returns the models by record name.
const ScalarModels& scalar_models();
/// Returns true if there is a model for this record, not just for another record with the same
/// name.
bool has_scalar_model(const OpRecord& op);

/// Computes the outputs of an op with its scalar model. `attributes` may be incomplete, but Dims
/// must be constants. Propagates the errors of the record's shape rule. Throws DataError for data
/// that the record does not allow, and GraphError if there is no model.
std::vector<NumberTensor> scalar_outputs(const OpRecord& op, const std::vector<Tensor>& inputs,
                                         const Attributes& attributes,
                                         Precision precision = Precision::highest);

/// Computes one element of an elementwise op. `types` contains the dtypes of `operands`, `key` is
/// the key of a random op, and `position` is the position of the element in the result.
Number scalar_elementwise(const OpRecord& op, const Attributes& attributes,
                          const std::vector<Number>& operands, const std::vector<DType>& types,
                          DType result, const Tensor& key, std::int64_t position);

/// An input of a tile program, which is either an operand with one element per position of the
/// result or a random key.
struct TileOperand {
  NumberTensor numbers;
  Tensor whole;  // a key
};
/// Returns the numbers in rows of int8 with one scale per row (ops/kernels/quantized/int8_rows.h).
NumberTensor unpacked_int8_rows(const Tensor& packed);

/// Runs a tile program on a result of the given sizes and returns the elements of each of its
/// results. The errors of the operands and of every step are propagated.
std::vector<std::vector<Number>> scalar_tile_program(const std::string& text,
                                                     const std::vector<TileOperand>& operands,
                                                     const Sizes& sizes);

/// Runs the attribute `program` of a product with fused steps on out[0], the product, and on the
/// inputs starting with `first`, and sets the other outputs.
void scalar_epilogue(const ScalarCall& call, std::size_t first, std::vector<NumberTensor>& out);

/// Reduces a list of elements with `op`: sum, mean, max, min, prod, logsumexp, any or all.
Number scalar_reduction(std::string_view op, const std::vector<Number>& list, DType dtype);

void add_elementwise_models(ScalarModels& models);
void add_fused_models(ScalarModels& models);
void add_reduction_models(ScalarModels& models);
void add_movement_models(ScalarModels& models);
void add_index_models(ScalarModels& models);
void add_product_models(ScalarModels& models);
void add_window_models(ScalarModels& models);
void add_random_models(ScalarModels& models);
void add_network_models(ScalarModels& models);
void add_soft_loss_models(ScalarModels& models);
void add_attention_models(ScalarModels& models);
void add_factorisation_models(ScalarModels& models);

/// Returns a model that accepts any result if an operand is infinite, NaN or so large that its
/// square overflows, because the results for such numbers depend on the order of evaluation.
ScalarModel within_reach(ScalarModel model);

/// Positions in a flattened tensor with the given sizes that is viewed as [outer, length, inner]
/// around an axis.
struct Lines {
  std::int64_t outer = 1, length = 1, inner = 1;
  Lines(const Sizes& sizes, std::int64_t axis);
  std::int64_t at(std::int64_t o, std::int64_t j, std::int64_t i) const {
    return (o * length + j) * inner + i;
  }
};

}  // namespace weft::testing
