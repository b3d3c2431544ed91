#include <boost/test/unit_test.hpp>
#include <cmath>

#include "weft/ops/op.h"
#include "weft/testing/simd_targets.h"
#include "weft/tests/samples/sample_data.h"

namespace weft {
namespace {

void check(const Tensor& x, const Tensor& positions, const Attributes& attributes,
           double tolerance) {
  const Tensor y = evaluate_op(builtin_ops()->at("rope"), {x, positions}, attributes)[0];
  const std::int64_t heads = x.size(1), length = x.size(2), width = x.size(3);
  const std::int64_t rotary = attributes.integer("rotary_dim");
  const bool adjacent = attributes.flag("adjacent");
  for (std::int64_t row = 0; row < x.numel() / width; ++row) {
    const std::int64_t b = row / length / heads, l = row % length;
    const double position = positions.at(positions.rank() == 2 ? b * length + l : l);
    for (std::int64_t d = 0; d < width; ++d) {
      double expected = x.at(row * width + d);
      if (d < rotary) {
        const std::int64_t j = adjacent ? d / 2 : d % (rotary / 2);
        const bool second = adjacent ? d % 2 == 1 : d >= rotary / 2;
        const double a = x.at(row * width + (adjacent ? 2 * j : j));
        const double c = x.at(row * width + (adjacent ? 2 * j + 1 : j + rotary / 2));
        double angle =
            position * std::pow(attributes.real("base"),
                                -2.0 * static_cast<double>(j) / static_cast<double>(rotary));
        if (attributes.flag("inverse")) angle = -angle;
        expected = second ? c * std::cos(angle) + a * std::sin(angle)
                          : a * std::cos(angle) - c * std::sin(angle);
      }
      BOOST_REQUIRE_SMALL(y.at(row * width + d) - expected, tolerance);
    }
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(rope_op)

BOOST_AUTO_TEST_CASE(rope_matches_its_formula_on_every_simd_target) {
  testing::for_each_simd_target([](const char*) {
    for (const OpSample& s : builtin_ops()->at("rope").samples()) {
      check(s.inputs[0], s.inputs[1], s.attributes, 1e-6);
      check(s.inputs[0].to(DType::f64), s.inputs[1], s.attributes, 1e-14);
    }
    for (const bool adjacent : {false, true}) {
      check(sample_uniform({2, 3, 700, 70}, 1), sample_indices({2, 700}, 2, 100000),
            {{"rotary_dim", std::int64_t{66}},
             {"base", 1e4},
             {"adjacent", adjacent},
             {"inverse", false}},
            1e-6);
    }
  });
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
