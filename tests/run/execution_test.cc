// Execution of plans: equal bits for any number of workers, poison and shuffle modes, profiles, and
// deep graphs.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>

#include "weft/core/error.h"
#include "weft/core/random.h"
#include "weft/graph/control/scan.h"
#include "weft/graph/functions.h"
#include "weft/graph/plan/specialise.h"
#include "weft/graph/run/session.h"
#include "weft/tests/run/engine_graphs.h"
#include "weft/tests/support/more_threads.h"

namespace weft {
namespace {

using testing::engine_add;
using testing::engine_ops;
using testing::engine_scale;
using testing::engine_sum;

// A random graph of adds, scales and sums with several variables, some of which are updated with
// each other's values.
struct RandomGraph {
  Graph g{engine_ops()};
  Program program{"random"};

  explicit RandomGraph(std::uint64_t seed) {
    const RandomStream random{seed, 0, 0};
    std::uint64_t drawn = 0;
    const auto below = [&](std::size_t n) {
      return static_cast<std::size_t>(random.word(drawn++) % n);
    };
    const std::vector<std::string> lengths = {"n", "k"};
    std::vector<std::vector<Value>> values(2);
    std::vector<std::vector<Variable>> variables(2);
    for (std::size_t s = 0; s < 2; ++s) {
      const std::int64_t size = s == 0 ? 1000 : 77;
      values[s].push_back(g.input("x" + lengths[s], DType::f32, {size}));
      for (int i = 0; i < 4; ++i) {
        variables[s].push_back(g.variable(lengths[s] + std::to_string(i), DType::f32, {size},
                                          {.initializer = Initializer::normal(1)}));
        values[s].push_back(variables[s].back());
      }
    }
    std::vector<Value> scalars;
    for (int i = 0; i < 60; ++i) {
      const std::size_t s = below(2);
      const Value a = values[s][below(values[s].size())], b = values[s][below(values[s].size())];
      switch (below(4)) {
        case 0: scalars.push_back(engine_sum(a)); break;
        case 1: values[s].push_back(engine_scale(a, 0.5)); break;
        default: values[s].push_back(engine_scale(engine_add(a, b), 0.4)); break;
      }
    }
    for (std::size_t i = 0; i < scalars.size() && i < 5; ++i) {
      program.output("s" + std::to_string(i), scalars[below(scalars.size())]);
    }
    program.output("leaf", values[0][below(values[0].size())]);
    for (int i = 0; i < 4; ++i) {
      const std::size_t s = below(2);
      program.output("v" + std::to_string(i), values[s][below(values[s].size())]);
    }
    for (std::size_t s = 0; s < 2; ++s) {
      for (const Variable& v : variables[s]) {
        if (below(4) > 0) program.update(v, values[s][below(values[s].size())]);
      }
    }
  }

