// Scalar models of all records: what each op says it computes, in plain loops over single elements
// (long double for floats, 64-bit integers that wrap as the dtype does). Written from the records'
// documentation; nothing of ops/kernels is used. A test fails while a record has no model.
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

/// One element: as a number, as an integer (of integer dtypes and bool), and how far from the
/// number a kernel's result may be. No error: the number rounded once to the dtype, every bit.
struct Number {
  Real value = 0;
  std::int64_t integer = 0;
  Real error = 0;
};
/// An error that says that any value will do: what a step makes of an operand that lies on it.
inline constexpr Real kAnyValue = __builtin_inf();

Number number_of(Real value);
Number number_of_integer(std::int64_t value);
/// An element of any tensor.
Number element(const Tensor& tensor, std::int64_t index);
/// `value` in `dtype`: rounded to nearest even, or wrapped around. Keeps the error.
Number rounded(const Number& number, DType dtype);
/// The integer that is left of `value` in an integer dtype.
std::int64_t wrapped(std::int64_t value, DType dtype);
/// Distance from 1 to the next number.
Real epsilon(DType dtype);
/// The same number after one more rounding to a floating dtype.
Number with_rounding(Number n, DType dtype);
/// `value`, computed with `units` roundings of numbers as large as `magnitude`.
Number approximate(Real value, Real units, Real magnitude, DType dtype);

/// What one term of a sum of products may be off because of the precision asked for
/// (docs/precision.md), relative to its magnitude.
Real precision_error(Precision precision, DType dtype);

/// A tensor of Numbers.
struct NumberTensor {
  DType dtype = DType::f32;
  Sizes sizes;
  std::vector<Number> elements;
  std::int64_t numel() const { return static_cast<std::int64_t>(elements.size()); }
};
/// The elements of a tensor.
NumberTensor numbers_of(const Tensor& tensor);
/// Every element rounded to the dtype.
Tensor to_tensor(const NumberTensor& numbers);
/// Where `got` is none of what `want` allows: "element 3 is 1.5 instead of 1.25 (+-1e-07)"; nullopt
/// where it is nowhere. All NaNs are one, and zeros have no sign.
std::optional<std::string> difference(const Tensor& got, const NumberTensor& want);

/// One use of an op, with everything concrete.
struct ScalarCall {
  const OpRecord& op;
  const std::vector<Tensor>& in;  // absent operands are undefined
  Attributes attributes;          // complete, Dims evaluated
  Precision precision = Precision::highest;

  bool has(std::size_t i) const { return i < in.size() && in[i].defined(); }
};
/// Fills the outputs, whose dtypes and sizes are set and whose elements are 0. Throws DataError for
/// data that the record does not allow.
using ScalarModel = std::function<void(const ScalarCall& call, std::vector<NumberTensor>& out)>;
using ScalarModels = std::map<std::string, ScalarModel, std::less<>>;

/// By name of the record.
const ScalarModels& scalar_models();
/// Whether there is one of this very record, and not of another one that has its name.
bool has_scalar_model(const OpRecord& op);

/// The outputs of an op by its scalar model. `attributes` need not be complete; Dims must be
/// numbers. Throws what the record's shape rule throws, DataError for data that it does not allow,
/// GraphError if there is no model.
std::vector<NumberTensor> scalar_outputs(const OpRecord& op, const std::vector<Tensor>& inputs,
                                         const Attributes& attributes,
                                         Precision precision = Precision::highest);

/// One element of an elementwise op. `operands` have `types`; `key` is that of a draw, and
/// `position` where the element is in the result.
Number scalar_elementwise(const OpRecord& op, const Attributes& attributes,
                          const std::vector<Number>& operands, const std::vector<DType>& types,
                          DType result, const Tensor& key, std::int64_t position);

/// Where a tile program begins: operands by position in the result, and which of them are keys.
struct TileOperand {
  NumberTensor numbers;
  Tensor whole;  // a key
};
/// Runs a tile program over a result of `sizes`; one list of elements for each of its results.
/// Errors of the operands and of every step are carried along.
std::vector<std::vector<Number>> scalar_tile_program(const std::string& text,
                                                     const std::vector<TileOperand>& operands,
                                                     const Sizes& sizes);

/// One reduction of a list of elements: sum, mean, max, min, prod, logsumexp, any or all.
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
void add_attention_models(ScalarModels& models);
void add_factorisation_models(ScalarModels& models);

/// A model that says nothing where an operand is infinite, NaN or so large that its square is: what
/// comes of such numbers depends on the order in which they meet.
ScalarModel within_reach(ScalarModel model);

/// Flattened positions in a tensor of `sizes` seen as [outer, length, inner] around an axis.
struct Lines {
  std::int64_t outer = 1, length = 1, inner = 1;
  Lines(const Sizes& sizes, std::int64_t axis);
  std::int64_t at(std::int64_t o, std::int64_t j, std::int64_t i) const {
    return (o * length + j) * inner + i;
  }
};

}  // namespace weft::testing
