// The complexity table for sequence layers: cost and maximum path length.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <vector>

#include "weft/models/zoo/experiments/sequence_layers.h"

namespace weft::zoo {
BOOST_AUTO_TEST_SUITE(sequence_layer)
namespace {

std::int64_t steps_of(std::int64_t distance, std::int64_t step) {
  return (distance + step - 1) / step;
}

BOOST_AUTO_TEST_CASE(the_exponent_of_a_power_law_is_fitted) {
  const std::vector<double> x = {1, 2, 4, 8}, squares = {3, 12, 48, 192}, same = {7, 7, 7, 7};
  BOOST_TEST(std::abs(fitted_exponent(x, squares) - 2) < 1e-12);
  BOOST_TEST(std::abs(fitted_exponent(x, same)) < 1e-12);
}

BOOST_AUTO_TEST_CASE(costs_scale_with_length_and_width_as_predicted) {
  BOOST_REQUIRE(sequence_layers().size() == 4U);
  for (const SequenceLayer& layer : sequence_layers()) {
    BOOST_TEST_CONTEXT(layer.name) {
      const double few = layer_flops(layer, 128, 64), more = layer_flops(layer, 256, 64),
                   wide = layer_flops(layer, 128, 128);
      BOOST_TEST(few > 0);
      BOOST_TEST(std::abs(std::log2(more / few) - layer.by_n) < 0.1);
      BOOST_TEST(std::abs(std::log2(wide / few) - layer.by_d) < 0.1);
    }
  }
  BOOST_TEST(layer_seconds(sequence_layers()[0], 16, 4) >= 0);
  // Attention has two products (scores and weighted values) for each pair of a query and a visible
  // key.
  BOOST_TEST(layer_flops(sequence_layers()[0], 100, 8) == 2 * 100 * 100 * (8 + 8));
  BOOST_TEST(layer_flops(sequence_layers()[3], 100, 8) == 2 * 100 * kWindow * (8 + 8));
}

BOOST_AUTO_TEST_CASE(path_lengths_between_the_sequence_ends_match_the_theory) {
  const std::vector<SequenceLayer>& layers = sequence_layers();
  for (const std::int64_t n : {17, 32, 49}) {
    BOOST_TEST_CONTEXT(n << " tokens") {
      BOOST_TEST(path_length(layers[0], n) == 1);
      BOOST_TEST(path_length(layers[1], n) == n);
      BOOST_TEST(path_length(layers[2], n) == steps_of(n - 1, kKernel - 1));
      BOOST_TEST(path_length(layers[3], n) == steps_of(n - 1, kWindow - 1));
    }
  }
}

}  // namespace
BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft::zoo
