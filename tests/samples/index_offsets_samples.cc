// Samples of the operations in ops/indexing/index_offsets.cc.
#include "weft/tests/samples/op_samples.h"
#include "weft/tests/samples/sample_data.h"

namespace weft {
namespace {

Attributes count_attributes(Dim count) { return {{"count", std::move(count)}}; }

std::vector<OpSample> offsets_samples() {
  return {{{Tensor::of<std::int64_t>({4}, {0, 2, 2, 5})}, count_attributes(5)},
          {{Tensor::of<std::int32_t>({2}, {0, 3})}, count_attributes(7)},
          {{Tensor::of<std::int64_t>({2}, {0, 0})}, count_attributes(0)},
          {{Tensor::zeros(DType::i64, {0})}, count_attributes(0)}};
}

std::vector<OpErrorSample> offsets_errors() {
  return {{{{DType::f32, {4}}}, count_attributes(5), "offsets must be i32 or i64, but is f32"},
          {{{DType::i64, {2, 2}}},
           count_attributes(5),
           "offsets must have 1 axes, but i64[2, 2] has 2"}};
}

}  // namespace

void add_offset_samples(OpSamples& all) {
  all.add("require_offsets", offsets_samples, offsets_errors);
}

}  // namespace weft
