// Samples of the operations in ops/reductions/softmax.cc.
#include "weft/tests/samples/op_samples.h"
#include "weft/tests/samples/sample_data.h"

namespace weft {
namespace {

std::vector<OpSample> softmax_samples() {
  const auto sample = [](Sizes sizes, std::int64_t axis) {
    const auto seed = static_cast<std::uint64_t>(axis + 1);
    return OpSample{{sample_uniform(std::move(sizes), seed)}, {{"axis", axis}}};
  };
  return {sample({2, 5, 9}, 2), sample({2, 5, 9}, 1), sample({3, 6}, 0), sample({37}, 0),
          sample({4, 1}, 1),    sample({0, 4}, 1),    sample({3, 0}, 1), sample({2, 0, 3}, 0)};
}

std::vector<OpErrorSample> softmax_errors() {
  return {{{{DType::f32, {2, 3}}},
           {{"axis", std::int64_t{2}}},
           "axis 2 is not an axis of x, f32[2, 3]"},
          {{{DType::i64, {2, 3}}}, {{"axis", std::int64_t{1}}}, "x must be f32 or f64, but is i64"},
          {{{DType::f32, {}}}, {{"axis", std::int64_t{0}}}, "x must have at least 1 axes"}};
}

}  // namespace

void add_samples(SoftmaxOps, OpSamples& all) {
  all.add("softmax", softmax_samples, softmax_errors);
  all.add("log_softmax", softmax_samples, softmax_errors);
}

}  // namespace weft
