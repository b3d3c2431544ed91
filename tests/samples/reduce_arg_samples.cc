// Samples of the operations in ops/indexing/reduce_arg.cc.
#include "weft/tests/samples/op_samples.h"
#include "weft/tests/samples/sample_data.h"

namespace weft {
namespace {

Attributes arg_along(std::int64_t axis, bool keepdims) {
  return {{"axis", axis}, {"keepdims", keepdims}};
}

Attributes running(std::int64_t axis, bool exclusive, bool reverse) {
  return {{"axis", axis}, {"exclusive", exclusive}, {"reverse", reverse}};
}

std::vector<OpSample> arg_samples() {
  return {
      {{sample_distinct({7}, 1)}, arg_along(0, false)},
      {{sample_distinct({3, 5}, 2)}, arg_along(1, true)},
      {{sample_distinct({4, 3, 2}, 3)}, arg_along(0, false)},
      {{sample_distinct({0, 3}, 4)}, arg_along(1, false)},
      {{sample_indices({3, 6}, 5, 3)}, arg_along(1, false)},  // with ties
  };
}

std::vector<OpErrorSample> arg_errors() {
  return {
      {{{DType::f32, {2, 3}}}, arg_along(2, false), "axis 2 is out of range for f32[2, 3]"},
      {{{DType::f32, {2, 0}}}, arg_along(1, false), "axis 1 has size 0: an empty range has no arg"},
      {{{DType::boolean, {2}}},
       arg_along(0, false),
       "x must be f32, f64 or of an integer dtype, but is bool"},
  };
}

std::vector<OpSample> cumsum_samples() {
  return {
      {{sample_uniform({7}, 1)}, running(0, false, false)},
      {{sample_uniform({3, 5}, 2)}, running(1, true, false)},
      {{sample_uniform({3, 5}, 3)}, running(0, false, true)},
      {{sample_uniform({2, 4, 3}, 4)}, running(1, true, true)},
      {{sample_uniform({2, 0}, 5)}, running(1, false, false)},
      {{sample_indices({5}, 6, 9)}, running(0, false, false)},
  };
}

std::vector<OpErrorSample> cumsum_errors() {
  return {
      {{{DType::f32, {2, 3}}}, running(2, false, false), "axis 2 is out of range for f32[2, 3]"},
      {{{DType::f32, {}}},
       running(0, false, false),
       "axis 0 is out of range for f32[] with 0 axes"},
      {{{DType::boolean, {2}}},
       running(0, false, false),
       "x must be f32, f64 or of an integer dtype, but is bool"},
  };
}

}  // namespace

void add_arg_reduce_samples(OpSamples& all) {
  all.add("argmax", arg_samples, arg_errors);
  all.add("argmin", arg_samples, arg_errors);
  all.add("cumsum", cumsum_samples, cumsum_errors);
}

}  // namespace weft
