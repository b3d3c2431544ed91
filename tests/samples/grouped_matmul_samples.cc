// Samples of the operations in ops/products/grouped_matmul.cc.
#include "weft/tests/samples/op_samples.h"
#include "weft/tests/samples/sample_data.h"

namespace weft {
namespace {

Tensor group_sizes(const Ints& sizes, DType dtype = DType::i64) {
  return Tensor::of({static_cast<std::int64_t>(sizes.size())}, sizes).to(dtype);
}

std::vector<OpSample> grouped_matmul_samples() {
  std::vector<OpSample> samples;
  const auto add = [&](std::int64_t n, std::int64_t k, std::int64_t m, const Ints& sizes,
                       bool transposed = false, DType dtype = DType::i64) {
    const auto groups = static_cast<std::int64_t>(sizes.size());
    samples.push_back({{sample_uniform({n, k}, 31),
                        sample_uniform(transposed ? Sizes{groups, m, k} : Sizes{groups, k, m}, 32),
                        group_sizes(sizes, dtype)},
                       {{"transpose_w", transposed}}});
  };
  add(7, 3, 4, {2, 0, 4, 1});
  add(7, 3, 4, {1, 3}, true, DType::i32);  // rows without a group
  add(5, 2, 3, {5});
  add(30, 5, 7, {11, 19});  // the packed kernel
  add(40, 4, 9, {0, 37, 1}, true);
  add(4, 3, 2, {0, 0, 0});
  add(0, 3, 2, {0, 0});
  add(3, 2, 2, {});
  add(3, 0, 2, {1, 2});
  add(3, 2, 0, {1, 2});
  return samples;
}

std::vector<OpErrorSample> grouped_matmul_errors() {
  const Attributes none, transposed{{"transpose_w", true}};
  const ValueType x{DType::f32, {7, 3}}, w{DType::f32, {2, 3, 4}}, sizes{DType::i64, {2}};
  return {
      {{x, {DType::f32, {2, 4, 3}}, sizes},
       none,
       "the summed axes of x (axis 1) and w (axis 1): 3 and 4 differ"},
      {{x, w, sizes}, transposed, "the summed axes of x (axis 1) and w (axis 2): 3 and 4 differ"},
      {{x, w, {DType::i64, {3}}},
       none,
       "the number of groups in w (axis 0) and sizes (axis 0): 2 and 3 differ"},
      {{{DType::f32, {2, 7, 3}}, w, sizes}, none, "x must have 2 axes, but f32[2, 7, 3] has 3"},
      {{x, {DType::f32, {3, 4}}, sizes}, none, "w must have 3 axes, but f32[3, 4] has 2"},
      {{x, w, {DType::i64, {1, 2}}}, none, "sizes must have 1 axes, but i64[1, 2] has 2"},
      {{x, w, {DType::f32, {2}}}, none, "sizes must be i32 or i64, but is f32"},
      {{{DType::i64, {7, 3}}, w, sizes}, none, "x must be f32, f64, bf16 or f16, but is i64"},
      {{x, {DType::f64, {2, 3, 4}}, sizes}, none, "different dtypes, f32 and f64"},
      {{x, w, sizes},
       {{"precision", std::string("low")}},
       "unknown precision 'low'; available: highest, high, medium"},
  };
}

std::vector<OpSample> grouped_outer_samples() {
  std::vector<OpSample> samples;
  const auto add = [&](std::int64_t n, std::int64_t k, std::int64_t m, const Ints& sizes,
                       DType dtype = DType::i64) {
    samples.push_back(
        {{sample_uniform({n, k}, 33), sample_uniform({n, m}, 34), group_sizes(sizes, dtype)}});
  };
  add(7, 3, 4, {2, 0, 4, 1});
  add(7, 3, 4, {1, 3}, DType::i32);
  add(5, 2, 3, {5});
  add(30, 5, 7, {11, 19});
  add(4, 3, 2, {0, 0, 0});
  add(0, 3, 2, {0, 0});
  add(3, 2, 2, {});
  add(3, 0, 2, {1, 2});
  add(3, 2, 0, {1, 2});
  return samples;
}

std::vector<OpErrorSample> grouped_outer_errors() {
  const ValueType a{DType::f32, {7, 3}}, b{DType::f32, {7, 4}}, sizes{DType::i64, {2}};
  return {
      {{a, {DType::f32, {6, 4}}, sizes},
       {},
       "the rows of a (axis 0) and b (axis 0): 7 and 6 differ"},
      {{{DType::f32, {7}}, b, sizes}, {}, "a must have 2 axes, but f32[7] has 1"},
      {{a, {DType::f32, {7}}, sizes}, {}, "b must have 2 axes, but f32[7] has 1"},
      {{a, b, {DType::i64, {}}}, {}, "sizes must have 1 axes, but i64[] has 0"},
      {{a, b, {DType::f64, {2}}}, {}, "sizes must be i32 or i64, but is f64"},
      {{a, {DType::i64, {7, 4}}, sizes}, {}, "b must be f32, f64, bf16 or f16, but is i64"},
      {{a, b, sizes},
       {{"precision", std::string("low")}},
       "unknown precision 'low'; available: highest, high, medium"},
  };
}

}  // namespace

void add_samples(GroupedMatmulOps, OpSamples& all) {
  all.add("grouped_matmul", grouped_matmul_samples, grouped_matmul_errors);
  all.add("grouped_outer", grouped_outer_samples, grouped_outer_errors);
}

}  // namespace weft
