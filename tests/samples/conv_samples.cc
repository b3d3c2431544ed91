// Samples of the operations in ops/convolution/conv.cc.
#include "weft/tests/samples/op_samples.h"
#include "weft/tests/samples/sample_data.h"

namespace weft {
namespace {

// One configuration of conv2d, from which the samples of all ops are built.
struct ConvCase {
  Sizes x, w;
  Ints stride = {1, 1}, padding = {0, 0}, dilation = {1, 1};
  std::int64_t groups = 1;

  std::int64_t out(int axis) const {
    const auto i = static_cast<std::size_t>(axis);
    return (x[i + 2] + 2 * padding[i] - dilation[i] * (w[i + 2] - 1) - 1) / stride[i] + 1;
  }
  Sizes g() const { return {x[0], w[0], out(0), out(1)}; }
  Attributes attributes() const {
    return {{"stride", stride}, {"padding", padding}, {"dilation", dilation}, {"groups", groups}};
  }
};

std::vector<ConvCase> conv_cases() {
  return {
      {{1, 1, 3, 3}, {1, 1, 2, 2}},
      {{2, 3, 4, 5}, {4, 3, 1, 1}},
      {{2, 2, 5, 4}, {3, 2, 3, 3}, {1, 1}, {1, 1}},
      {{1, 4, 6, 7}, {6, 2, 2, 3}, {2, 3}, {1, 2}, {1, 1}, 2},
      {{1, 3, 7, 6}, {3, 1, 3, 2}, {1, 2}, {2, 0}, {2, 3}, 3},
      {{2, 3, 4, 4}, {5, 3, 2, 2}, {2, 2}},
      {{0, 2, 3, 3}, {2, 2, 2, 2}},
      {{2, 0, 3, 3}, {2, 0, 2, 2}},
      {{1, 2, 3, 3}, {0, 2, 2, 2}},
  };
}

std::vector<OpSample> conv2d_samples() {
  std::vector<OpSample> samples;
  for (const ConvCase& c : conv_cases()) {
    samples.push_back({{sample_uniform(c.x, 31), sample_uniform(c.w, 32)}, c.attributes()});
  }
  return samples;
}

// A bias, a residual and an activation, and the broadcasts of operands.
std::vector<OpSample> conv2d_fused_samples() {
  std::vector<OpSample> samples;
  std::vector<ConvCase> cases = conv_cases();
  cases.push_back({{2, 3, 9, 8}, {20, 3, 3, 3}, {1, 2}, {1, 1}});
  cases.push_back({{2, 6, 5, 7}, {26, 3, 1, 1}, {1, 1}, {0, 0}, {1, 1}, 2});
  for (const ConvCase& c : cases) {
    Attributes attributes = c.attributes();
    attributes.set("program", std::string("%5 = add(%0, %1); %6 = mul(%2, %3); %7 = add(%5, %6); "
                                          "%8 = mul(%7, %4); %9 = relu(%8); return %9, %5"));
    samples.push_back(
        {{sample_uniform(c.x, 31), sample_uniform(c.w, 32), sample_uniform({1, c.w[0], 1, 1}, 33),
          sample_uniform(c.g(), 34), sample_uniform({}, 35), sample_uniform({c.w[0], 1, 1}, 36)},
         attributes});
  }
  Attributes narrow = cases.back().attributes();
  narrow.set("program", std::string("%1 = relu(%0); %2 = cast(%1, dtype=bf16); return %2"));
  samples.push_back(
      {{sample_uniform(cases.back().x, 37), sample_uniform(cases.back().w, 38)}, narrow});
  return samples;
}

std::vector<OpErrorSample> conv2d_fused_errors() {
  const Attributes bias{{"program", std::string("%2 = add(%0, %1); return %2")}};
  const ValueType x{DType::f32, {1, 4, 5, 6}}, w{DType::f32, {6, 4, 3, 3}};
  const char* message =
      "%1 must have the product's shape [1, 6, 3, 4], one element per channel, or a single "
      "element, "
      "but has shape [4]";
  return {{{x, {DType::f32, {6, 3, 3, 3}}, {DType::f32, {}}},
           bias,
           "channels of x (axis 1) and of w (axis 1) times groups: 4 and 3 differ"},
          {{x, w, {DType::f32, {4}}}, bias, message}};
}

std::vector<OpSample> input_grad_samples() {
  std::vector<OpSample> samples;
  for (const ConvCase& c : conv_cases()) {
    Attributes attributes = c.attributes();
    attributes.set("height", Dim(c.x[2]));
    attributes.set("width", Dim(c.x[3]));
    samples.push_back({{sample_uniform(c.g(), 33), sample_uniform(c.w, 34)}, attributes});
  }
  return samples;
}

std::vector<OpSample> weight_grad_samples() {
  std::vector<OpSample> samples;
  for (const ConvCase& c : conv_cases()) {
    Attributes attributes = c.attributes();
    attributes.set("kernel", Ints{c.w[2], c.w[3]});
    samples.push_back({{sample_uniform(c.g(), 35), sample_uniform(c.x, 36)}, attributes});
  }
  return samples;
}

constexpr DType f32 = DType::f32;

std::vector<OpErrorSample> conv2d_errors() {
  const ValueType x{f32, {1, 4, 5, 6}}, w{f32, {6, 4, 3, 3}};
  return {
      {{x, {f32, {6, 3, 3, 3}}},
       {},
       "channels of x (axis 1) and of w (axis 1) times groups: 4 and 3 differ"},
      {{x, {f32, {5, 2, 3, 3}}},
       {{"groups", std::int64_t{2}}},
       "the number of output channels, 5, must be a multiple of groups, 2"},
      {{{f32, {4, 5, 6}}, w}, {}, "x [N, C, H, W] must have 4 axes, but f32[4, 5, 6] has 3"},
      {{x, {DType::f64, {6, 4, 3, 3}}}, {}, "different dtypes, f32 and f64"},
      {{x, {f32, {6, 4, 7, 3}}},
       {},
       "height: a kernel of size 7 with dilation 1 spans 7, but the padded input size is only 5 "
       "(padding 0)"},
      {{x, w},
       {{"stride", Ints{1, 0}}},
       "stride must be two integers of at least 1, but is [1, 0]"},
      {{x, w}, {{"padding", Ints{1}}}, "padding must be two integers of at least 0, but is [1]"},
      {{x, w},
       {{"padding", Ints{0, std::int64_t{1} << 62}}},
       "padding must be less than 2^31, but is [0, 4611686018427387904]"},
      {{x, w},
       {{"dilation", Ints{std::int64_t{1} << 33, 1}}},
       "dilation must be less than 2^31, but is [8589934592, 1]"},
      {{x, w}, {{"groups", std::int64_t{0}}}, "groups must be at least 1, but is 0"},
  };
}

std::vector<OpErrorSample> input_grad_errors() {
  const Attributes size{{"height", Dim(5)}, {"width", Dim(6)}};
  return {{{{f32, {1, 6, 3, 3}}, {f32, {6, 4, 3, 3}}},
           size,
           "g must have shape [1, 6, 3, 4], but has [1, 6, 3, 3]"},
          {{{f32, {1, 5, 3, 4}}, {f32, {6, 4, 3, 3}}},
           size,
           "output channels of g (axis 1) and of w (axis 0): 5 and 6 differ"}};
}

std::vector<OpErrorSample> weight_grad_errors() {
  const ValueType g{f32, {1, 6, 3, 4}}, x{f32, {1, 4, 5, 6}};
  return {{{g, {f32, {2, 4, 5, 6}}},
           {{"kernel", Ints{3, 3}}},
           "g must have shape [2, 6, 3, 4], but has [1, 6, 3, 4]"},
          {{g, x}, {{"kernel", Ints{3}}}, "kernel must be two integers of at least 1, but is [3]"}};
}

}  // namespace

void add_samples(ConvOps, OpSamples& all) {
  all.add("conv2d", conv2d_samples, conv2d_errors);
  all.add("conv2d_fused", conv2d_fused_samples, conv2d_fused_errors);
  all.add("conv2d_input_grad", input_grad_samples, input_grad_errors);
  all.add("conv2d_weight_grad", weight_grad_samples, weight_grad_errors);
}

}  // namespace weft
