// Timelines of runs (Trace).
#include "weft/graph/engine/trace.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <map>
#include <set>

#include "weft/core/random_tensors.h"
#include "weft/graph/control/scan.h"
#include "weft/graph/functions.h"
#include "weft/graph/run/session.h"
#include "weft/tests/support/more_threads.h"
#include "weft/tests/support/timeline.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(traces)
namespace {

using testing::Timeline;
using testing::TimelineSlice;

/// Two chains of products that can run at the same time.
struct TwoChains {
  Graph g;
  Program program{"chains"};
  Tensor feed = normal_tensor({64, 256}, 1);

  TwoChains() {
    const Value x = g.input("x", DType::f32, {64, 256});
    const Variable w = g.variable("w", DType::f32, {256, 256});
    Value a = x, b = x + 1;
    for (int i = 0; i < 3; ++i) {
      a = tanh(matmul(a, w));
      b = exp(matmul(b, w) * 0.01);
    }
    program.output("y", sum(a * b));
  }
};

BOOST_AUTO_TEST_CASE(slices_are_nested_and_sum_up_to_the_runs) {
  const testing::MoreThreads more;
  TwoChains chains;
  for (const int threads : {1, 3}) {
    BOOST_TEST_CONTEXT(threads << " threads") {
      Trace trace;
      Session session(chains.g, {.threads = threads, .trace = &trace});
      for (int i = 0; i < 4; ++i) session.run(chains.program, {{"x", chains.feed}});
      BOOST_TEST(!trace.truncated());
      const Timeline timeline(trace.json());
      BOOST_TEST(timeline.processes.at(0) == "rank 0");
      BOOST_TEST(testing::check_runs(timeline.named("session 1")) == 4);
      testing::check_workers(timeline, "session 1");
      // Every chunk of every run is on the timeline exactly once.
      const auto plan = session.plan(chains.program, {{"x", chains.feed.sizes()}});
      std::map<std::string, std::int64_t> expected, found;
      for (const StepId s : plan->steps.ids()) {
        for (const Phase& phase : plan->steps[s].kernel.phases)
          expected[plan->step_name(s)] += 4 * std::max<std::int64_t>(phase.chunks, 0);
      }
      std::set<std::string> workers;
      for (const auto& [track, slices] : timeline.tracks) {
        if (!timeline.names.at(track).starts_with("session 1: worker")) continue;
        workers.insert(timeline.names.at(track));
        for (const TimelineSlice& slice : slices) {
          found[slice.name] += slice.arguments["chunks"].get<std::int64_t>();
          BOOST_TEST(slice.category == "chains");
          BOOST_TEST(slice.arguments["where"].get<std::string>().find("trace_test.cc") !=
                     std::string::npos);
        }
      }
      BOOST_TEST((found == expected));
      BOOST_TEST(workers.contains("session 1: worker 0"));
      BOOST_TEST(workers.size() <= static_cast<std::size_t>(threads));
      // There is one slice per wave and run.
      const auto& slices = timeline.named("session 1");
      BOOST_TEST(std::count_if(slices.begin(), slices.end(), [](const TimelineSlice& s) {
                   return s.name.starts_with("wave ");
                 }) == 4 * static_cast<std::ptrdiff_t>(plan->waves.size()));
    }
  }
}

BOOST_AUTO_TEST_CASE(the_memory_in_use_is_that_of_the_plan) {
  TwoChains chains;
  Trace trace;
  Session session(chains.g, {.threads = 1, .trace = &trace});
  session.run(chains.program, {{"x", chains.feed}});
  const MemoryReport memory = session.plan(chains.program, {{"x", chains.feed.sizes()}})->memory();
  const Timeline timeline(trace.json());
  const auto& counter = timeline.counters.at({0, "session 1: bytes in use"});
  std::size_t most = 0;
  for (const auto& [at, bytes] : counter) most = std::max(most, bytes);
  BOOST_TEST(most == memory.live_peak);
  BOOST_TEST(most <= memory.arena);
  BOOST_TEST(counter.back().second == 0U);
  const TimelineSlice& run = timeline.named("session 1").front();
  BOOST_TEST(counter.back().first == run.end);
}

BOOST_AUTO_TEST_CASE(loops_show_the_waves_of_their_bodies) {
  Graph g;
  const Value x = g.input("x", DType::f32, {5, 8}), start = g.input("start", DType::f32, {8});
  const ScanResult loop = scan(g, {start}, {x}, {}, [&](Graph&, const ScanElements& in) {
    const Value next = tanh(in.carries[0] + in.elements[0]);
    return ScanStep{{next}, {}};
  });
  Trace trace;
  Session session(g, {.threads = 1, .trace = &trace});
  session.run(
      Program("loop").output("y", loop.carries[0] * 2),
      {{"x", Tensor::zeros(DType::f32, {5, 8})}, {"start", Tensor::zeros(DType::f32, {8})}});
  const Timeline timeline(trace.json());
  const auto& slices = timeline.named("session 1");
  BOOST_TEST(testing::check_runs(slices) == 1);
  testing::check_workers(timeline, "session 1");
  // Each of the five iterations computes the tanh in a wave inside of the wave of the loop.
  const auto& worker = timeline.named("session 1: worker 0");
  BOOST_TEST(std::count_if(worker.begin(), worker.end(),
                           [](const TimelineSlice& s) { return s.category != "loop"; }) == 5);
  // The memory of the body is part of the memory of the loop, so only outer waves are counted.
  const auto outer = std::count_if(slices.begin(), slices.end(), [](const TimelineSlice& s) {
    return s.category == "loop" && s.name.starts_with("wave ");
  });
  BOOST_TEST(timeline.counters.at({0, "session 1: bytes in use"}).size() ==
             static_cast<std::size_t>(outer) + 1);
}

BOOST_AUTO_TEST_CASE(only_the_chosen_runs_are_recorded) {
  TwoChains chains;
  Trace trace({.first = 2, .last = 3});
  Session session(chains.g, {.trace = &trace}), other(chains.g, {.trace = &trace});
  session.run(chains.program, {{"x", chains.feed}});
  BOOST_TEST(trace.empty());
  session.run(chains.program, {{"x", chains.feed}});
  other.run(chains.program, {{"x", chains.feed}});
  session.run(chains.program, {{"x", chains.feed}});
  const Timeline timeline(trace.json());
  BOOST_TEST(testing::check_runs(timeline.named("session 1")) == 1);
  BOOST_TEST(testing::check_runs(timeline.named("session 2")) == 1);
}

BOOST_AUTO_TEST_CASE(announced_steps_consist_of_several_runs) {
  TwoChains chains;
  Trace trace({.first = 2, .last = 2});
  Session session(chains.g, {.trace = &trace});
  for (int step = 1; step <= 3; ++step) {
    trace.begin_step(step);
    const double begin = Trace::now();
    trace.slice("wait", begin, Trace::now());
    for (int i = 0; i < 2; ++i) session.run(chains.program, {{"x", chains.feed}});
    trace.end_step();
    session.run(chains.program, {{"x", chains.feed}});  // not part of a step
  }
  const Timeline timeline(trace.json());
  BOOST_TEST(testing::check_runs(timeline.named("session 1")) == 2);
  const auto& steps = timeline.named("steps");
  BOOST_TEST_REQUIRE(steps.size() == 2U);
  BOOST_TEST(steps[0].name == "step 2");
  BOOST_TEST(steps[1].name == "wait");
  for (const TimelineSlice& run : timeline.named("session 1")) BOOST_TEST(steps[0].contains(run));
}

BOOST_AUTO_TEST_CASE(ranks_are_processes_with_a_common_origin) {
  TwoChains chains;
  Trace first, second;
  for (Trace* trace : {&first, &second}) {
    Session session(chains.g, {.trace = trace});
    session.run(chains.program, {{"x", chains.feed}});
  }
  const Timeline timeline(Trace::json({first.events({.rank = 0, .origin = first.start()}), "",
                                       second.events({.rank = 2, .origin = first.start()})}));
  BOOST_TEST(timeline.processes.at(2) == "rank 2");
  // The second run began after the end of the first one.
  BOOST_TEST(timeline.named("session 1", 0).back().end <=
             timeline.named("session 1", 2).front().begin);
}

BOOST_AUTO_TEST_CASE(names_are_escaped) {
  Graph g;
  const Value x = g.input("x", DType::f32, {4});
  const Value y = x * 2;
  g.set_name("a \"b\" \\", y);
  Trace trace;
  Session session(g, {.passes = false, .trace = &trace});
  session.run(Program("p\n\"q\"").output("y", y), {{"x", Tensor::zeros(DType::f32, {4})}});
  const Timeline timeline(trace.json());
  BOOST_TEST(timeline.named("session 1").front().name == "p\n\"q\"");
  bool found = false;
  for (const TimelineSlice& slice : timeline.named("session 1: worker 0"))
    found = found || slice.name.find("a \"b\" \\") != std::string::npos;
  BOOST_TEST(found);
}

BOOST_AUTO_TEST_CASE(tracing_changes_no_results) {
  const testing::MoreThreads more;
  TwoChains chains;
  Trace trace;
  Session plain(chains.g, {.seed = 1, .threads = 3});
  Session traced(chains.g, {.seed = 1, .threads = 3, .trace = &trace});
  const float y = plain.run(chains.program, {{"x", chains.feed}})["y"].item<float>();
  BOOST_TEST(traced.run(chains.program, {{"x", chains.feed}})["y"].item<float>() == y);
}

BOOST_AUTO_TEST_CASE(failed_runs_leave_a_valid_timeline) {
  Graph g;
  const Value table = g.input("table", DType::f32, {4, 2});
  const Value index = g.input("index", DType::i64, {1});
  const Program program = Program("p").output("y", take(table * 2, index, 0));
  Trace trace;
  Session session(g, {.trace = &trace});
  const auto run = [&](std::int64_t i) {
    session.run(program, {{"table", Tensor::zeros(DType::f32, {4, 2})},
                          {"index", Tensor::of<std::int64_t>({1}, {i})}});
  };
  BOOST_CHECK_THROW(run(7), DataError);
  run(1);
  const Timeline timeline(trace.json());
  BOOST_TEST(testing::check_runs(timeline.named("session 1")) == 1);
}

}  // namespace
BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
