// The record of cast.
#include "weft/ops/kernels/elementwise/cast.h"

#include "weft/ops/builtin.h"
#include "weft/ops/elementwise.h"
#include "weft/ops/samples.h"

namespace weft {
namespace {

using elementwise::sample_values;

constexpr double kNsPerElement = 0.4;

std::vector<ValueType> infer_cast(const InferContext& context) {
  return {{context.attributes().dtype("dtype"), context.shape(0)}};
}

RowKernel cast_row(const RowRequest& request) {
  RowKernel row;
  row.function = kernels::cast_row(request.inputs[0], request.output);
  row.ns_per_element = kNsPerElement;
  return row;
}

std::vector<OpSample> cast_samples() {
  // Only casts to f64 are sampled, because rounding to a narrower dtype would make finite
  // differences useless.
  return {{{sample_values({2, 3}, -2, 2, 1)}, {{"dtype", DType::f64}}},
          {{sample_values({}, -2, 2, 2)}, {{"dtype", DType::f64}}},
          {{sample_values({0, 3}, -2, 2, 3)}, {{"dtype", DType::f64}}}};
}

std::vector<OpErrorSample> error_samples() {
  return {{{{DType::f32, {2}}}, {}, "dtype"},
          {{{DType::f32, {2}}}, {{"dtype", std::int64_t{1}}}, "dtype"}};
}

}  // namespace

void add_cast_ops(OpSet& ops) {
  OpRecord r;
  r.name = "cast";
  r.doc =
      "Converts x to dtype. Conversions from float to integer truncate and saturate (NaN becomes "
      "0), conversions to narrower integers wrap around, conversions to bool yield x != 0, and "
      "conversions to float round to nearest, ties to even.";
  r.inputs = {{"x"}};
  r.attributes = {{"dtype", DType::f32, /*required=*/true}};
  r.traits = Trait::elementwise;
  r.infer = infer_cast;
  r.kernel = elementwise::kernel<cast_row>;
  r.row = cast_row;
  ops.add(std::move(r));
}

void add_cast_samples(OpSamples& all) { all.add("cast", cast_samples, error_samples); }

}  // namespace weft
