// Samples of the operations in ops/indexing/sort.cc.
#include "weft/tests/samples/op_samples.h"
#include "weft/tests/samples/sample_data.h"

namespace weft {
namespace {

Attributes top(std::int64_t k, std::int64_t axis, bool largest) {
  return {{"k", k}, {"axis", axis}, {"largest", largest}};
}
Attributes sorted_along(std::int64_t axis, bool descending) {
  return {{"axis", axis}, {"descending", descending}};
}

std::vector<OpSample> topk_samples() {
  return {
      {{sample_distinct({3, 9}, 1)}, top(4, 1, true)},
      {{sample_distinct({7, 2}, 2)}, top(3, 0, false)},
      {{sample_distinct({5}, 3)}, top(5, 0, true)},
      {{sample_distinct({5}, 4)}, top(0, 0, true)},
      {{sample_distinct({0, 3}, 5)}, top(2, 1, true)},
      {{sample_indices({2, 8}, 6, 4)}, top(3, 1, true)},  // with ties
  };
}

std::vector<OpErrorSample> topk_errors() {
  const ValueType x{DType::f32, {3, 9}};
  return {
      {{x}, top(10, 1, true), "cannot select the top 10 elements of axis 1, which has size 9"},
      {{x}, top(-1, 1, true), "k must not be negative, but is -1"},
      {{x}, top(1, 2, true), "axis 2 is out of range for f32[3, 9] with 2 axes"},
      {{{DType::boolean, {3}}}, top(1, 0, true), "x must be f32, f64 or of an integer dtype"},
  };
}

std::vector<OpSample> sort_samples() {
  return {
      {{sample_distinct({3, 5}, 1)}, sorted_along(1, false)},
      {{sample_distinct({6, 2}, 2)}, sorted_along(0, true)},
      {{sample_distinct({1}, 3)}, sorted_along(0, false)},
      {{sample_distinct({2, 0}, 4)}, sorted_along(1, false)},
      {{sample_indices({9}, 5, 3)}, sorted_along(0, true)},  // with ties
  };
}

std::vector<OpErrorSample> sort_errors() {
  return {
      {{{DType::f32, {3, 9}}}, sorted_along(-1, false), "axis -1 is out of range for f32[3, 9]"},
      {{{DType::boolean, {3}}},
       sorted_along(0, false),
       "x must be f32, f64 or of an integer dtype"},
  };
}

}  // namespace

void add_samples(SortOps, OpSamples& all) {
  all.add("topk", topk_samples, topk_errors);
  all.add("sort", sort_samples, sort_errors);
}

}  // namespace weft
