// Typed indices.
#include "weft/core/index.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <unordered_set>

namespace weft {
namespace {

using StepId = Id<struct StepTag>;
using ValueId = Id<struct ValueTag>;

template <class A, class B>
concept Comparable = requires(A a, B b) {
  a == b;
};
template <class A, class B>
concept Ordered = requires(A a, B b) {
  a < b;
};
template <class A, class B>
concept Addable = requires(A a, B b) {
  a + b;
};
template <class V, class I>
concept Subscripted = requires(V v, I i) {
  v[i];
};
template <class V, class I>
concept Checked = requires(V v, I i) {
  v.at(i);
};

// Code that must not compile: different types of indices cannot be mixed, and plain numbers must be
// converted to Ids explicitly.
static_assert(Comparable<StepId, StepId> && Ordered<StepId, StepId>);
static_assert(!Comparable<StepId, ValueId> && !Ordered<StepId, ValueId>);
static_assert(!Comparable<StepId, int> && !Ordered<StepId, int>);
static_assert(!std::is_constructible_v<StepId, ValueId> && !std::is_assignable_v<StepId&, ValueId>);
static_assert(!std::is_convertible_v<int, StepId> && !std::is_convertible_v<StepId, int>);
static_assert(!std::is_constructible_v<StepId, double>);
static_assert(std::is_constructible_v<StepId, int> && std::is_constructible_v<StepId, std::size_t>);
static_assert(Addable<StepId, int> && !Addable<StepId, StepId> && !Addable<StepId, ValueId>);
using Steps = IdVector<StepId, std::string>;
static_assert(Subscripted<Steps, StepId> && Checked<Steps, StepId>);
static_assert(!Subscripted<Steps, ValueId> && !Subscripted<Steps, int> &&
              !Subscripted<Steps, std::size_t> && !Checked<Steps, ValueId>);
static_assert(sizeof(StepId) == sizeof(int));

BOOST_AUTO_TEST_SUITE(indices)

BOOST_AUTO_TEST_CASE(a_default_id_is_undefined) {
  StepId id;
  BOOST_TEST(!id.defined());
  BOOST_TEST(id.number() == -1);
  BOOST_TEST((id == StepId(-1)));
  ++id;
  BOOST_TEST(id.defined());
  BOOST_TEST((id == StepId(0)));
  BOOST_TEST(id.index() == 0u);
}

BOOST_AUTO_TEST_CASE(ids_are_ordered_counted_and_hashed) {
  const StepId a(3), b(std::size_t{7});
  BOOST_TEST((a < b));
  BOOST_TEST((std::max(a, b) == b));
  BOOST_TEST((StepId() < StepId(0)));
  BOOST_TEST((b - a) == 4);
  BOOST_TEST((a + 4 == b));
  BOOST_TEST((b - 4 == a));
  const std::unordered_set<StepId> set = {a, b, StepId(3)};
  BOOST_TEST(set.size() == 2u);
  BOOST_TEST(set.contains(a));
}

BOOST_AUTO_TEST_CASE(an_index_vector_numbers_its_elements) {
  IdVector<StepId, std::string> steps;
  BOOST_TEST((steps.end_id() == StepId(0)));
  for (const StepId id : steps.ids()) BOOST_FAIL(id.number());
  const StepId first = steps.push_back("first"), second = steps.push_back("second");
  BOOST_TEST((first == StepId(0) && second == StepId(1)));
  BOOST_TEST(steps[second] == "second");
  steps[second] += "!";
  std::string all;
  for (const StepId id : steps.ids()) all += std::to_string(id.number()) + steps[id];
  BOOST_TEST(all == "0first1second!");
  all.clear();
  for (const std::string& step : steps) all += step;
  BOOST_TEST(all == "firstsecond!");
  BOOST_TEST(steps.contains(second));
  BOOST_TEST(!steps.contains(steps.end_id()));
  BOOST_TEST(!steps.contains(StepId()));
  BOOST_CHECK_THROW(steps.at(StepId(2)), std::out_of_range);
  BOOST_CHECK_THROW(steps.at(StepId()), std::out_of_range);
  BOOST_TEST((steps == IdVector<StepId, std::string>{"first", "second!"}));
  steps.resize(3, "more");
  BOOST_TEST(steps.back() == "more");
  BOOST_TEST((IdVector<StepId, int>(4, 5).size() == 4u));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
