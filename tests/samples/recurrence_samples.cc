// Samples of the operations in ops/sequence/recurrence.cc.
#include "weft/tests/samples/op_samples.h"
#include "weft/tests/samples/sample_data.h"

namespace weft {
namespace {

Attributes recurrence_along(std::int64_t axis, bool reverse) {
  return {{"axis", axis}, {"reverse", reverse}};
}

std::vector<OpSample> recurrence_samples() {
  const auto both = [](const Sizes& sizes, std::uint64_t seed) {
    return std::vector<Tensor>{sample_uniform(sizes, seed), sample_uniform(sizes, seed + 1)};
  };
  return {
      {both({7}, 1), recurrence_along(0, false)},
      {both({3, 5}, 3), recurrence_along(1, true)},
      {both({5, 3}, 5), recurrence_along(0, true)},
      {both({2, 4, 300}, 7), recurrence_along(1, false)},
      {both({1, 3}, 9), recurrence_along(0, false)},
      {both({0, 3}, 11), recurrence_along(0, false)},
      {both({3, 0}, 13), recurrence_along(0, true)},
  };
}

std::vector<OpErrorSample> recurrence_errors() {
  const ValueType x{DType::f32, {2, 3}};
  return {
      {{x, x}, recurrence_along(2, false), "axis 2 is out of range for f32[2, 3]"},
      {{x, {DType::f32, {3}}}, recurrence_along(0, false), "b must have shape [2, 3], but has [3]"},
      {{{DType::i32, {2}}, {DType::i32, {2}}},
       recurrence_along(0, false),
       "a must be f32 or f64, but is i32"}};
}

}  // namespace

void add_samples(RecurrenceOps, OpSamples& all) {
  all.add("linear_recurrence", recurrence_samples, recurrence_errors);
}

}  // namespace weft
