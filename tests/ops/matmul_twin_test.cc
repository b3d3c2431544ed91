// Compares matrix products with their scalar models for every layout, dtype, precision and unit,
// with random batch axes, fused steps and prepacked weights.
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "weft/autodiff/gradients.h"
#include "weft/graph/functions.h"
#include "weft/ops/kernels/gemm/bf16_split/choose.h"
#include "weft/tests/ops/twin.h"
#include "weft/tests/reference/elementwise.h"
#include "weft/tests/reference/evaluate_graph.h"

namespace weft::testing {
namespace {

const std::vector<Precision> kPrecisions = {Precision::highest, Precision::high, Precision::medium};

struct ProductUse {
  std::vector<Tensor> in;
  Attributes attributes;
  Sizes out;  // sizes of the product
};

/// Draws random batch axes for both operands and the result. In an operand, the size of each axis
/// is the full size or 1, or the axis is absent.
void random_batch(Choices& c, Sizes& a, Sizes& b, Sizes& out) {
  for (std::int64_t rank = c.one_of({0, 0, 0, 1, 2}); rank > 0; --rank) {
    const std::int64_t size = c.one_of({0, 1, 2, 2, 3});
    const bool narrow_a = c.chance(0.25), narrow_b = c.chance(0.25);
    if (!a.empty() || c.chance(0.8)) a.push_back(narrow_a ? 1 : size);
    if (!b.empty() || c.chance(0.6)) b.push_back(narrow_b ? 1 : size);
  }
  out = broadcast_sizes(a, b);
}

std::int64_t extent(Choices& c) {
  return c.one_of({0, 1, 1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 31, 33, 48, 65});
}

/// Sets a few elements to special values, which products must propagate correctly.
void sprinkle(Choices& c, Tensor& t) {
  const std::vector<double> odd = {NAN, INFINITY, -INFINITY, 1e-44, 3e38, -0.0, 1e-30};
  for (std::int64_t k = c.within(1, 3); k > 0 && t.numel() > 0; --k) {
    const std::int64_t at = c.within(0, t.numel() - 1);
    if (t.dtype() == DType::f32) t.mutable_data<float>()[at] = static_cast<float>(c.one_of(odd));
    if (t.dtype() == DType::f64) t.mutable_data<double>()[at] = c.one_of(odd);
  }
}

ProductUse random_product(Choices& c, bool may_be_double) {
  ProductUse use;
  Sizes a, b;
  random_batch(c, a, b, use.out);
  const std::int64_t m = extent(c), n = extent(c), k = c.chance(0.1) ? 300 : extent(c);
  const bool ta = c.chance(0.5), tb = c.chance(0.5);
  for (const std::int64_t size : {ta ? k : m, ta ? m : k}) a.push_back(size);
  for (const std::int64_t size : {tb ? n : k, tb ? k : n}) b.push_back(size);
  use.out.push_back(m);
  use.out.push_back(n);
  const DType wide = may_be_double && c.chance(0.3) ? DType::f64 : DType::f32;
  const std::vector<DType> types = {wide, wide, wide, DType::bf16, DType::f16};
  use.in = {c.uniform(a, c.one_of(types)), c.uniform(b, c.one_of(types))};
  if (c.chance(0.15)) sprinkle(c, use.in[c.chance(0.5) ? 0 : 1]);
  use.attributes = {{"transpose_a", ta}, {"transpose_b", tb}};
  return use;
}

/// Returns an operand for steps on a result of sizes `out`: full size, one element per column, or a
/// scalar.
Tensor step_operand(Choices& c, const Sizes& out, DType dtype) {
  switch (c.within(0, 3)) {
    case 0: return c.uniform(out, dtype);
    case 1: return c.uniform({out.back()}, dtype);
    case 2: return c.uniform({1, out.back()}, dtype);
    default: return c.uniform(c.chance(0.5) ? Sizes{} : Sizes{1}, dtype);
  }
}

/// Adds fused steps to a product.
void add_steps(Choices& c, ProductUse& use) {
  const bool is_double = use.in[0].dtype() == DType::f64 || use.in[1].dtype() == DType::f64;
  const DType dtype = is_double ? DType::f64 : DType::f32;
  const auto operand = [&] { use.in.push_back(step_operand(c, use.out, dtype)); };
  const char* program = "";
  switch (c.within(0, 4)) {
    case 0:
      operand();
      program = "%2 = add(%0, %1); %3 = gelu_tanh(%2); return %2, %3";
      break;
    case 1:
      operand(), operand(), operand();
      program = "%4 = add(%0, %1); %5 = mul(%4, %3); %6 = add(%2, %5); return %6";
      break;
    case 2: program = "%1 = relu(%0); %2 = cast(%1, dtype=bf16); return %2"; break;
    case 3:
      use.in.push_back(Tensor::of<std::int64_t>({2}, {c.within(0, 1 << 30), 3}));
      program = "%2 = dropout(%0, %1, rate=0x1p-2, stream=9); return %2";
      break;
    default:
      operand();
      program = "%2 = mul(%0, %0); %3 = sub(%2, %1); %4 = abs(%3); return %3, %4, %2";
      break;
  }
  use.attributes.set("program", std::string(program));
}

/// Checks that a prepacked copy of b gives the same bits.
void check_packed(std::string_view name, const ProductUse& use, Precision precision) {
  BOOST_TEST_CONTEXT("packed: " << use_text(name, use.in, use.attributes)) {
    const auto want = evaluate_at(precision, name, use.in, use.attributes);
    const auto got = evaluate_at(precision, name, use.in, use.attributes, /*constant=*/1);
    for (std::size_t o = 0; o < want.size(); ++o) BOOST_TEST(bitwise_equal(got[o], want[o]));
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(matmul_twin)

BOOST_AUTO_TEST_CASE(random_products_match_the_scalar_model) {
  for_random_cases(120, 10000, [](Choices& c) {
    const ProductUse use = random_product(c, true);
    check_twin("matmul", use.in, use.attributes);
    check_packed("matmul", use, Precision::highest);
  });
}

// Computes the gradients term by term: each product a * b of an output element adds cotangent * b
// to the gradient of a and cotangent * a to the gradient of b.
BOOST_AUTO_TEST_CASE(random_gradients_match_sums_over_terms) {
  for_random_seeds(60, 16000, [](Choices& c) {
    Sizes a, b, batch;
    random_batch(c, a, b, batch);
    const std::int64_t m = c.within(0, 9), n = c.within(0, 9), k = c.within(0, 9);
    const bool ta = c.chance(0.5), tb = c.chance(0.5);
    const Sizes batch_a = a, batch_b = b;
    for (const std::int64_t size : {ta ? k : m, ta ? m : k}) a.push_back(size);
    for (const std::int64_t size : {tb ? n : k, tb ? k : n}) b.push_back(size);
    Sizes out = batch;
    out.push_back(m), out.push_back(n);
    Graph g;
    const Value va = g.input("a", ValueType{DType::f64, Shape(a)});
    const Value vb = g.input("b", ValueType{DType::f64, Shape(b)});
    const Value vg = g.input("g", ValueType{DType::f64, Shape(out)});
    const Value product = matmul(va, vb, {.transpose_a = ta, .transpose_b = tb});
    const auto gradient_values = gradients(sum(product * vg), {va, vb});
    const Tensor x = c.uniform(a, DType::f64), y = c.uniform(b, DType::f64),
                 w = c.uniform(out, DType::f64);
    const auto got =
        evaluate_graph({gradient_values[0], gradient_values[1]}, {{va, x}, {vb, y}, {vg, w}});
    std::vector<double> dx(static_cast<std::size_t>(x.numel())),
        dy(static_cast<std::size_t>(y.numel()));
    for (std::int64_t p = 0; p < num_elements(batch); ++p) {
      const std::int64_t pa = broadcast_position(p, batch_a, batch);
      const std::int64_t pb = broadcast_position(p, batch_b, batch);
      for (std::int64_t i = 0; i < m; ++i) {
        for (std::int64_t j = 0; j < n; ++j) {
          for (std::int64_t q = 0; q < k; ++q) {
            const std::int64_t at_a = pa * m * k + (ta ? q * m + i : i * k + q);
            const std::int64_t at_b = pb * k * n + (tb ? j * k + q : q * n + j);
            const double cotangent = w.at((p * m + i) * n + j);
            dx[static_cast<std::size_t>(at_a)] += cotangent * y.at(at_b);
            dy[static_cast<std::size_t>(at_b)] += cotangent * x.at(at_a);
          }
        }
      }
    }
    BOOST_TEST_CONTEXT(to_string(a) << " and " << to_string(b) << ", transposed " << ta << tb) {
      BOOST_TEST((got[0].sizes() == a));
      BOOST_TEST((got[1].sizes() == b));
      for (std::int64_t i = 0; i < x.numel(); ++i)
        BOOST_REQUIRE_SMALL(got[0].at(i) - dx[static_cast<std::size_t>(i)], 1e-12);
      for (std::int64_t i = 0; i < y.numel(); ++i)
        BOOST_REQUIRE_SMALL(got[1].at(i) - dy[static_cast<std::size_t>(i)], 1e-12);
    }
  });
}

BOOST_AUTO_TEST_CASE(random_products_with_steps_match_the_scalar_model) {
  for_random_cases(80, 11000, [](Choices& c) {
    ProductUse use = random_product(c, true);
    add_steps(c, use);
    check_twin("matmul_fused", use.in, use.attributes);
    check_packed("matmul_fused", use, Precision::highest);
  });
}

BOOST_AUTO_TEST_CASE(random_products_on_every_unit_match_the_scalar_model_at_every_precision) {
  using kernels::Bf16Unit;
  std::uint64_t seed = 12000;
  for (const auto unit :
       {std::optional<Bf16Unit>(), std::optional(Bf16Unit::amx), std::optional(Bf16Unit::dot),
        std::optional(Bf16Unit::emulated_amx), std::optional(Bf16Unit::emulated_dot)}) {
    if (unit && !kernels::bf16_unit_available(*unit)) continue;
    const kernels::ForcedBf16Unit forced(unit);
    BOOST_TEST_CONTEXT((unit ? kernels::bf16_unit_name(*unit) : "multiply-adds")) {
      for_random_seeds(40, seed += 40, [](Choices& c) {
        ProductUse use = random_product(c, false);
        const Precision precision = c.one_of(kPrecisions);
        const bool steps = c.chance(0.3);
        if (steps) add_steps(c, use);
        const char* name = steps ? "matmul_fused" : "matmul";
        BOOST_TEST_CONTEXT(precision_name(precision)) {
          check_twin(name, use.in, use.attributes, precision);
          check_packed(name, use, precision);
        }
      });
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace weft::testing
