// Samples of the operations in ops/reductions/norm.cc.
#include "weft/tests/samples/op_samples.h"
#include "weft/tests/samples/sample_data.h"

namespace weft {
namespace {

std::vector<OpSample> layer_norm_samples() {
  const auto sample = [](Sizes x, Sizes parameter, std::int64_t axes, bool gain, bool bias,
                         double eps) {
    OpSample s{{sample_uniform(std::move(x), 1), Tensor(), Tensor()},
               {{"axes", axes}, {"eps", eps}}};
    if (gain) s.inputs[1] = sample_uniform(parameter, 2, 0.5, 1.5);
    if (bias) s.inputs[2] = sample_uniform(parameter, 3);
    return s;
  };
  return {
      sample({2, 13}, {13}, 1, true, true, 1e-5),      sample({5, 33}, {33}, 1, false, false, 1e-5),
      sample({3, 2, 9}, {2, 9}, 2, true, false, 1e-3), sample({3, 7}, {7}, 1, false, true, 0.1),
      sample({0, 5}, {5}, 1, true, true, 1e-5),        sample({11}, {11}, 1, true, true, 1e-5)};
}

std::vector<OpErrorSample> layer_norm_errors() {
  const Attributes one{{"axes", std::int64_t{1}}, {"eps", 1e-5}};
  return {{{{DType::f32, {2, 3}}, {DType::f32, {2}}}, one, "gain must have shape [3], but has [2]"},
          {{{DType::f32, {2, 3}}, {DType::f32, {3}}, {DType::f32, {2, 3}}},
           one,
           "bias must have shape [3], but has [2, 3]"},
          {{{DType::f32, {2, 3}}, {DType::f64, {3}}}, one, "gain must be f32, but is f64"},
          {{{DType::i32, {2, 3}}}, one, "x must be f32 or f64, but is i32"},
          {{{DType::f32, {2, 3}}},
           {{"axes", std::int64_t{3}}, {"eps", 1e-5}},
           "must be from 1 to 2, not 3"},
          {{{DType::f32, {2, 3}}},
           {{"axes", std::int64_t{1}}, {"eps", -1.0}},
           "eps must not be negative, but is -1"}};
}

std::vector<OpSample> layer_norm_grad_samples() {
  const auto sample = [](Sizes x, Sizes rows, Sizes parameter, std::int64_t axes, bool gain) {
    return OpSample{{sample_uniform(x, 1), sample_uniform(x, 2),
                     gain ? sample_uniform(std::move(parameter), 3, 0.5, 1.5) : Tensor(),
                     sample_uniform(rows, 4, -0.2, 0.2), sample_uniform(rows, 5, 0.8, 1.2)},
                    {{"axes", axes}}};
  };
  return {sample({3, 13}, {3}, {13}, 1, true), sample({2, 3, 5}, {2}, {3, 5}, 2, false),
          sample({0, 5}, {0}, {5}, 1, true)};
}

std::vector<OpErrorSample> layer_norm_grad_errors() {
  const Attributes one{{"axes", std::int64_t{1}}};
  const ValueType x{DType::f32, {2, 3}}, row{DType::f32, {2}}, gain{DType::f32, {3}};
  return {{{gain, x, gain, row, row}, one, "g must have shape [2, 3], but has [3]"},
          {{x, x, gain, gain, row}, one, "mean must have shape [2], but has [3]"},
          {{x, x, gain, row, gain}, one, "rstd must have shape [2], but has [3]"},
          {{x, x, row, row, row}, one, "gain must have shape [3], but has [2]"}};
}

std::vector<OpSample> rms_norm_samples() {
  const auto sample = [](Sizes x, std::int64_t n, bool gain, double eps) {
    return OpSample{
        {sample_uniform(std::move(x), 1), gain ? sample_uniform({n}, 2, 0.5, 1.5) : Tensor()},
        {{"eps", eps}}};
  };
  return {sample({2, 13}, 13, true, 1e-5), sample({1, 2, 3}, 3, false, 1e-3),
          sample({0, 4}, 4, true, 1e-5), sample({17}, 17, true, 0.1)};
}

std::vector<OpErrorSample> rms_norm_errors() {
  const Attributes eps{{"eps", 1e-5}};
  return {{{{DType::f32, {2, 3}}, {DType::f32, {2}}}, eps, "gain must have shape [3], but has [2]"},
          {{{DType::boolean, {2, 3}}}, eps, "x must be f32 or f64, but is bool"},
          {{{DType::f32, {}}}, eps, "x must have at least 1 axes"}};
}

std::vector<OpSample> rms_norm_grad_samples() {
  const auto sample = [](Sizes x, Sizes rows, std::int64_t n, bool gain) {
    return OpSample{{sample_uniform(x, 1), sample_uniform(x, 2),
                     gain ? sample_uniform({n}, 3, 0.5, 1.5) : Tensor(),
                     sample_uniform(std::move(rows), 5, 0.8, 1.2)},
                    {}};
  };
  return {sample({3, 13}, {3}, 13, true), sample({2, 3, 5}, {2, 3}, 5, false),
          sample({0, 5}, {0}, 5, true)};
}

std::vector<OpErrorSample> rms_norm_grad_errors() {
  const ValueType x{DType::f32, {2, 3}}, row{DType::f32, {2}}, gain{DType::f32, {3}};
  return {{{gain, x, gain, row}, {}, "g must have shape [2, 3], but has [3]"},
          {{x, x, gain, gain}, {}, "rstd must have shape [2], but has [3]"}};
}

}  // namespace

void add_samples(NormOps, OpSamples& all) {
  all.add("layer_norm", layer_norm_samples, layer_norm_errors);
  all.add("layer_norm_grad", layer_norm_grad_samples, layer_norm_grad_errors);
  all.add("rms_norm", rms_norm_samples, rms_norm_errors);
  all.add("rms_norm_grad", rms_norm_grad_samples, rms_norm_grad_errors);
}

}  // namespace weft
