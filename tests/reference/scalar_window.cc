// Scalar models of convolutions and pooling.
#include <cmath>

#include "weft/core/error.h"
#include "weft/tests/reference/conv.h"
#include "weft/tests/reference/scalar_ops.h"

namespace weft::testing {
namespace {

ConvOptions options_of(const Attributes& a) {
  const auto pair = [&](const char* name) { return a.integers(name); };
  return {{pair("stride")[0], pair("stride")[1]},
          {pair("padding")[0], pair("padding")[1]},
          {pair("dilation")[0], pair("dilation")[1]},
          a.integer("groups")};
}

/// Sums of products whose terms may be added in any order.
class Sums {
 public:
  explicit Sums(NumberTensor& out, Precision precision = Precision::highest)
      : out_(out),
        terms_(out.elements.size()),
        error_(4 * epsilon(out.dtype) + precision_error(precision, out.dtype)) {}
  void add(std::int64_t at, const Number& a, const Number& b) {
    terms_[static_cast<std::size_t>(at)].push_back(number_of(a.value * b.value));
  }
  void finish() {
    for (std::size_t i = 0; i < terms_.size(); ++i) {
      out_.elements[i] = scalar_reduction("sum", terms_[i], out_.dtype);
      // The products also have rounding errors.
      Real magnitude = 0;
      for (const Number& n : terms_[i]) magnitude += std::fabs(n.value);
      out_.elements[i].error += error_ * magnitude;
    }
  }

 private:
  NumberTensor& out_;
  std::vector<std::vector<Number>> terms_;
  Real error_;  // relative error of one product
};

void conv2d(const ScalarCall& call, std::vector<NumberTensor>& out) {
  Sums sums(out[0], call.precision);
  for_conv_terms(call.in[0].sizes(), call.in[1].sizes(), out[0].sizes, options_of(call.attributes),
                 [&](std::int64_t x, std::int64_t w, std::int64_t y) {
                   sums.add(y, element(call.in[0], x), element(call.in[1], w));
                 });
  sums.finish();
}

void conv2d_fused(const ScalarCall& call, std::vector<NumberTensor>& out) {
  conv2d(call, out);
  scalar_epilogue(call, 2, out);
}

void conv2d_input_grad(const ScalarCall& call, std::vector<NumberTensor>& out) {
  Sums sums(out[0], call.precision);
  for_conv_terms(out[0].sizes, call.in[1].sizes(), call.in[0].sizes(), options_of(call.attributes),
                 [&](std::int64_t x, std::int64_t w, std::int64_t y) {
                   sums.add(x, element(call.in[0], y), element(call.in[1], w));
                 });
  sums.finish();
}

void conv2d_weight_grad(const ScalarCall& call, std::vector<NumberTensor>& out) {
  Sums sums(out[0], call.precision);
  for_conv_terms(call.in[1].sizes(), out[0].sizes, call.in[0].sizes(), options_of(call.attributes),
                 [&](std::int64_t x, std::int64_t w, std::int64_t y) {
                   sums.add(w, element(call.in[0], y), element(call.in[1], x));
                 });
  sums.finish();
}

/// Calls fn(position in the image, position in the result) for every pixel of every window.
void for_windows(const Attributes& a, const Sizes& image, const Sizes& result,
                 const std::function<void(std::int64_t, std::int64_t)>& fn) {
  const auto &kernel = a.integers("kernel"), &stride = a.integers("stride");
  const auto& padding = a.integers("padding");
  for (std::int64_t to = 0; to < num_elements(result); ++to) {
    const std::int64_t ox = to % result[3], oy = to / result[3] % result[2];
    const std::int64_t plane = to / result[3] / result[2];
    for (std::int64_t i = 0; i < kernel[0]; ++i) {
      for (std::int64_t j = 0; j < kernel[1]; ++j) {
        const std::int64_t y = oy * stride[0] - padding[0] + i;
        const std::int64_t x = ox * stride[1] - padding[1] + j;
        if (y < 0 || y >= image[2] || x < 0 || x >= image[3]) continue;
        fn((plane * image[2] + y) * image[3] + x, to);
      }
    }
  }
}

void max_pool(const ScalarCall& call, std::vector<NumberTensor>& out) {
  const Sizes& image = call.in[0].sizes();
  const std::int64_t pixels = image[2] * image[3];
  std::vector<char> seen(out[0].elements.size(), 0);
  for_windows(call.attributes, image, out[0].sizes, [&](std::int64_t from, std::int64_t to) {
    const auto at = static_cast<std::size_t>(to);
    const Number x = element(call.in[0], from);
    const Real best = out[0].elements[at].value;
    const bool better = !seen[at] || (!std::isnan(best) && (std::isnan(x.value) || x.value > best));
    if (!better) return;
    seen[at] = 1;
    out[0].elements[at] = x;
    out[1].elements[at] = number_of_integer(from % pixels);
  });
  for (const char s : seen) {
    if (!s) throw ShapeError("scalar model: a window without pixels has no maximum");
  }
}

Real window_area(const Attributes& a) {
  return static_cast<Real>(a.integers("kernel")[0] * a.integers("kernel")[1]);
}

void avg_pool(const ScalarCall& call, std::vector<NumberTensor>& out) {
  Sums sums(out[0]);
  const Number part = number_of(1 / window_area(call.attributes));
  for_windows(
      call.attributes, call.in[0].sizes(), out[0].sizes,
      [&](std::int64_t from, std::int64_t to) { sums.add(to, element(call.in[0], from), part); });
  sums.finish();
}

void avg_pool_grad(const ScalarCall& call, std::vector<NumberTensor>& out) {
  Sums sums(out[0]);
  const Number part = number_of(1 / window_area(call.attributes));
  for_windows(
      call.attributes, out[0].sizes, call.in[0].sizes(),
      [&](std::int64_t to, std::int64_t from) { sums.add(to, element(call.in[0], from), part); });
  sums.finish();
}

}  // namespace

void add_window_models(ScalarModels& models) {
  models["conv2d"] = within_reach(conv2d);
  models["conv2d_fused"] = within_reach(conv2d_fused);
  models["conv2d_input_grad"] = within_reach(conv2d_input_grad);
  models["conv2d_weight_grad"] = within_reach(conv2d_weight_grad);
  models["max_pool2d"] = max_pool;
  models["avg_pool2d"] = within_reach(avg_pool);
  models["avg_pool2d_grad"] = within_reach(avg_pool_grad);
}

}  // namespace weft::testing
