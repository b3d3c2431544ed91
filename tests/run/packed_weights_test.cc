// Compares the cache of packed weights (by variable, version and layout) with a model of its
// contents.
#include "weft/graph/engine/packed_weights.h"

#include <boost/test/unit_test.hpp>
#include <cstring>
#include <map>
#include <random>
#include <set>

namespace weft {
namespace {

BOOST_AUTO_TEST_SUITE(packed_weights)

BOOST_AUTO_TEST_CASE(get_returns_the_requested_version_and_layout) {
  struct Kept {
    std::uint64_t version = 0;
    std::set<std::string> layouts;
  };
  const std::string names[] = {"up", "down"}, layouts[] = {"rows", "columns", "panels"};
  PackedWeights packed;
  // The expected contents.
  std::map<std::string, Kept> kept;
  std::mt19937 random(5);
  const auto below = [&](std::size_t n) { return random() % n; };
  std::map<std::string, std::uint64_t> newest = {{"up", 3}, {"down", 3}};
  for (int i = 0; i < 4000; ++i) {
    const std::string& name = names[below(2)];
    if (below(8) == 0) {
      // A new value discards the copies of the variable, but a reader of the old value may still be
      // packing it.
      ++newest[name];
      packed.drop(name);
      kept.erase(name);
    }
    const std::uint64_t version = newest[name] - below(4);
    const std::string& layout = layouts[below(3)];
    const std::size_t bytes = 16 * (1 + layout.size());
    const std::string wanted = name + std::to_string(version) + layout;
    bool made = false;
    const auto copy = packed.get(name, version, layout, bytes, [&](std::byte* to) {
      made = true;
      std::memset(to, 0, bytes);
      std::memcpy(to, wanted.data(), wanted.size());
    });
    BOOST_TEST(copy->bytes() == bytes);
    BOOST_REQUIRE_EQUAL(reinterpret_cast<const char*>(copy->data()), wanted);

    const auto before = kept.find(name);
    const bool there = before != kept.end() && before->second.version == version &&
                       before->second.layouts.contains(layout);
    BOOST_TEST(made == !there);
    if (before == kept.end() || before->second.version < version) kept[name] = {version, {}};
    if (kept[name].version == version) kept[name].layouts.insert(layout);
    std::size_t all = 0;
    for (const std::string& n : names) {
      std::size_t expected = 0;
      for (const std::string& l : kept[n].layouts) expected += 16 * (1 + l.size());
      BOOST_TEST(packed.bytes(n) == expected);
      all += expected;
    }
    BOOST_TEST(packed.bytes() == all);
    std::erase_if(kept, [](const auto& entry) { return entry.second.layouts.empty(); });
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
