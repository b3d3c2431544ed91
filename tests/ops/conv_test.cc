#include "weft/tests/reference/conv.h"

#include <boost/test/unit_test.hpp>
#include <cmath>

#include "weft/ops/op.h"
#include "weft/testing/simd_targets.h"
#include "weft/tests/ops/evaluate_at.h"
#include "weft/tests/samples/sample_data.h"

namespace weft {
namespace {

using testing::ConvOptions;
using Ints = std::vector<std::int64_t>;

struct ConvCase {
  Sizes x, w;
  ConvOptions options;
};

std::vector<ConvCase> cases() {
  return {
      {{1, 1, 1, 1}, {1, 1, 1, 1}, {{1, 1}, {0, 0}, {1, 1}, 1}},
      {{2, 3, 9, 7}, {5, 3, 3, 3}, {{1, 1}, {1, 1}, {1, 1}, 1}},
      {{2, 4, 13, 11}, {6, 2, 5, 3}, {{3, 2}, {2, 1}, {1, 1}, 2}},
      {{1, 6, 12, 10}, {6, 1, 3, 3}, {{1, 2}, {2, 3}, {2, 3}, 6}},
      {{2, 3, 16, 16}, {17, 3, 8, 8}, {{8, 8}, {0, 0}, {1, 1}, 1}},
      {{2, 13, 5, 5}, {11, 13, 1, 1}, {{1, 1}, {0, 0}, {1, 1}, 1}},
      {{1, 2, 40, 50}, {3, 2, 2, 2}, {{1, 1}, {0, 0}, {1, 1}, 1}},  // several tiles of positions
      {{1, 150, 4, 4}, {100, 150, 2, 2}, {{1, 1}, {1, 1}, {1, 1}, 1}},  // several tiles of channels
      // shared patches, several blocks of the depth, and tiles of positions
      {{1, 70, 9, 8}, {50, 70, 3, 3}, {{1, 1}, {1, 1}, {1, 1}, 1}},
      {{3, 40, 13, 17}, {26, 20, 3, 2}, {{2, 2}, {2, 1}, {1, 2}, 2}},
      {{1, 3, 61, 35}, {20, 3, 7, 7}, {{2, 2}, {3, 3}, {1, 1}, 1}},
      {{2, 9, 10, 50}, {13, 9, 1, 3}, {{1, 3}, {0, 2}, {1, 1}, 1}},
      {{2, 5, 4, 150}, {12, 5, 1, 1}, {{1, 2}, {0, 0}, {1, 1}, 1}},
      // transformed patches: bands of one and several rows of tiles, odd sizes, groups
      {{2, 32, 13, 15}, {50, 32, 3, 3}, {{1, 1}, {1, 1}, {1, 1}, 1}},
      {{1, 70, 17, 14}, {66, 35, 3, 3}, {{1, 1}, {0, 1}, {1, 1}, 2}},
      {{1, 33, 9, 27}, {120, 33, 3, 3}, {{1, 1}, {1, 0}, {1, 1}, 1}},
      // kernel positions that cover padding only
      {{1, 1, 2, 3}, {2, 1, 1, 9}, {{1, 1}, {0, 6}, {1, 1}, 1}},
      {{0, 2, 3, 3}, {2, 2, 2, 2}, {{1, 1}, {0, 0}, {1, 1}, 1}},
      {{2, 0, 3, 3}, {2, 0, 2, 2}, {{1, 1}, {0, 0}, {1, 1}, 1}},
  };
}

void check_close(const Tensor& actual, const std::vector<double>& expected, double tolerance) {
  BOOST_REQUIRE_EQUAL(actual.numel(), static_cast<std::int64_t>(expected.size()));
  double largest = 1, worst = 0;
  for (std::int64_t i = 0; i < actual.numel(); ++i) {
    const double e = expected[static_cast<std::size_t>(i)];
    largest = std::max(largest, std::abs(e));
    worst = std::max(worst, std::abs(actual.at(i) - e));
  }
  BOOST_REQUIRE_SMALL(worst, tolerance * largest);
}

void check(const ConvCase& c, DType dtype, double tolerance) {
  const ConvOptions& o = c.options;
  Attributes attributes{{"stride", Ints(o.stride, o.stride + 2)},
                        {"padding", Ints(o.padding, o.padding + 2)},
                        {"dilation", Ints(o.dilation, o.dilation + 2)},
                        {"groups", o.groups}};
  const Tensor x = sample_uniform(c.x, 1).to(dtype), w = sample_uniform(c.w, 2).to(dtype);
  const Tensor out = evaluate_op(builtin_ops()->at("conv2d"), {x, w}, attributes)[0];
  const Tensor g = sample_uniform(out.sizes(), 3).to(dtype);
  const auto zeros = [](const Tensor& t) {
    return std::vector<double>(static_cast<std::size_t>(t.numel()));
  };
  std::vector<double> y = zeros(out), dx = zeros(x), dw = zeros(w);
  testing::for_conv_terms(c.x, c.w, out.sizes(), o,
                          [&](std::int64_t xi, std::int64_t wi, std::int64_t yi) {
                            y[static_cast<std::size_t>(yi)] += x.at(xi) * w.at(wi);
                            dx[static_cast<std::size_t>(xi)] += g.at(yi) * w.at(wi);
                            dw[static_cast<std::size_t>(wi)] += g.at(yi) * x.at(xi);
                          });
  check_close(out, y, tolerance);
  Attributes with_size = attributes, with_kernel = attributes;
  with_size.set("height", Dim(c.x[2]));
  with_size.set("width", Dim(c.x[3]));
  with_kernel.set("kernel", Ints{c.w[2], c.w[3]});
  check_close(evaluate_op(builtin_ops()->at("conv2d_input_grad"), {g, w}, with_size)[0], dx,
              tolerance);
  check_close(evaluate_op(builtin_ops()->at("conv2d_weight_grad"), {g, x}, with_kernel)[0], dw,
              tolerance);
}

// Compares conv2d_fused with conv2d and separate steps, and with weights that are packed in
// advance.
void check_fused(const OpSample& sample, const char* target) {
  const Attributes fused = builtin_ops()->at("conv2d_fused").complete(sample.attributes);
  Attributes plain;
  for (const char* name : {"stride", "padding", "dilation"})
    plain.set(name, Ints(fused.integers(name)));
  plain.set("groups", fused.integer("groups"));
  const auto evaluate = [](std::string_view op, const std::vector<Tensor>& in, const Attributes& a,
                           int constant = -1) {
    return testing::evaluate_at(Precision::highest, op, in, a, constant);
  };
  std::vector<Tensor> operands = evaluate("conv2d", {sample.inputs[0], sample.inputs[1]}, plain);
  const Tensor packed = evaluate("conv2d", {sample.inputs[0], sample.inputs[1]}, plain, 1)[0];
  operands.insert(operands.end(), sample.inputs.begin() + 2, sample.inputs.end());
  // The bias of a channel is repeated for all pixels.
  for (std::size_t i = 1; i < operands.size(); ++i) {
    if (operands[i].rank() < 3 || operands[i].sizes() == operands[0].sizes()) continue;
    Tensor all = Tensor::empty(DType::f32, operands[0].sizes());
    const std::int64_t channels = all.size(1), pixels = all.size(2) * all.size(3);
    for (std::int64_t k = 0; k < all.numel(); ++k)
      all.mutable_data<float>()[k] = operands[i].data<float>()[k / pixels % channels];
    operands[i] = all;
  }
  std::vector<Tensor> want = evaluate("fused", operands, {{"program", fused.text("program")}});
  want.insert(want.begin(), operands[0]);
  BOOST_TEST_CONTEXT(to_string(sample.inputs[1].sizes()) << " on " << target) {
    BOOST_TEST(bitwise_equal(packed, want[0]));
    for (const int constant : {-1, 1}) {
      const auto got = evaluate("conv2d_fused", sample.inputs, fused, constant);
      BOOST_REQUIRE_EQUAL(got.size(), want.size());
      for (std::size_t i = 0; i < want.size(); ++i) BOOST_TEST(bitwise_equal(got[i], want[i]));
    }
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(conv_ops)

BOOST_AUTO_TEST_CASE(fused_steps_and_packed_weights_give_the_bits_of_separate_ops) {
  std::vector<OpSample> samples = builtin_ops()->at("conv2d_fused").samples();
  const Attributes add_twice{
      {"padding", Ints{1, 1}},
      {"program", std::string("%3 = add(%0, %1); %4 = add(%3, %2); return %4")}};
  for (const Sizes& x :
       std::vector<Sizes>{{1, 70, 9, 8}, {2, 8, 40, 31}, {1, 60, 7, 7}, {2, 40, 11, 13}}) {
    samples.push_back({{sample_uniform(x, 1), sample_uniform({50, x[1], 3, 3}, 2),
                        sample_uniform({50, 1, 1}, 3), sample_uniform({x[0], 50, x[2], x[3]}, 4)},
                       add_twice});
    samples.push_back(samples.back());
    samples.back().inputs.push_back(sample_uniform({50, 1, 1}, 5));
    samples.back().attributes.set(
        "program", std::string("%4 = add(%2, %1); %5 = add(%0, %3); %6 = add(%5, %4); "
                               "%7 = relu(%6); return %7"));
  }
  testing::for_each_simd_target([&](const char* target) {
    for (const OpSample& sample : samples) check_fused(sample, target);
  });
}

BOOST_AUTO_TEST_CASE(convolutions_match_the_reference_on_every_simd_target) {
  testing::for_each_simd_target([](const char*) {
    for (const ConvCase& c : cases()) {
      check(c, DType::f32, 3e-6);
      check(c, DType::f64, 1e-14);
    }
  });
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
