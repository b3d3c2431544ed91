// Samples of the operation in ops/indexing/tensor_scatter.cc.
#include "weft/tests/samples/op_samples.h"
#include "weft/tests/samples/sample_data.h"

namespace weft {
namespace {

Tensor integers(std::initializer_list<std::int64_t> values) {
  return Tensor::of<std::int64_t>({static_cast<std::int64_t>(values.size())}, values);
}
Attributes at_axis(std::int64_t axis) { return {{"axis", axis}}; }

std::vector<OpSample> tensor_scatter_samples() {
  return {
      // A cache [rows, heads, capacity, features]: each row has its own length.
      {{sample_uniform({3, 2, 6, 3}, 1), sample_uniform({3, 2, 2, 3}, 2), integers({0, 4, 3})},
       at_axis(2)},
      // Only some rows of the cache, in another order.
      {{sample_uniform({5, 2, 4, 3}, 3), sample_uniform({2, 2, 1, 3}, 4), integers({3, 0}),
        integers({4, 1})},
       at_axis(2)},
      // Two blocks in one row, along the last axis.
      {{sample_uniform({3, 7}, 5), sample_uniform({3, 3}, 6), integers({4, 0, 1}).to(DType::i32),
        integers({2, 2, 0}).to(DType::i32)},
       at_axis(1)},
      {{sample_uniform({2, 3, 4}, 7), sample_uniform({2, 3, 4}, 8), integers({0, 0})}, at_axis(1)},
      {{sample_uniform({2, 3}, 9), sample_uniform({2, 0}, 10), integers({3, 1})}, at_axis(1)},
      // Ring buffers: blocks continue at the beginning of the axis.
      {{sample_uniform({3, 2, 4, 3}, 13), sample_uniform({2, 2, 3, 3}, 14), integers({2, 9}),
        integers({2, 0})},
       {{"axis", std::int64_t{2}}, {"circular", true}}},
      {{sample_uniform({2, 3}, 11), sample_uniform({0, 1}, 12), integers({}), integers({})},
       at_axis(1)},
      // Blocks of a cache: text 0 continues from row 4 in row 1, and the end of text 1 is padding.
      {{sample_uniform({5, 2, 2, 3}, 15), sample_uniform({2, 2, 3, 3}, 16), integers({1, 0}),
        integers({4, 1, 0, -1}).reshape({2, 2})},
       at_axis(2)},
  };
}

std::vector<OpErrorSample> tensor_scatter_errors() {
  const ValueType x{DType::f32, {3, 2, 6}}, update{DType::f32, {3, 2, 1}}, start{DType::i64, {3}};
  const auto wrong = [&](ValueType a, ValueType b, ValueType c, std::string message) {
    return OpErrorSample{
        {std::move(a), std::move(b), std::move(c)}, at_axis(2), std::move(message)};
  };
  return {
      {{x, update, start}, at_axis(0), "axis must not be 0, the axis of the rows"},
      {{x, update, start}, at_axis(3), "axis"},
      wrong(x, {DType::f64, {3, 2, 1}}, start, "different dtypes, f32 and f64"),
      wrong(x, {DType::f32, {3, 1}}, start, "update must have 3 axes"),
      wrong(x, {DType::f32, {3, 4, 1}}, start, "axis 1 of x and update: 2 and 4 differ"),
      wrong(x, {DType::f32, {2, 2, 1}}, start,
            "rows (axis 0) of x and update without the operand 'rows': 3 and 2 differ"),
      wrong(x, {DType::f32, {3, 2, 7}}, start, "update [3, 2, 7] does not fit into x [3, 2, 6]"),
      wrong(x, update, {DType::f32, {3}}, "start must be i32 or i64, but is f32"),
      wrong(x, update, {DType::i64, {2}}, "start must have shape [3], but has [2]"),
      {{x, update, start, {DType::i64, {2}}}, at_axis(2), "rows must have shape [3], but has [2]"},
      {{x, update, start, {DType::f32, {3}}}, at_axis(2), "rows must be i32 or i64, but is f32"},
      {{x, update, start, {DType::f32, {3, 2}}}, at_axis(2), "rows must be i32 or i64, but is f32"},
      {{x, update, start, {DType::i64, {2, 2}}},
       at_axis(2),
       "axis 0 of rows and update: 2 and 3 differ"},
      {{x, {DType::f32, {3, 2, 13}}, start, {DType::i64, {3, 2}}},
       at_axis(2),
       "update [3, 2, 13] does not fit into x [3, 2, 6]"},
      {{x, update, start, {DType::i64, {3, 2}}},
       {{"axis", std::int64_t{2}}, {"circular", true}},
       "circular cannot be combined with several rows per block of update"},
  };
}

}  // namespace

void add_tensor_scatter_samples(OpSamples& all) {
  all.add("tensor_scatter", tensor_scatter_samples, tensor_scatter_errors);
}

}  // namespace weft