  // Returns all outputs and variables after three runs.
  std::vector<Tensor> run(const SessionOptions& options,
                          Workers::Statistics* statistics = nullptr) {
    Session session(g, options);
    std::vector<Tensor> all;
    for (int i = 0; i < 3; ++i) {
      const NamedTensors feeds = {{"xn", Tensor::full(DType::f32, {1000}, 0.1 * i)},
                                  {"xk", Tensor::full(DType::f32, {77}, 0.3 * i)}};
      for (const auto& [name, tensor] : session.run(program, feeds)) all.push_back(tensor);
    }
    for (const std::string& name : session.store()->names()) all.push_back(session.value(name));
    if (statistics != nullptr) *statistics = session.worker_statistics();
    return all;
  }
};

void check_equal(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  BOOST_REQUIRE_EQUAL(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    BOOST_TEST(bitwise_equal(a[i], b[i]), "tensor " << i << " differs");
  }
}

BOOST_AUTO_TEST_SUITE(execution)

BOOST_AUTO_TEST_CASE(bits_do_not_depend_on_the_number_of_workers) {
  const testing::MoreThreads more;
  int max_slots = 0;
  std::int64_t chunks = 0;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    RandomGraph graph(seed);
    const auto one = graph.run({.threads = 1, .passes = false});
    for (const int threads : {2, 5}) {
      Workers::Statistics statistics;
      check_equal(
          one, graph.run({.threads = threads, .verify = true, .shuffle_seed = seed}, &statistics));
      max_slots = std::max(max_slots, statistics.distinct_slots);
      chunks += statistics.parallel_chunks;
      check_equal(one, graph.run({.threads = threads, .verify = true, .poison = true}));
    }
  }
  BOOST_WARN_MESSAGE(max_slots > 2, "only a few threads ran: the machine may be busy");
  BOOST_TEST(chunks > 1000);
}

BOOST_AUTO_TEST_CASE(poison_mode_detects_overruns) {
  Graph g(engine_ops());
  const Value x = g.input("x", DType::f32, {16});
  const Value bad = g.apply("t_overrun", {engine_scale(x, 2)}).output(0);
  const Tensor feed = Tensor::zeros(DType::f32, {16});
  const auto message = [](const StateError& e) {
    const std::string what = e.what();
    return what.find("t_overrun") != std::string::npos &&
           what.find("the guard after an output of 64 bytes is broken") != std::string::npos &&
           what.find("execution_test.cc") != std::string::npos;
  };
  Session s(g, {.threads = 1, .poison = true});
  BOOST_CHECK_EXCEPTION(s.run(Program("direct").output("y", bad), {{"x", feed}}), StateError,
                        message);
  BOOST_CHECK_EXCEPTION(s.run(Program("arena").output("y", engine_sum(bad)), {{"x", feed}}),
                        StateError, message);
}

BOOST_AUTO_TEST_CASE(outputs_are_reported_exactly_once_when_they_are_complete) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      RandomGraph graph(seed);
      Session session(graph.g, {.threads = 1, .verify = true, .poison = true});
      NamedTensors into;
      for (const auto& [name, value] : graph.program.outputs())
        into.emplace_back(name, Tensor::empty(DType::f32, value.shape().constant()));
      std::map<std::string, Tensor> reported;
      RunOptions options{.into = into};
      options.on_output = [&](const std::string& name, const Tensor& value) {
        const auto is_it = [&](const auto& entry) { return entry.first == name; };
        const Tensor& now = std::find_if(into.begin(), into.end(), is_it)->second;
        BOOST_TEST(value.raw() == now.raw());
        BOOST_TEST(reported.emplace(name, now.clone()).second, name << " was reported twice");
      };
      const Results results = session.run(graph.program,
                                          {{"xn", Tensor::full(DType::f32, {1000}, 0.1)},
                                           {"xk", Tensor::full(DType::f32, {77}, 0.3)}},
                                          options);
      BOOST_TEST(reported.size() == into.size());
      for (const auto& [name, tensor] : results) {
        BOOST_TEST_CONTEXT(name) BOOST_TEST(bitwise_equal(reported.at(name), tensor));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(streamed_outputs_are_reported_and_not_stored) {
  const NamedTensors feeds = {{"xn", Tensor::full(DType::f32, {1000}, 0.1)},
                              {"xk", Tensor::full(DType::f32, {77}, 0.3)}};
  for (std::uint64_t seed = 1; seed <= 24; ++seed) {
    RandomGraph graph(seed);
    std::map<std::string, Tensor> expected;
    Session plain(graph.g, {.threads = 1, .passes = false});
    for (const auto& [name, tensor] : plain.run(graph.program, feeds))
      expected.emplace(name, tensor);
    // Some or all outputs are streamed. The others remain ordinary results.
    for (const std::uint64_t every : {1u, 2u, 3u}) {
      BOOST_TEST_CONTEXT("seed " << seed << ", every " << every) {
        RunOptions options;
        for (std::size_t i = 0; i < graph.program.outputs().size(); ++i) {
          if ((i + seed) % every == 0) options.streamed.push_back(graph.program.outputs()[i].first);
        }
        std::map<std::string, Tensor> reported;
        options.on_output = [&](const std::string& name, const Tensor& value) {
          BOOST_TEST(reported.emplace(name, value.clone()).second, name << " was reported twice");
        };
        Session session(graph.g, {.threads = 1 + static_cast<int>(seed % 3),
                                  .verify = true,
                                  .poison = seed % 2 == 0,
                                  .shuffle_seed = seed});
        const Results results = session.run(graph.program, feeds, options);
        for (const auto& [name, tensor] : expected) {
          BOOST_TEST_CONTEXT(name) {
            BOOST_TEST(bitwise_equal(reported.at(name), tensor));
            const bool passes = std::count(options.streamed.begin(), options.streamed.end(), name);
            BOOST_TEST(results.contains(name) == !passes);
            if (!passes) BOOST_TEST(bitwise_equal(results[name], tensor));
          }
        }
        BOOST_TEST(reported.size() == expected.size());
        for (const std::string& name : session.store()->names())
          BOOST_TEST(bitwise_equal(session.value(name), plain.value(name)), name);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(streamed_outputs_need_memory_only_while_they_are_computed) {
  Graph g(engine_ops());
  const Value x = g.input("x", DType::f32, {"n"});
  Value y = x;
  Program p("p");
  RunOptions options;
  for (int i = 0; i < 8; ++i) {
    const std::string name = "y" + std::to_string(i);
    y = engine_scale(y, 2);
    p.output(name, y);
    options.streamed.push_back(name);
  }
  constexpr std::int64_t kSize = 1 << 16;
  Session s(g, {.threads = 1, .verify = true});
  const auto kept = s.plan(p, {{"x", {kSize}}});
  const auto streamed = s.plan(p, {{"x", {kSize}}}, options);
  BOOST_TEST(kept->memory().arena == 0u);
  BOOST_TEST(kept->memory().outputs == 8u * 4 * kSize);
  BOOST_TEST(streamed->memory().outputs == 0u);
  // Each output is computed from the previous one, so at most two exist at a time.
  BOOST_TEST(streamed->memory().arena <= 2u * 4 * kSize);
  BOOST_TEST(streamed->text().find("streamed: output 'y7' = %") != std::string::npos);
  float sum = 0;
  options.on_output = [&](const std::string&, const Tensor& reported) {
    sum += reported.data<float>()[0];
  };
  const Results results = s.run(p, {{"x", Tensor::full(DType::f32, {kSize}, 1)}}, options);
  BOOST_TEST(sum == 2 + 4 + 8 + 16 + 32 + 64 + 128 + 256);
  BOOST_TEST((results.begin() == results.end()));
}

BOOST_AUTO_TEST_CASE(outputs_that_cannot_be_streamed_are_errors) {
  Graph g(engine_ops());
  const Value x = g.input("x", DType::f32, {4});
  const Program p = Program("p").output("y", engine_scale(x, 2));
  const NamedTensors feeds = {{"x", Tensor::full(DType::f32, {4}, 1)}};
  Session s(g, {.threads = 1});
  const auto fails = [&](const RunOptions& options, const std::string& message) {
    BOOST_CHECK_EXCEPTION(s.run(p, feeds, options), ArgumentError, [&](const Error& e) {
      BOOST_TEST(std::string(e.what()) == message);
      return true;
    });
  };
  RunOptions options;
  options.streamed = {"y"};
  fails(options, "output 'y' of program 'p' is streamed but RunOptions::on_output is not set");
  options.on_output = [](const std::string&, const Tensor&) {};
  options.into = {{"y", Tensor::zeros(DType::f32, {4})}};
  fails(options, "output 'y' of program 'p' is streamed and cannot be written into a tensor");
  options.into = {};
  options.streamed = {"z"};
  fails(options, "program 'p' has no output 'z' to stream; its outputs are: y");
}

BOOST_AUTO_TEST_CASE(profiles_contain_every_node) {
  Graph g(engine_ops());
  const Value x = g.input("x", DType::f32, {"n"});
  const Value y = engine_scale(x, 2);
  g.set_name("net.y", y);
  const Program p = Program("p").output("s", engine_sum(engine_add(y, x)));
  Session s(g, {.threads = 2});
  const Tensor feed = Tensor::zeros(DType::f32, {1000});
  s.run(p, {{"x", feed}});
  BOOST_TEST(s.profile().empty());
  s.set_profiling(true);
  s.run(p, {{"x", feed}});
  s.run(p, {{"x", feed}});
  const auto entries = s.profile().entries();
  BOOST_REQUIRE_EQUAL(entries.size(), 3u);
  bool found = false;
  for (const Profile::Entry& e : entries) {
    BOOST_TEST(e.runs == 2);
    BOOST_TEST(e.where.find("execution_test.cc") != std::string::npos);
    if (e.name == "t_scale 'net.y'") {
      found = true;
      BOOST_TEST(e.flops == 2000.);
      BOOST_TEST(e.bytes == 16000.);
    }
  }
  BOOST_TEST(found);
  BOOST_TEST(s.profile().table().find("GFLOP/s") != std::string::npos);
  std::int64_t runs = 0, op_runs = 0;
  for (const auto& e : entries) runs += e.runs;
  for (const auto& e : s.profile().op_entries()) {
    op_runs += e.runs;
    BOOST_TEST(e.where == "");
  }
  BOOST_TEST(op_runs == runs);
  s.clear_profile();
  BOOST_TEST(s.profile().empty());
}

BOOST_AUTO_TEST_CASE(profiles_contain_the_time_of_the_fastest_runs) {
  Graph g(engine_ops());
  const Value x = g.input("x", DType::f32, {4});
  const Value twice = engine_scale(x, 2);
  const Program p = Program("p").output("y", engine_scale(twice, 3));
  Session s(g, {.threads = 1});
  const auto plan = s.plan(p, {{"x", {4}}});
  BOOST_REQUIRE_EQUAL(plan->steps.size(), 2u);
  Profile profile;
  // The first step takes 4, 1 and 2 seconds, the second one 3 and 0.5 seconds.
  for (const double seconds : {4.0, 1.0, 2.0}) profile.record(plan, StepId(0), 10, 10 + seconds);
  for (const double seconds : {3.0, 0.5}) profile.record(plan, StepId(1), 20, 20 + seconds);
  const auto nodes = profile.entries();
  BOOST_REQUIRE_EQUAL(nodes.size(), 2u);
  BOOST_TEST(nodes[0].seconds == 7);
  BOOST_TEST(nodes[0].least_seconds == 3);  // three runs of 1 second
  BOOST_TEST(nodes[1].least_seconds == 1);
  BOOST_TEST(profile.op_entries().at(0).least_seconds == 4);
  BOOST_TEST(profile.table().find("least ms") != std::string::npos);
  BOOST_TEST(profile.table().find("10500.000 ms in total, 4000.000 ms if every run") !=
             std::string::npos);
}

BOOST_AUTO_TEST_CASE(deep_chains_are_executed_without_recursion) {
  Graph g(engine_ops());
  const Value x = g.input("x", DType::f32, {4});
  Value y = x;
  constexpr int kLength = 200000;
  for (int i = 0; i < kLength; ++i) y = i % 2 == 0 ? engine_scale(y, 2) : engine_scale(y, 0.5);
  const Program p = Program("deep").output("y", y);
  Session s(g, {.threads = 1, .passes = false, .verify = true});
  BOOST_TEST(s.run(p, {{"x", Tensor::full(DType::f32, {4}, 3)}})["y"].at(0) == 3);
  const auto plan = s.plan(p, {{"x", {4}}});
  BOOST_TEST(plan->arena_bytes == 0u);  // every step is in place, in the memory of the output
}

BOOST_AUTO_TEST_CASE(planning_is_fast) {
  // The graph has about as many nodes as a GPT-2 training step.
  Graph g(engine_ops());
  std::vector<Value> held;
  Value y = g.input("x", DType::f32, {64});
  for (int i = 0; i < 1600; ++i) {
    held.push_back(y);
    y = engine_add(engine_scale(y, 0.5), engine_scale(y, 0.25));
  }
  Program p("wide");
  for (std::size_t i = held.size(); i-- > 0;) y = engine_add(y, held[i]);
  p.output("y", y);
  const auto compiled = compile(p, {}, {.passes = false});
  const auto begin = std::chrono::steady_clock::now();
  const auto plan = specialise(compiled, {});
  const double ms =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  BOOST_TEST_MESSAGE("planned " << plan->steps.size() << " steps in " << ms << " ms");
  BOOST_TEST(plan->steps.size() > 5000u);
  BOOST_TEST(ms < 2000);  // tens of ms on an idle machine; more with sanitizers or load
}

// Kernels may do pointer arithmetic on zero-sized operands, which requires a non-null address.
BOOST_AUTO_TEST_CASE(operands_without_elements_have_non_null_addresses) {
  Graph g(engine_ops());
  const auto places = [](Value x) { return x.graph().apply("t_places", {x}).output(0); };
  const Value x = g.input("x", DType::f32, {"n", 5}), steps = g.input("steps", DType::f32, {3});
  const Variable state = g.variable("state", DType::f32, {0, 5});
  const ScanResult loop = scan(g, {x}, {steps}, {}, [&](Graph&, const ScanElements& in) {
    const Value next = engine_add(in.carries[0], in.carries[0]);
    return ScanStep{{next}, {places(in.carries[0]) + places(next)}};
  });
  const Program program =
      Program("p")
          .output("fed", places(x))
          .output("made", places(engine_add(x, x)))
          .output("state", places(state))
          .output("constant", places(g.constant(Tensor::zeros(DType::f32, {0}))))
          .output("loop", sum(loop.outputs[0]));
  for (const bool poison : {false, true}) {
    Session session(g, {.threads = 2, .poison = poison});
    const Results results =
        session.run(program, {{"x", Tensor::borrow(DType::f32, {0, 5}, nullptr)},
                              {"steps", Tensor::zeros(DType::f32, {3})}});
    for (const auto& [name, value] : results)
      BOOST_TEST(value.at(0) == (name == "loop" ? 18 : 3), name);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
