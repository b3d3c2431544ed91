// matmul at every precision on every unit, through the phases that all products go through.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstring>

#include "weft/ops/kernels/split_engine.h"
#include "weft/ops/kernels/split_table.h"
#include "weft/ops/op.h"
#include "weft/ops/sample_data.h"
#include "weft/tests/ops/engine_product.h"
#include "weft/tests/reference/matmul.h"
#include "weft/tests/reference/split_matmul.h"

namespace weft {
namespace {

using kernels::Bf16Unit;

struct Product {
  Sizes a, b;
  bool ta = false, tb = false;
};

// Runs the op's kernel at a precision, last chunks first, over dirty scratch.
Tensor matmul(const Product& p, const Tensor& a, const Tensor& b, Precision precision,
              const Sizes& sizes) {
  const OpRecord& op = builtin_ops()->at("matmul");
  KernelRequest request;
  request.attributes = op.complete({{"transpose_a", p.ta}, {"transpose_b", p.tb}});
  request.inputs = {{a.dtype(), a.sizes()}, {b.dtype(), b.sizes()}};
  request.outputs = {{DType::f32, sizes}};
  request.precision = precision;
  const Kernel kernel = op.kernel(request);
  Tensor c = Tensor::empty(DType::f32, sizes);
  const auto shared = Buffer::allocate(kernel.shared_scratch);
  const auto slot = Buffer::allocate(kernel.slot_scratch);
  std::memset(shared->data(), 0xA5, shared->bytes());
  const void* inputs[] = {a.raw(), b.raw()};
  void* outputs[] = {c.mutable_raw()};
  for (const Phase& phase : kernel.phases) {
    for (std::int64_t chunk = phase.chunks; chunk-- > 0;) {
      std::memset(slot->data(), 0x5A, slot->bytes());
      phase.body({inputs, outputs, shared->data(), slot->data()}, chunk);
    }
  }
  return c;
}

// Largest error relative to |a b| that a precision may have (split_panel.h), sums of floats aside.
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
      const kernels::ForcedSplitUnit forced(unit);
      if (kernels::choose_split_engine(precision, 64, 64, 64) == nullptr) continue;
      BOOST_TEST_CONTEXT(kernels::bf16_unit_name(unit) << " at " << precision_name(precision)) {
        body(precision);
      }
    }
  }
}

BOOST_AUTO_TEST_SUITE(split_driver)

BOOST_AUTO_TEST_CASE(batches_and_transposes_at_every_precision) {
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
                              {{250, 300}, {300, 530}},   // tiles, both operands shared
                              {{70, 2100}, {2100, 40}},   // a depth that is cut into parts
                              {{1300, 130}, {130, 100}},  // strips
                              {{0, 4, 5}, {5, 6}},
                              {{4, 0}, {0, 6}}};
  for_each_unit_and_precision([&](Precision precision) {
    for (const Product& p : products) {
      const Tensor a = sample_uniform(p.a, 1), b = sample_uniform(p.b, 2);
      const Tensor expected = testing::reference_matmul(a, b, p.ta, p.tb);
      const Tensor c = matmul(p, a, b, precision, expected.sizes());
      const std::int64_t k = a.size(p.ta ? -2 : -1);
      const double relative = left_out(precision) + static_cast<double>(k + 20) * 0x1p-24;
      for (std::int64_t i = 0; i < c.numel(); ++i) {
        // |a| and |b| are below 1.5.
        BOOST_REQUIRE_SMALL(c.at(i) - expected.at(i), relative * 2.25 * static_cast<double>(k));
      }
    }
  });
}

// Cutting C into tiles and packing in parts changes no bit (cutting the depth into parts would).
BOOST_AUTO_TEST_CASE(the_driver_gives_the_bits_of_the_engine) {
  for_each_unit_and_precision([&](Precision precision) {
    const kernels::GemmEngine& engine = *kernels::choose_split_engine(precision, 64, 64, 64);
    for (const auto& [m, n, k] : {std::tuple{40, 50, 70}, {250, 530, 300}, {1300, 100, 130}}) {
      Tensor a = sample_uniform({m, k}, 3), b = sample_uniform({k, n}, 4);
      a.mutable_data<float>()[7 * k + 3] = 1e-38f;
      b.mutable_data<float>()[5 * n + 33] = INFINITY;
      const Tensor whole = testing::engine_product(engine, a, b);
      const Tensor c = matmul({{}, {}}, a, b, precision, {m, n});
      BOOST_TEST(std::memcmp(c.raw(), whole.raw(), c.bytes()) == 0, m << " " << n << " " << k);
    }
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
