// Similar names, and lists of names in messages.
#include "weft/core/closest.h"

#include <boost/test/unit_test.hpp>

namespace weft {
namespace {

BOOST_AUTO_TEST_SUITE(closest)

BOOST_AUTO_TEST_CASE(edit_distance_counts_bytes) {
  BOOST_TEST(edit_distance("", "") == 0u);
  BOOST_TEST(edit_distance("abc", "") == 3u);
  BOOST_TEST(edit_distance("kitten", "sitting") == 3u);
  BOOST_TEST(edit_distance("sitting", "kitten") == 3u);
  BOOST_TEST(edit_distance("gtp", "gpt") == 1u);
  BOOST_TEST(edit_distance("wegith", "weight") == 2u);
  BOOST_TEST(edit_distance("ca", "abc") == 3u);  // swapped characters are not edited again
}

BOOST_AUTO_TEST_CASE(the_closest_name_may_differ_in_at_most_half_of_its_length) {
  const std::vector<std::string> known = {"weight", "bias", "net.block.0.weight", "net.norm.gain"};
  BOOST_TEST(closest_name("wieght", known) == "weight");
  BOOST_TEST(closest_name("net.blok.0.weight", known) == "net.block.0.weight");
  BOOST_TEST(closest_name("zzzz", known) == "");
  BOOST_TEST(closest_name("", known) == "");
  BOOST_TEST(closest_name("weight", {}) == "");
  BOOST_TEST(closest_name(std::string(100000, 'w'), known) == "");
}

BOOST_AUTO_TEST_CASE(missing_or_extra_scopes_do_not_count_as_differences) {
  const std::vector<std::string> known = {"weights", "net.norm.gain", "head.bias"};
  BOOST_TEST(closest_name("gain", known) == "net.norm.gain");
  BOOST_TEST(closest_name("model.head.bias", known) == "head.bias");
  BOOST_TEST(did_you_mean("gain", known) == " (did you mean 'net.norm.gain'?)");
  BOOST_TEST(did_you_mean("zzzz", known) == "");
}

BOOST_AUTO_TEST_CASE(long_lists_are_truncated) {
  BOOST_TEST(list_names({}) == "none");
  BOOST_TEST(list_names({"a", "b"}) == "a, b");
  BOOST_TEST(list_names({"a", "b", "c", "d"}, 2) == "a, b and 2 more");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
