// Checks that two lists of tensors are equal, bit for bit.
#pragma once

#include <boost/test/unit_test.hpp>

#include "weft/graph/engine/results.h"
#include "weft/testing/close.h"

namespace weft::testing {

inline void check_same(const NamedTensors& found, const NamedTensors& expected) {
  BOOST_REQUIRE(found.size() == expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    BOOST_TEST_CONTEXT(found[i].first) {
      BOOST_TEST(expect_same_bits(found[i].second, expected[i].second));
    }
  }
}

}  // namespace weft::testing
