// Samples of the operations in ops/losses/cross_entropy.cc and soft_cross_entropy.cc.
#include "weft/tests/samples/op_samples.h"
#include "weft/tests/samples/sample_data.h"

namespace weft {
namespace {

Attributes cross_entropy_attributes(std::int64_t axis, std::int64_t ignore, double smoothing) {
  return {{"axis", axis}, {"ignore_index", ignore}, {"label_smoothing", smoothing}};
}

std::vector<OpSample> forward_samples() {
  return {
      {{sample_uniform({6, 11}, 1), sample_indices({6}, 2, 11)},
       cross_entropy_attributes(1, -100, 0)},
      {{sample_uniform({2, 5, 3}, 3), sample_indices({2, 3}, 4, 5)},
       cross_entropy_attributes(1, 2, 0.2)},
      {{sample_uniform({7, 2, 2}, 5), sample_indices({2, 2}, 6, 7).to(DType::i32)},
       cross_entropy_attributes(0, 3, 0.1)},
      {{sample_uniform({9}, 7), Tensor::of<std::int64_t>({}, {4})},
       cross_entropy_attributes(0, -1, 1)},
      {{sample_uniform({3, 1}, 8), sample_indices({3}, 9, 1)},
       cross_entropy_attributes(1, -100, 0)},
      {{sample_uniform({4, 5}, 8), Tensor::of<std::int64_t>({4}, {-1, -1, -1, -1})},
       cross_entropy_attributes(1, -1, 0.3)},
      {{sample_uniform({0, 5}, 8), sample_indices({0}, 9, 5)}, cross_entropy_attributes(1, -1, 0)}};
}

std::vector<OpSample> backward_samples() {
  const auto sample = [](Sizes x, Sizes positions, std::int64_t axis, std::int64_t classes,
                         std::int64_t ignore, double smoothing) {
    return OpSample{{sample_uniform(positions, 1), sample_uniform(std::move(x), 2),
                     sample_indices(positions, 3, classes), sample_uniform(positions, 4, 2, 3)},
                    cross_entropy_attributes(axis, ignore, smoothing)};
  };
  return {sample({6, 11}, {6}, 1, 11, -100, 0), sample({2, 5, 3}, {2, 3}, 1, 5, 2, 0.2),
          sample({0, 5}, {0}, 1, 5, -1, 0)};
}

std::vector<OpErrorSample> forward_errors() {
  const ValueType x{DType::f32, {6, 11}}, t{DType::i64, {6}};
  return {
      {{x, {DType::i64, {5}}},
       cross_entropy_attributes(1, -100, 0),
       "targets must have the shape of logits without the class axis 1, [6], but has [5]"},
      {{x, {DType::f32, {6}}},
       cross_entropy_attributes(1, -100, 0),
       "targets must be i32 or i64, but is f32"},
      {{x, t}, cross_entropy_attributes(2, -100, 0), "axis 2 is not an axis of logits, f32[6, 11]"},
      {{x, t},
       cross_entropy_attributes(1, -100, 1.5),
       "label_smoothing must be in [0, 1], but is 1.5"},
      {{{DType::i64, {6, 11}}, t},
       cross_entropy_attributes(1, -100, 0),
       "logits must be f32 or f64, but is i64"}};
}

std::vector<OpErrorSample> backward_errors() {
  const ValueType x{DType::f32, {6, 11}}, t{DType::i64, {6}}, p{DType::f32, {6}};
  return {{{x, x, t, p},
           cross_entropy_attributes(1, -100, 0),
           "g must have shape [6], but has [6, 11]"},
          {{p, x, t, x},
           cross_entropy_attributes(1, -100, 0),
           "lse must have shape [6], but has [6, 11]"},
          {{p, x, p, p},
           cross_entropy_attributes(1, -100, 0),
           "targets must be i32 or i64, but is f32"}};
}

Attributes soft_attributes(std::int64_t axis, double smoothing) {
  return {{"axis", axis}, {"label_smoothing", smoothing}};
}

std::vector<OpSample> soft_forward_samples() {
  const auto sample = [](Sizes sizes, std::int64_t axis, double smoothing) {
    return OpSample{{sample_uniform(sizes, 1), sample_uniform(sizes, 2, 0.1, 1)},
                    soft_attributes(axis, smoothing)};
  };
  return {sample({6, 11}, 1, 0), sample({2, 5, 3}, 1, 0.2), sample({7, 2, 2}, 0, 0.1),
          sample({9}, 0, 1),     sample({3, 1}, 1, 0),      sample({0, 5}, 1, 0),
          sample({2, 67}, 1, 0), sample({3, 0}, 1, 0)};
}

std::vector<OpSample> soft_backward_samples() {
  const auto sample = [](Sizes sizes, Sizes positions, std::int64_t axis, double smoothing) {
    return OpSample{{sample_uniform(positions, 1), sample_uniform(sizes, 2),
                     sample_uniform(sizes, 3, 0.1, 1), sample_uniform(positions, 4, 2, 3)},
                    soft_attributes(axis, smoothing)};
  };
  return {sample({6, 11}, {6}, 1, 0), sample({2, 5, 3}, {2, 3}, 1, 0.2), sample({0, 5}, {0}, 1, 0)};
}

std::vector<OpErrorSample> soft_forward_errors() {
  const ValueType x{DType::f32, {6, 11}};
  return {
      {{x, {DType::f32, {6}}},
       soft_attributes(1, 0),
       "targets f32[6] are probabilities, so they must have the shape of logits, [6, 11]; class "
       "indices must be i32 or i64 [6]"},
      {{x, {DType::f64, {6, 11}}}, soft_attributes(1, 0), "different dtypes, f32 and f64"},
      {{x, x}, soft_attributes(-1, 0), "axis -1 is not an axis of logits, f32[6, 11]"},
      {{x, x}, soft_attributes(1, -0.5), "label_smoothing must be in [0, 1], but is -0.5"},
      {{{DType::i64, {6, 11}}, x}, soft_attributes(1, 0), "logits must be f32 or f64"}};
}

std::vector<OpErrorSample> soft_backward_errors() {
  const ValueType x{DType::f32, {6, 11}}, p{DType::f32, {6}};
  return {
      {{x, x, x, p}, soft_attributes(1, 0), "g must have shape [6], but has [6, 11]"},
      {{p, x, x, x}, soft_attributes(1, 0), "lse must have shape [6], but has [6, 11]"},
      {{p, x, p, p}, soft_attributes(1, 0), "targets f32[6] are probabilities"},
  };
}

}  // namespace

void add_samples(CrossEntropyOps, OpSamples& all) {
  all.add("cross_entropy", forward_samples, forward_errors);
  all.add("cross_entropy_grad", backward_samples, backward_errors);
  all.add("soft_cross_entropy", soft_forward_samples, soft_forward_errors);
  all.add("soft_cross_entropy_grad", soft_backward_samples, soft_backward_errors);
}

}  // namespace weft
