// The order of steps and the offsets in the arena.
#include "weft/graph/plan/schedule.h"

#include <boost/test/unit_test.hpp>

#include "weft/core/error.h"
#include "weft/core/random.h"
#include "weft/graph/plan/offsets.h"

namespace weft {
namespace {

// Steps 0..n-1 compute values of 1000 bytes, steps n..2n-1 each reduce one of these values to 10
// bytes, and step 2n reads all results.
ScheduleProblem wide(int n) {
  ScheduleProblem p;
  const ValueId small(n);
  for (int i = 0; i < n; ++i) p.steps.push_back({{}, {ValueId(i)}});
  for (int i = 0; i < n; ++i) p.steps.push_back({{ValueId(i)}, {small + i}});
  ScheduleProblem::Step join;
  for (int i = 0; i < n; ++i) join.reads.push_back(small + i);
  join.writes = {small + n};
  p.steps.push_back(join);
  p.bytes.assign(static_cast<std::size_t>(n), 1000);
  p.bytes.resize(static_cast<std::size_t>(2 * n + 1), 10);
  p.live_out.assign(p.bytes.size(), 0);
  p.live_out.back() = 1;
  return p;
}

std::vector<StepId> given_order(const ScheduleProblem& p) {
  std::vector<StepId> order;
  for (const StepId s : p.steps.ids()) order.push_back(s);
  return order;
}

void check_legal(const ScheduleProblem& p, const std::vector<StepId>& order) {
  BOOST_REQUIRE_EQUAL(order.size(), p.steps.size());
  IdVector<StepId, int> position(order.size(), -1);
  for (std::size_t i = 0; i < order.size(); ++i) position[order[i]] = static_cast<int>(i);
  IdVector<ValueId, int> made(p.bytes.size(), -1);
  for (const StepId s : p.steps.ids()) {
    for (const ValueId v : p.steps[s].writes) made[v] = position[s];
  }
  for (const StepId s : p.steps.ids()) {
    for (const ValueId v : p.steps[s].reads) BOOST_TEST(made[v] < position[s]);
  }
  for (const auto& [a, b] : p.edges) BOOST_TEST(position[a] < position[b]);
}

BOOST_AUTO_TEST_SUITE(scheduling)

BOOST_AUTO_TEST_CASE(scheduling_reduces_peak_memory) {
  const ScheduleProblem p = wide(10);
  BOOST_TEST(peak_bytes(p, given_order(p)) == 10010u);
  const std::vector<StepId> order = schedule(p);
  check_legal(p, order);
  BOOST_TEST(peak_bytes(p, order) == 1100u);
}

BOOST_AUTO_TEST_CASE(scheduling_respects_dependencies) {
  ScheduleProblem p = wide(4);
  p.edges = {{StepId(3), StepId(4)}, {StepId(2), StepId(0)}};
  check_legal(p, schedule(p));
  p.edges = {{StepId(8), StepId(0)}};
  BOOST_CHECK_EXCEPTION(schedule(p), GraphError, [](const GraphError& e) {
    return std::string(e.what()).find("form a cycle") != std::string::npos;
  });
}

BOOST_AUTO_TEST_CASE(scheduling_keeps_the_given_order_if_changing_it_has_no_benefit) {
  ScheduleProblem p;
  for (int i = 0; i < 50; ++i) {
    ScheduleProblem::Step step;
    if (i > 0) step.reads = {ValueId(i - 1)};
    step.writes = {ValueId(i)};
    p.steps.push_back(step);
  }
  p.bytes.assign(50, 8);
  p.live_out.assign(50, 0);
  BOOST_TEST(schedule(p) == given_order(p), boost::test_tools::per_element());
}

// A backward pass. The gradient of each step is read by the next step and by a step for a weight
// gradient, which is streamed. A streamed value needs no memory after its step, so delaying the
// step has no benefit.
BOOST_AUTO_TEST_CASE(streamed_values_are_computed_as_early_as_possible) {
  constexpr int kLayers = 4;
  ScheduleProblem p;
  p.steps.push_back({{}, {ValueId(0)}});
  for (int i = 0; i < kLayers; ++i) p.steps.push_back({{ValueId(i)}, {ValueId(i + 1)}});
  for (int i = 0; i < kLayers; ++i) p.steps.push_back({{ValueId(i)}, {ValueId(kLayers + 1 + i)}});
  p.bytes.assign(kLayers + 1, 10);
  p.bytes.resize(2 * kLayers + 1, 1000);
  p.live_out.assign(p.bytes.size(), 0);
  p.live_out[ValueId(kLayers)] = 1;
  const std::vector<StepId> order = schedule(p);
  check_legal(p, order);
  BOOST_TEST(peak_bytes(p, order) == 1010u);
  for (int i = 0; i < kLayers; ++i) {
    BOOST_TEST(order[static_cast<std::size_t>(1 + 2 * i)].number() == 1 + kLayers + i);
    BOOST_TEST(order[static_cast<std::size_t>(2 + 2 * i)].number() == 1 + i);
  }
}

BOOST_AUTO_TEST_CASE(live_memory_blocks_never_overlap) {
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    const RandomStream random{seed, 0, 0};
    std::vector<MemoryBlock> blocks;
    // The last seeds have more blocks than the quadratic method supports.
    const std::uint64_t count = seed < 18 ? 200 : 9000;
    for (std::uint64_t i = 0; i < count; ++i) {
      const int begin = static_cast<int>(random.word(3 * i) % 100);
      blocks.push_back({random.word(3 * i + 1) % 5000, begin,
                        begin + static_cast<int>(random.word(3 * i + 2) % 10)});
    }
    const std::size_t total = assign_offsets(blocks);
    BOOST_TEST(total >= live_peak(blocks));
    BOOST_TEST(static_cast<double>(total) < 1.3 * static_cast<double>(live_peak(blocks)));
    const std::size_t checked = std::min<std::size_t>(blocks.size(), 1500);
    bool overlap = false;
    for (std::size_t i = 0; i < checked; ++i) {
      const MemoryBlock& a = blocks[i];
      overlap = overlap || a.offset % 64 != 0 || a.offset + a.bytes > total;
      for (std::size_t j = i + 1; j < checked; ++j) {
        const MemoryBlock& b = blocks[j];
        overlap = overlap || (a.begin <= b.end && b.begin <= a.end && a.bytes > 0 && b.bytes > 0 &&
                              a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes);
      }
    }
    BOOST_TEST(!overlap);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
