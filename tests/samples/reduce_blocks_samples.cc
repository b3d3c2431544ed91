// Samples of the operations in ops/reductions/reduce_blocks.cc.
#include "weft/ops/reductions/reduce_blocks.h"
#include "weft/tests/samples/op_samples.h"
#include "weft/tests/samples/sample_data.h"

namespace weft {
namespace {

std::vector<OpSample> block_sums_samples() {
  const auto sample = [](Sizes sizes, std::uint64_t seed, bool squares) {
    return OpSample{{sample_uniform(std::move(sizes), seed)}, {{"squares", squares}}};
  };
  const auto scaled = [&](Sizes sizes, std::uint64_t seed, bool squares) {
    OpSample with_factor = sample(std::move(sizes), seed, squares);
    with_factor.inputs.push_back(sample_uniform({}, seed + 100));
    return with_factor;
  };
  return {sample({3, 5}, 1, false),  sample({2, 1100}, 2, true),
          sample({}, 3, true),       sample({0, 4}, 4, false),
          scaled({3, 700}, 6, true), scaled({kSumBlock + 3}, 7, false),
          scaled({0}, 8, true),      sample({kSumBlock + 3}, 5, true)};
}

std::vector<OpErrorSample> block_sums_errors() {
  return {{{{DType::i32, {4}}}, {}, "x must be f32 or f64, but is i32"},
          {{{DType::f32, {4}}, {DType::f32, {1}}}, {}, "factor must have shape [], but has [1]"},
          {{{DType::f32, {4}}, {DType::f64, {}}}, {}, "factor must be f32, but is f64"}};
}

}  // namespace

void add_block_sums_samples(OpSamples& all) {
  all.add("block_sums", block_sums_samples, block_sums_errors);
}

}  // namespace weft
