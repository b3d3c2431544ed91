// Runs matmul at every precision on every matrix unit, through the phases that all products share.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstring>

#include "weft/ops/kernels/gemm/bf16_split/choose.h"
#include "weft/ops/kernels/gemm/bf16_split/engine.h"
#include "weft/tests/ops/engine_gemm.h"
#include "weft/tests/ops/evaluate_at.h"
#include "weft/tests/reference/bf16_split.h"
#include "weft/tests/reference/matmul.h"
#include "weft/tests/samples/sample_data.h"

namespace weft {
namespace {

using kernels::Bf16Unit;

struct Product {
  Sizes a, b;
  bool ta = false, tb = false;
};

Tensor matmul(const Product& p, const Tensor& a, const Tensor& b, Precision precision) {
  return testing::evaluate_at(precision, "matmul", {a, b},
                              {{"transpose_a", p.ta}, {"transpose_b", p.tb}})[0];
}

// Returns the largest error relative to |a b| at each precision (panel.h), not counting the
// rounding of sums.
double left_out(Precision precision) {
  switch (precision) {
    case Precision::medium: return 0x1p-7;
    case Precision::high: return 0x3p-16;
    case Precision::highest: break;
  }
  return 0x1p-23;
}

template <class Body>
void for_each_unit_and_precision(const Body& body) {
  for (const Bf16Unit unit :
       {Bf16Unit::emulated_amx, Bf16Unit::amx, Bf16Unit::emulated_dot, Bf16Unit::dot}) {
    if (!kernels::bf16_unit_available(unit)) continue;
    for (const Precision precision : {Precision::highest, Precision::high, Precision::medium}) {
      const kernels::ForcedBf16Unit forced(unit);
      if (kernels::choose_bf16_split_engine(precision, 64, 64, 64) == nullptr) continue;
      BOOST_TEST_CONTEXT(kernels::bf16_unit_name(unit) << " at " << precision_name(precision)) {
        body(precision);
      }
    }
  }
}

BOOST_AUTO_TEST_SUITE(bf16_split_driver)

BOOST_AUTO_TEST_CASE(batches_and_transposes_are_supported_at_every_precision) {
  const Product products[] = {{{40, 70}, {70, 50}},
                              {{70, 40}, {70, 50}, true, false},
                              {{40, 70}, {50, 70}, false, true},
                              {{70, 40}, {50, 70}, true, true},
                              {{2, 3, 20, 35}, {2, 3, 35, 40}},
                              {{2, 1, 20, 35}, {3, 40, 35}, false, true},
                              {{20, 35}, {2, 3, 35, 40}},
                              {{3, 35, 20}, {35, 40}, true, false},
                              {{3, 20, 35}, {35, 40}},
                              {{2, 70}, {70, 50}},
                              {{40, 70}, {70, 3}},
                              {{250, 300}, {300, 530}},   // tiles, both panels shared
                              {{70, 2100}, {2100, 40}},   // a depth that is split into ranges
                              {{1300, 130}, {130, 100}},  // strips
                              {{0, 4, 5}, {5, 6}},
                              {{4, 0}, {0, 6}}};
  for_each_unit_and_precision([&](Precision precision) {
    for (const Product& p : products) {
      const Tensor a = sample_uniform(p.a, 1), b = sample_uniform(p.b, 2);
      const Tensor expected = testing::reference_matmul(a, b, p.ta, p.tb);
      const Tensor c = matmul(p, a, b, precision);
      const std::int64_t k = a.size(p.ta ? -2 : -1);
      const double relative = left_out(precision) + static_cast<double>(k + 20) * 0x1p-24;
      for (std::int64_t i = 0; i < c.numel(); ++i) {
        // |a| and |b| are below 1.5.
        BOOST_REQUIRE_SMALL(c.at(i) - expected.at(i), relative * 2.25 * static_cast<double>(k));
      }
    }
  });
}

// Neither splitting C into tiles nor packing in several steps changes any bit (splitting the depth
// would).
BOOST_AUTO_TEST_CASE(the_driver_matches_the_engine_bit_for_bit) {
  for_each_unit_and_precision([&](Precision precision) {
    const kernels::GemmEngine& engine = *kernels::choose_bf16_split_engine(precision, 64, 64, 64);
    for (const auto& [m, n, k] : {std::tuple{40, 50, 70}, {250, 530, 300}, {1300, 100, 130}}) {
      Tensor a = sample_uniform({m, k}, 3), b = sample_uniform({k, n}, 4);
      a.mutable_data<float>()[7 * k + 3] = 1e-38f;
      b.mutable_data<float>()[5 * n + 33] = INFINITY;
      const Tensor whole = testing::engine_gemm(engine, a, b);
      const Tensor c = matmul({{}, {}}, a, b, precision);
      BOOST_TEST(std::memcmp(c.raw(), whole.raw(), c.bytes()) == 0, m << " " << n << " " << k);
    }
  });
}

// Attention and convolutions pack both operands again for every tile. This makes six products too
// slow to be selected automatically, but a test can force them.
BOOST_AUTO_TEST_CASE(attention_and_convolution_tiles_honour_the_precision) {
  const auto in_double = [](const std::vector<Tensor>& tensors) {
    std::vector<Tensor> result;
    for (const Tensor& t : tensors) result.push_back(t.defined() ? t.to(DType::f64) : t);
    return result;
  };
  const auto check = [&](const char* op, const std::vector<Tensor>& inputs,
                         const Attributes& attributes, Precision precision) {
    const auto actual = testing::evaluate_at(precision, op, inputs, attributes);
    const auto expected = testing::evaluate_at(precision, op, in_double(inputs), attributes);
    for (std::size_t o = 0; o < actual.size(); ++o) {
      double worst = 0, largest = 0;
      for (std::int64_t i = 0; i < actual[o].numel(); ++i) {
        worst = std::max(worst, std::abs(actual[o].at(i) - expected[o].at(i)));
        largest = std::max(largest, std::abs(expected[o].at(i)));
      }
      if (largest == 0) continue;  // the gradient of an absent operand
      const double error = worst / largest;
      BOOST_TEST_CONTEXT(op << " output " << o << ", error " << error) {
        switch (precision) {
          case Precision::medium: BOOST_TEST((error > 1e-4 && error < 2e-2)); break;
          case Precision::high: BOOST_TEST((error > 3e-7 && error < 3e-5)); break;
          case Precision::highest: BOOST_TEST(error < 2e-6); break;
        }
      }
    }
  };
  const Tensor q = sample_uniform({1, 2, 140, 40}, 1), k = sample_uniform({1, 2, 150, 40}, 2),
               v = sample_uniform({1, 2, 150, 36}, 3), g = sample_uniform({1, 2, 140, 36}, 4);
  const Attributes causal{{"causal", true}, {"scale", 0.5}};
  const auto forward = evaluate_op(builtin_ops()->at("attention"), {q, k, v}, causal);
  const Tensor x = sample_uniform({2, 6, 12, 13}, 5), w = sample_uniform({40, 6, 3, 3}, 6);
  const Attributes geometry = builtin_ops()->at("conv2d").complete({});
  for_each_unit_and_precision([&](Precision precision) {
    check("attention", {q, k, v}, causal, precision);
    check("attention_grad", {g, forward[0], forward[1], q, k, v}, causal, precision);
    check("conv2d", {x, w}, geometry, precision);
  });
}

// Probabilities can be as small as denormals. Such values must not cause whole rows to fall back to
// multiply-adds or change the result. With scores that differ by 70, the smaller probability is
// 2^-101.
BOOST_AUTO_TEST_CASE(attention_supports_vanishing_probabilities) {
  Tensor q = Tensor::full(DType::f32, {1, 1, 64, 32}, 0), k = sample_uniform({1, 1, 64, 32}, 1),
         v = sample_uniform({1, 1, 64, 32}, 2);
  for (std::int64_t i = 0; i < 64; ++i) {
    q.mutable_data<float>()[i * 32] = 1;
    k.mutable_data<float>()[i * 32] = i % 2 == 0 ? 35.0f : -35.0f;
  }
  const Attributes plain{{"scale", 1.0}};
  const auto expected = evaluate_op(builtin_ops()->at("attention"), {q, k, v}, plain);
  for_each_unit_and_precision([&](Precision precision) {
    const auto actual = testing::evaluate_at(precision, "attention", {q, k, v}, plain);
    const double tolerance = precision == Precision::medium ? 1e-2 : 1e-5;
    for (std::int64_t i = 0; i < actual[0].numel(); ++i) {
      BOOST_REQUIRE_SMALL(actual[0].at(i) - expected[0].at(i), tolerance);
    }
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
