// Samples of the operations in ops/losses/linear_cross_entropy.cc.
#include "weft/tests/samples/op_samples.h"
#include "weft/tests/samples/sample_data.h"

namespace weft {
namespace {

struct LinearLossShape {
  Sizes rows;
  std::int64_t depth, classes;
  bool transposed, bias;
  std::int64_t ignore, chunk_bytes;
  double smoothing;
};

const std::vector<LinearLossShape>& linear_loss_shapes() {
  static const std::vector<LinearLossShape> shapes = {
      {{5}, 3, 7, true, false, -100, 0, 0},  {{2, 3}, 4, 6, false, true, 2, 0, 0.2},
      {{40}, 5, 9, true, true, 3, 600, 0.1}, {{3, 13}, 6, 17, false, false, -1, 1200, 0},
      {{0}, 3, 5, true, true, -1, 0, 0},     {{}, 3, 5, true, false, -1, 0, 1},
      {{19}, 2, 1, true, true, -100, 64, 0},
  };
  return shapes;
}

// `g` and `lse`: whether the op has these operands.
template <bool g, bool lse>
std::vector<OpSample> linear_loss_samples() {
  std::vector<OpSample> samples;
  for (const LinearLossShape& s : linear_loss_shapes()) {
    Sizes x = s.rows;
    x.push_back(s.depth);
    const Sizes weight = s.transposed ? Sizes{s.classes, s.depth} : Sizes{s.depth, s.classes};
    OpSample sample;
    sample.attributes = {{"transpose_weight", s.transposed},
                         {"ignore_index", s.ignore},
                         {"label_smoothing", s.smoothing},
                         {"chunk_bytes", s.chunk_bytes}};
    if (g) sample.inputs.push_back(sample_uniform(s.rows, 5));
    sample.inputs.push_back(sample_uniform(x, 1));
    sample.inputs.push_back(sample_uniform(weight, 2));
    sample.inputs.push_back(s.bias ? sample_uniform({s.classes}, 3) : Tensor());
    sample.inputs.push_back(sample_indices(s.rows, 4, s.classes));
    if (lse) sample.inputs.push_back(sample_uniform(s.rows, 6, 2, 3));
    samples.push_back(std::move(sample));
  }
  return samples;
}

template <bool g, bool lse>
std::vector<OpErrorSample> linear_loss_errors() {
  const auto with = [](std::vector<ValueType> own, Attributes attributes, std::string message) {
    const ValueType rows{DType::f32, {6}};
    if (g) own.insert(own.begin(), rows);
    if (lse) own.push_back(rows);
    return OpErrorSample{std::move(own), std::move(attributes), std::move(message)};
  };
  const ValueType x{DType::f32, {6, 4}}, weight{DType::f32, {9, 4}}, bias{DType::f32, {9}},
      targets{DType::i64, {6}};
  std::vector<OpErrorSample> errors = {
      with({x, {DType::f32, {4, 9}}, bias, targets}, {},
           "the last axis of x and axis 1 of weight: 4 and 9 differ"),
      with({x, weight, bias, targets}, {{"transpose_weight", false}},
           "the last axis of x and axis 0 of weight: 4 and 9 differ"),
      with({x, weight, {DType::f32, {4}}, targets}, {}, "bias must have shape [9], but has [4]"),
      with({x, weight, bias, {DType::i64, {5}}}, {}, "targets must have shape [6], but has [5]"),
      with({x, weight, bias, {DType::f32, {6}}}, {}, "targets must be i32 or i64, but is f32"),
      with({x, {DType::f64, {9, 4}}, bias, targets}, {}, "different dtypes, f32 and f64"),
      with({x, weight, bias, targets}, {{"label_smoothing", 2.0}},
           "label_smoothing must be in [0, 1], but is 2"),
      with({x, weight, bias, targets}, {{"chunk_bytes", std::int64_t{-1}}},
           "chunk_bytes must not be negative, but is -1"),
      with({x, weight, bias, targets}, {{"precision", std::string("low")}},
           "unknown precision 'low'; available: highest, high, medium"),
  };
  return errors;
}

}  // namespace

void add_samples(LinearCrossEntropyOps, OpSamples& all) {
  all.add("linear_cross_entropy", linear_loss_samples<false, false>,
          linear_loss_errors<false, false>);
  all.add("linear_cross_entropy_grad", linear_loss_samples<true, true>,
          linear_loss_errors<true, true>);
  all.add("linear_cross_entropy_with_grad", linear_loss_samples<true, false>,
          linear_loss_errors<true, false>);
}

}  // namespace weft
