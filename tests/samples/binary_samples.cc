// Samples of the operations in ops/elementwise/binary.cc.
#include <utility>

#include "weft/ops/elementwise.h"
#include "weft/ops/kernels/elementwise/binary.h"
#include "weft/tests/samples/op_samples.h"

namespace weft {
namespace {

using elementwise::sample_values;

const std::vector<std::pair<Sizes, Sizes>>& sample_sizes() {
  static const std::vector<std::pair<Sizes, Sizes>> sizes = {
      {{2, 3}, {2, 3}}, {{}, {3}}, {{2, 1, 3}, {4, 1}}, {{0, 3}, {3}}, {{17}, {17}}, {{5}, {1}}};
  return sizes;
}

/// Returns samples with values of a in [low_a, 2] and values of b in [low_b, 2.5].
std::vector<OpSample> binary_samples(double low_a, double low_b) {
  std::vector<OpSample> result;
  std::uint32_t seed = 1;
  for (const auto& [a, b] : sample_sizes()) {
    result.push_back(
        {{sample_values(a, low_a, 2.0, seed, -1), sample_values(b, low_b, 2.5, seed + 1, 1)}, {}});
    seed += 2;
  }
  return result;
}

Tensor sample_bools(const Sizes& sizes, std::uint32_t seed) {
  const Tensor values = sample_values(sizes, -1, 1, seed);
  Tensor bools = Tensor::empty(DType::boolean, sizes);
  for (std::int64_t i = 0; i < values.numel(); ++i)
    bools.mutable_data<bool>()[i] = values.at(i) > 0;
  return bools;
}

std::vector<OpSample> logical_samples() {
  std::vector<OpSample> result;
  std::uint32_t seed = 1;
  for (const auto& [a, b] : sample_sizes()) {
    result.push_back({{sample_bools(a, seed), sample_bools(b, seed + 1)}, {}});
    seed += 2;
  }
  return result;
}

std::vector<OpSample> compare_samples() {
  std::vector<OpSample> result = binary_samples(-2, -2);
  result.push_back(
      {{Tensor::of<std::int32_t>({4}, {1, 2, 3, 4}), Tensor::scalar(DType::i32, 3)}, {}});
  result.push_back({logical_samples()[0].inputs, {}});
  return result;
}

std::vector<OpSample> where_samples() {
  const auto sample = [](Sizes c, Sizes a, Sizes b, std::uint32_t seed) -> OpSample {
    return {{sample_bools(c, seed), sample_values(a, -2, 2, seed + 1),
             sample_values(b, -2, 2, seed + 2)},
            {}};
  };
  return {sample({2, 3}, {2, 3}, {2, 3}, 1), sample({3}, {2, 1}, {}, 4),
          sample({4, 1}, {3}, {4, 3}, 7), sample({0}, {}, {}, 10), sample({}, {5}, {5}, 13)};
}

std::vector<OpErrorSample> shape_errors(DType dtype) {
  return {{{{dtype, {2, 3}}, {dtype, {4}}}, {}, "do not broadcast: axis -1 has sizes 3 and 4"},
          {{{DType::i64, {2}}, {DType::i32, {2}}}, {}, "i32"}};
}

std::vector<OpErrorSample> binary_errors() {
  std::vector<OpErrorSample> errors = shape_errors(DType::f32);
  errors.push_back({{{DType::boolean, {2}}, {DType::boolean, {2}}},
                    {},
                    "a must be f32, f64 or an integer, but is bool"});
  return errors;
}

std::vector<OpErrorSample> compare_errors() { return shape_errors(DType::u8); }

std::vector<OpErrorSample> binary_logical_errors() {
  return {{{{DType::f32, {2}}, {DType::boolean, {2}}}, {}, "a must be bool, but is f32"},
          {{{DType::boolean, {2}}, {DType::i32, {2}}}, {}, "b must be bool, but is i32"},
          {{{DType::boolean, {2}}, {DType::boolean, {3}}}, {}, "do not broadcast"}};
}

std::vector<OpErrorSample> where_errors() {
  return {
      {{{DType::f32, {2}}, {DType::f32, {2}}, {DType::f32, {2}}}, {}, "c must be bool, but is f32"},
      {{{DType::boolean, {2}}, {DType::f32, {2}}, {DType::f64, {2}}},
       {},
       "operands have different dtypes, f32 and f64"},
      {{{DType::boolean, {3}}, {DType::f32, {2}}, {DType::f32, {2}}}, {}, "do not broadcast"}};
}

}  // namespace

void add_samples(BinaryOps, OpSamples& all) {
  for (const kernels::BinaryOp& op : kernels::arithmetic_ops()) {
    const auto own = [a = op.low_a, b = op.low_b] { return binary_samples(a, b); };
    all.add(op.name, own, binary_errors);
  }
  for (const kernels::BinaryOp& op : kernels::comparison_ops()) {
    all.add(op.name, compare_samples, compare_errors);
  }
  for (const kernels::BinaryOp& op : kernels::logical_ops()) {
    all.add(op.name, logical_samples, binary_logical_errors);
  }
  all.add("where", where_samples, where_errors);
}

}  // namespace weft
