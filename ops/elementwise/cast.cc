// The record of cast.
#include "weft/ops/kernels/elementwise/cast.h"

#include "weft/ops/builtin.h"
#include "weft/ops/elementwise.h"

namespace weft {
namespace {

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

}  // namespace

void CastOps::add(OpSet& ops) {
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
  elementwise::set_row(r, cast_row);
  ops.add(std::move(r));
}

}  // namespace weft
