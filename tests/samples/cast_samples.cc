// Samples of the operations in ops/elementwise/cast.cc.
#include "weft/ops/elementwise.h"
#include "weft/tests/samples/op_samples.h"
#include "weft/tests/samples/sample_data.h"

namespace weft {
namespace {

using elementwise::sample_values;

std::vector<OpSample> cast_samples() {
  // Only casts to f64 are sampled, because rounding to a narrower dtype would make finite
  // differences useless.
  return {{{sample_values({2, 3}, -2, 2, 1)}, {{"dtype", DType::f64}}},
          {{sample_values({}, -2, 2, 2)}, {{"dtype", DType::f64}}},
          {{sample_values({0, 3}, -2, 2, 3)}, {{"dtype", DType::f64}}}};
}

std::vector<OpErrorSample> cast_errors() {
  return {{{{DType::f32, {2}}}, {}, "dtype"},
          {{{DType::f32, {2}}}, {{"dtype", std::int64_t{1}}}, "dtype"}};
}

}  // namespace

void add_samples(CastOps, OpSamples& all) { all.add("cast", cast_samples, cast_errors); }

}  // namespace weft
