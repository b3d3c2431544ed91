#include "weft/core/shape.h"

#include <boost/test/unit_test.hpp>
#include <limits>
#include <string>

#include "weft/core/error.h"
#include "weft/tests/support/messages.h"

using namespace weft;

namespace {

constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();

using weft::testing::says_exactly;

SymbolPtr symbol(const char* name) { return std::make_shared<Symbol>(Symbol{name}); }

}  // namespace

BOOST_AUTO_TEST_SUITE(shape)

BOOST_AUTO_TEST_CASE(element_counts_are_computed_and_checked) {
  BOOST_TEST(num_elements({}) == 1);
  BOOST_TEST(num_elements({2, 3, 4}) == 24);
  BOOST_TEST(num_elements({2, 0, 4}) == 0);
  BOOST_TEST(num_elements({kLargest, kLargest, 0}) == 0);
  BOOST_CHECK_EXCEPTION(num_elements({2, -3}), ShapeError,
                        says_exactly("size -3 of axis 1 of [2, -3] is negative"));
  BOOST_CHECK_EXCEPTION(num_elements({0, -3}), ShapeError,
                        says_exactly("size -3 of axis 1 of [0, -3] is negative"));
  BOOST_CHECK_EXCEPTION(
      num_elements({kLargest, 2}), ShapeError,
      says_exactly("the number of elements of [9223372036854775807, 2] overflows 64 bits"));
}

BOOST_AUTO_TEST_CASE(strides_are_row_major) {
  BOOST_TEST(row_major_strides({}) == Sizes{}, boost::test_tools::per_element());
  BOOST_TEST(row_major_strides({2, 3, 4}) == (Sizes{12, 4, 1}), boost::test_tools::per_element());
  BOOST_CHECK_EXCEPTION(
      row_major_strides({0, kLargest, 2}), ShapeError,
      says_exactly("the strides of [0, 9223372036854775807, 2] overflow 64 bits"));
}

BOOST_AUTO_TEST_CASE(sizes_are_printed_as_text) {
  BOOST_TEST(to_string(Sizes{}) == "[]");
  BOOST_TEST(to_string(Sizes{2, 3}) == "[2, 3]");
}

BOOST_AUTO_TEST_CASE(axes_are_normalised_and_checked) {
  BOOST_TEST(normalize_axis(0, 3) == 0);
  BOOST_TEST(normalize_axis(-1, 3) == 2);
  BOOST_TEST(normalize_axis(-3, 3) == 0);
  BOOST_CHECK_EXCEPTION(normalize_axis(3, 3), ShapeError,
                        says_exactly("axis 3 is out of range for rank 3: it must be in -3..2"));
  BOOST_CHECK_EXCEPTION(normalize_axis(-4, 3), ShapeError,
                        says_exactly("axis -4 is out of range for rank 3: it must be in -3..2"));
  BOOST_CHECK_EXCEPTION(normalize_axis(0, 0), ShapeError,
                        says_exactly("axis 0 is out of range: a scalar has no axes"));
}

BOOST_AUTO_TEST_CASE(sizes_are_broadcast_as_in_numpy) {
  auto check = [](const Sizes& a, const Sizes& b, const Sizes& wanted) {
    BOOST_TEST(broadcast_sizes(a, b) == wanted, boost::test_tools::per_element());
    BOOST_TEST(broadcast_sizes(b, a) == wanted, boost::test_tools::per_element());
  };
  check({}, {}, {});
  check({}, {2, 3}, {2, 3});
  check({3}, {2, 3}, {2, 3});
  check({2, 1}, {1, 3}, {2, 3});
  check({5, 1, 4}, {7, 4}, {5, 7, 4});
  check({0}, {1}, {0});
  check({2, 0}, {1, 1}, {2, 0});
  BOOST_CHECK_EXCEPTION(
      broadcast_sizes({2, 3}, {5, 4, 3}), ShapeError,
      says_exactly(
          "cannot broadcast [2, 3] with [5, 4, 3]: axis -2 has size 2 in one and 4 in the other "
          "(sizes must be equal, or one of them must be 1)"));
  BOOST_CHECK_THROW(broadcast_sizes({0}, {2}), ShapeError);
}

BOOST_AUTO_TEST_CASE(symbolic_shapes_are_supported) {
  const SymbolPtr batch = symbol("batch"), seq = symbol("seq");
  const Shape s{Dim(batch), 2 * Dim(seq), 64};
  BOOST_TEST(s.rank() == 3);
  BOOST_TEST(s.str() == "[batch, 2*seq, 64]");
  BOOST_TEST(s.numel().str() == "128*batch*seq");
  BOOST_TEST(!s.is_constant());
  BOOST_TEST((s == Shape{Dim(batch), Dim(seq) + Dim(seq), 64}));
  BOOST_TEST(s.hash() == (Shape{Dim(batch), Dim(seq) + Dim(seq), 64}).hash());
  BOOST_TEST(!(s == Shape{Dim(batch), Dim(seq), 64}));
  BOOST_TEST(!(s == Shape{Dim(batch), 2 * Dim(seq)}));

  Bindings b;
  b.bind(batch, 8);
  b.bind(seq, 16);
  BOOST_TEST(s.evaluate(b) == (Sizes{8, 32, 64}), boost::test_tools::per_element());
  const Shape halved = s.substitute([&](const SymbolPtr& x) -> std::optional<Dim> {
    if (x == seq) return Dim(3);
    return std::nullopt;
  });
  BOOST_TEST(halved.str() == "[batch, 6, 64]");

  BOOST_CHECK_EXCEPTION(
      s.constant(), ShapeError,
      says_exactly(
          "the shape [batch, 2*seq, 64] must be constant, but axis 0 has the symbolic size batch"));
  BOOST_TEST(Shape(Sizes{2, 3}).constant() == (Sizes{2, 3}), boost::test_tools::per_element());
  BOOST_TEST(Shape(Sizes{2, 3}).is_constant());
  BOOST_TEST(Shape().numel().str() == "1");
  BOOST_CHECK_EXCEPTION((Shape{Dim(batch), Dim(seq) - 20}.evaluate(b)), ShapeError,
                        says_exactly("axis 1 of [batch, seq - 20] would have the negative size -4 "
                                     "(seq - 20 for batch=8, seq=16)"));
}

BOOST_AUTO_TEST_SUITE_END()
