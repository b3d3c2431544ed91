// A scan must give the same results as the unrolled loop for any Session options.
#include "weft/graph/control/scan.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstring>

#include "weft/autodiff/check_gradients.h"
#include "weft/autodiff/gradients.h"
#include "weft/graph/control/call.h"
#include "weft/graph/functions.h"
#include "weft/graph/run/session.h"
#include "weft/graph/text/text.h"
#include "weft/tests/control/random_step.h"
#include "weft/tests/support/messages.h"
#include "weft/tests/support/more_threads.h"
#include "weft/tests/support/numbers.h"

namespace weft {
namespace {

using testing::check_error;
using testing::check_same;
using testing::RandomStep;
using testing::weighted_sum;
using testing::with_gradients;

void check_close(const Results& a, const Results& b, const std::string& what) {
  for (const auto& [name, tensor] : a) {
    const Tensor& other = b[name];
    BOOST_REQUIRE_MESSAGE(tensor.sizes() == other.sizes(), what << ": sizes of " << name);
    const auto x = testing::elements_of(tensor), y = testing::elements_of(other);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double allowed = 1e-9 * std::max({1.0, std::abs(x[i]), std::abs(y[i])});
      if (std::abs(x[i] - y[i]) <= allowed) continue;
      BOOST_ERROR(fmt::format("{}: {}[{}] is {} and {}", what, name, i, x[i], y[i]));
      break;
    }
  }
}

BOOST_AUTO_TEST_SUITE(scans)

BOOST_AUTO_TEST_CASE(scans_equal_the_unrolled_loop_in_values_and_first_and_second_gradients) {
  const testing::MoreThreads more;
  const std::int64_t lengths[] = {0, 1, 2, 17};
  int cases = 0, within_budget = 0;
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    for (const std::int64_t length : lengths) {
      const std::string what = fmt::format("seed {}, length {}", seed, length);
      BOOST_TEST_CONTEXT(what) {
        Graph g;
        RandomStep step(seed);
        step.declare(g, seed % 2 == 0 && !step.feeds(0).empty() ? Dim(length) : g.dim("steps"));
        ScanOptions options;
        options.length = AxisSize(seed % 2 == 0 ? Dim(length) : g.dim("steps"));
        options.segment = seed % 5 == 4 ? static_cast<std::int64_t>(seed % 4) + 1 : 0;
        const Program loop = with_gradients("loop", step, step.as_scan(g, options));
        Graph u;
        RandomStep written(seed);
        written.declare(u, Dim(length));
        const Program flat =
            with_gradients("flat", written, written.unrolled(u, length, written.reverse));
        const NamedTensors feeds = step.feeds(length);
        const RunOptions run{.dims = seed % 2 == 0 ? DimValues{} : DimValues{{"steps", length}}};
        Session one(g, {.threads = 1, .verify = true});
        const Results results = one.run(loop, feeds, run);
        Session reference(u, {.threads = 1, .passes = false});
        check_close(reference.run(flat, feeds), results, what);
        if (seed % 5 == 0) {
          for (const int threads : {2, 5}) {
            Session several(g, {.threads = threads, .verify = true, .shuffle_seed = seed + 1});
            check_same(several.run(loop, feeds, run), results, what + ", threads");
          }
        }
        if (seed % 5 == 1) {
          Session poisoned(g, {.threads = 2, .verify = true, .poison = true});
          check_same(poisoned.run(loop, feeds, run), results, what + ", poisoned");
          // Run again in the same memory.
          check_same(poisoned.run(loop, feeds, run), results, what + ", poisoned again");
        }
        if (seed % 5 == 2) {
          Session plain(g, {.threads = 1, .passes = false, .verify = true});
          check_close(plain.run(loop, feeds, run), results, what + ", without passes");
        }
        if (seed % 5 == 3) {
          Session checked(g, {.threads = 1, .check_finite = true, .verify = true});
          check_close(checked.run(loop, feeds, run), results, what + ", check_finite");
        }
        if (seed % 5 == 4 && length > 1) {
          const std::size_t arena = one.plan(loop, sizes_of(feeds), run)->arena_bytes;
          try {
            Session tight(g, {.threads = 2, .memory_budget = arena - arena / 8, .verify = true});
            check_same(tight.run(loop, feeds, run), results, what + ", within a budget");
            ++within_budget;
          } catch (const ArgumentError&) {
            // There is no plan for such a small budget.
          }
        }
        ++cases;
      }
    }
  }
  BOOST_TEST(cases == 600);
  BOOST_TEST(within_budget > 10);
}

BOOST_AUTO_TEST_CASE(loops_round_trip_through_text) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Graph g;
    RandomStep step(seed);
    step.declare(g, Dim(3));
    const Program loop = with_gradients("loop", step, step.as_scan(g, {.length = AxisSize(3)}));
    TextConstants constants;
    const std::string text = to_text(loop, {.constants = &constants});
    const Module read = parse_text(text, {.constants = &constants});
    BOOST_TEST(to_text(read.program, {.constants = &constants}) == text);
    NamedTensors feeds;
    for (const auto& [name, tensor] : step.feeds(3)) {
      if (read.graph->find_input(name).defined()) feeds.emplace_back(name, tensor);
    }
    Session one(g, {.threads = 1}), two(*read.graph, {.threads = 1});
    check_same(one.run(loop, feeds), two.run(read.program, feeds), fmt::format("seed {}", seed));
  }
}

BOOST_AUTO_TEST_CASE(each_row_stops_at_its_length) {
  Graph g;
  const Value x = g.input("x", DType::f64, {"time", "batch", 3});
  const Value h = g.input("h", DType::f64, {"rows", 3});
  g.require(g.dim("rows") == g.dim("batch"));  // the body returns carries of [batch, 3]
  const Value w = g.input("w", DType::f64, {3, 3});
  const Value lengths = g.input("lengths", DType::i32, {"batch"});
  const auto body = [](Graph&, const ScanElements& in) {
    const Value next = tanh(in.elements[0] + matmul(in.carries[0], in.operands[0]));
    return ScanStep{{next}, {next * 2}};
  };
  for (const bool reverse : {false, true}) {
    const ScanResult all = scan(g, {h}, {x}, {w}, body, {.reverse = reverse, .lengths = lengths});
    Program program("masked");
    program.output("last", all.carries[0]).output("outputs", all.outputs[0]);
    program.output("dw", gradient(weighted_sum(all), w));
    const Tensor xs = Tensor::of<double>({4, 3, 3}, [] {
      std::vector<double> v;
      for (int i = 0; i < 36; ++i) v.push_back(std::sin(i));
      return v;
    }());
    const Tensor hs = Tensor::of<double>({3, 3}, {.1, .2, .3, -.1, -.2, -.3, .5, .6, .7});
    const Tensor ws = Tensor::of<double>({3, 3}, {.3, -.2, .1, .5, .4, -.6, .2, .1, .9});
    const std::vector<int> steps = {4, 0, 2};
    Session session(g, {.threads = 1});
    const Results results = session.run(
        program, {{"x", xs}, {"h", hs}, {"w", ws}, {"lengths", Tensor::of<int>({3}, steps)}});
    // Run each row on its own, with its own number of steps.
    for (int row = 0; row < 3; ++row) {
      Graph one;
      const std::int64_t n = steps[static_cast<std::size_t>(row)];
      const Value x1 = one.input("x", DType::f64, {n, 1, 3});
      const Value h1 = one.input("h", DType::f64, {1, 3});
      const Value w1 = one.input("w", DType::f64, {3, 3});
      const ScanResult alone = scan(one, {h1}, {x1}, {w1}, body, {.reverse = reverse});
      std::vector<double> part, start;
      for (std::int64_t t = 0; t < n; ++t) {
        for (int k = 0; k < 3; ++k) part.push_back(xs.at((t * 3 + row) * 3 + k));
      }
      for (int k = 0; k < 3; ++k) start.push_back(hs.at(row * 3 + k));
      Session single(one, {.threads = 1});
      const Results expected = single.run(
          Program("one").output("last", alone.carries[0]).output("outputs", alone.outputs[0]),
          {{"x", Tensor::of<double>({n, 1, 3}, part)},
           {"h", Tensor::of<double>({1, 3}, start)},
           {"w", ws}});
      for (int k = 0; k < 3; ++k) {
        BOOST_TEST(results["last"].at(row * 3 + k) == expected["last"].at(k));
        for (std::int64_t t = 0; t < 4; ++t) {
          const double wanted = t < n ? expected["outputs"].at(t * 3 + k) : 0;
          BOOST_TEST(results["outputs"].at((t * 3 + row) * 3 + k) == wanted);
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(random_numbers_differ_between_steps_and_are_reused_in_gradients) {
  Graph g;
  const Value key = g.key("noise");
  const Value x = g.input("x", DType::f32, {64});
  const ScanResult result = scan(g, {x}, {}, {key},
                                 [](Graph&, const ScanElements& in) {
                                   const Value kept = dropout(in.carries[0], 0.25, in.operands[0]);
                                   return ScanStep{{in.carries[0] + 0}, {kept}};
                                 },
                                 {.length = AxisSize(5)});
  const Value loss = sum(result.outputs[0]);
  Program program("draw");
  program.output("kept", result.outputs[0]).output("dx", gradient(loss, x));
  Session session(g, {.seed = 3, .threads = 1});
  const Tensor ones = Tensor::full(DType::f32, {64}, 1);
  const Results first = session.run(program, {{"x", ones}});
  int different = 0;
  for (int i = 0; i < 64; ++i) {
    double sum = 0;
    for (int t = 0; t < 5; ++t) {
      sum += first["kept"].at(t * 64 + i);
      if (first["kept"].at(t * 64 + i) != first["kept"].at(i)) ++different;
    }
    BOOST_TEST(std::abs(first["dx"].at(i) - sum) < 1e-5);
  }
  BOOST_TEST(different > 40);
  // The next run draws new random numbers.
  const Results second = session.run(program, {{"x", ones}});
  BOOST_TEST(testing::max_difference(first["kept"], second["kept"]) > 0);
}

BOOST_AUTO_TEST_CASE(loops_that_share_a_key_draw_different_numbers) {
  Graph g;
  const Value key = g.key("noise"), x = g.input("x", DType::f32, {8});
  const auto body = [](Graph&, const ScanElements& in) {
    return ScanStep{{in.carries[0]}, {uniform(in.operands[0], {8})}};
  };
  const Value first = scan(g, {x}, {}, {key}, body, {.length = 2}).outputs[0];
  const Value second = scan(g, {x}, {}, {key}, body, {.length = 2}).outputs[0];
  const Results r = Session(g, {.threads = 1})
                        .run(Program("p").output("first", first).output("second", second),
                             {{"x", Tensor::zeros(DType::f32, {8})}});
  for (int i = 0; i < 16; ++i) BOOST_TEST(r["first"].at(i) != r["second"].at(i));
}

BOOST_AUTO_TEST_CASE(a_hundred_thousand_steps_need_a_small_plan_and_bounded_memory) {
  const auto build = [](std::int64_t segment) {
    auto g = std::make_unique<Graph>();
    const Variable w =
        g->variable("w", DType::f32, {8, 8}, {.initializer = Initializer::normal(0.3)});
    const Value x = g->input("x", DType::f32, {100000, 8});
    const Value h = zeros(*g, DType::f32, Shape{8});
    const ScanResult r =
        scan(*g, {h}, {x}, {w.value()},
             [](Graph&, const ScanElements& in) {
               const Value row = unsqueeze(in.carries[0], 0);
               return ScanStep{{tanh(squeeze(matmul(row, in.operands[0]), {0}) + in.elements[0])}};
             },
             {.segment = segment});
    const Value loss = sum(r.carries[0] * r.carries[0]);
    Program train("train");
    train.output("loss", loss).update(w, w - 0.1 * gradient(loss, w.value()));
    return std::pair(std::move(g), train);
  };
  const std::int64_t steps = 100000;
  std::size_t arenas[2] = {0, 0};
  int which = 0;
  for (const std::int64_t segment : {std::int64_t{0}, std::int64_t{400}}) {
    const auto [g, train] = build(segment);
    Session session(*g, {.threads = 1});
    const auto plan = session.plan(train, {{"x", {steps, 8}}});
    BOOST_TEST(plan->steps.size() < 60u);
    arenas[which++] = plan->arena_bytes;
    const Results r = session.run(train, {{"x", Tensor::full(DType::f32, {steps, 8}, 0.1)}});
    BOOST_TEST(std::isfinite(r["loss"].at(0)));
  }
  BOOST_TEST(arenas[1] * 10 < arenas[0]);
}

// A loop that only computes sums is replaced by the passes: it becomes one sum and one product over
// all steps.
BOOST_AUTO_TEST_CASE(sums_over_all_steps_are_moved_out_of_the_loop) {
  Graph g;
  const Value x = g.input("x", DType::f64, {"time", 2, 3}),
              y = g.input("y", DType::f64, {"time", 2, 4});
  const Value a = g.input("a", DType::f64, {3}), b = g.input("b", DType::f64, {3, 4});
  const ScanResult r = scan(g, {a, b}, {x, y}, {}, [](Graph&, const ScanElements& in) {
    const Value product = matmul(in.elements[0], in.elements[1], {.transpose_a = true});
    return ScanStep{{in.carries[0] + sum(in.elements[0], {0}), product + in.carries[1]}};
  });
  const Program program = Program("p").output("a", r.carries[0]).output("b", r.carries[1]);
  const auto numbers = [](const Sizes& sizes, double seed) {
    std::vector<double> v(static_cast<std::size_t>(num_elements(sizes)));
    for (std::size_t i = 0; i < v.size(); ++i) v[i] = std::sin(seed + static_cast<double>(i));
    return Tensor::of<double>(sizes, v);
  };
  Session fast(g, {.threads = 1, .verify = true}), plain(g, {.threads = 1, .passes = false});
  for (const std::int64_t steps : {0, 1, 5}) {
    const NamedTensors feeds = {{"x", numbers({steps, 2, 3}, 1)},
                                {"y", numbers({steps, 2, 4}, 2)},
                                {"a", numbers({3}, 3)},
                                {"b", numbers({3, 4}, 4)}};
    check_close(plain.run(program, feeds), fast.run(program, feeds),
                fmt::format("{} steps", steps));
  }
  const std::string plan =
      fast.plan(program, {{"x", {5, 2, 3}}, {"y", {5, 2, 4}}, {"a", {3}}, {"b", {3, 4}}})->text();
  BOOST_TEST(plan.find("scan") == std::string::npos, plan);
}

BOOST_AUTO_TEST_CASE(errors_state_the_reason) {
  Graph g;
  const Value h = g.input("h", DType::f32, {3});
  const Value x = g.input("x", DType::f32, {4, 3}), y = g.input("y", DType::f32, {5, 3});
  const auto same = [](Graph&, const ScanElements& in) { return ScanStep{{in.carries[0]}, {}}; };
  check_error<DTypeError>(
      [&] {
        scan(g, {h}, {x}, {}, [](Graph&, const ScanElements& in) {
          return ScanStep{{cast(in.carries[0], DType::f64)}};
        });
      },
      {"carry 0 enters the body as f32[3], but the body returns f64[3]; a carry must keep its type",
       "scan_test.cc"});
  check_error<ShapeError>(
      [&] {
        scan(g, {h}, {x}, {}, [](Graph&, const ScanElements& in) {
          return ScanStep{{concat({in.carries[0], in.elements[0]})}};
        });
      },
      {"carry 0 enters the body as f32[3], but the body returns f32[6]; a carry must keep its "
       "type"});
  check_error<ShapeError>(
      [&] {
        scan(g, {h}, {x, y}, {}, same);
      },
      {"sequence 1 is f32[5, 3] with 5 steps, but the loop has 4"});
  Graph other;
  const Value foreign = other.input("w", DType::f32, {3});
  check_error<GraphError>(
      [&] {
        scan(g, {h}, {x}, {},
             [&](Graph&, const ScanElements& in) { return ScanStep{{in.carries[0] * foreign}}; });
      },
      {"is a Value of another graph; values cannot cross graphs", "created by input 'w'"});
  check_error<GraphError>(
      [&] {
        scan(g, {h}, {x}, {}, [&](Graph&, const ScanElements&) { return ScanStep{{foreign}}; });
      },
      {"output 0 of the body of scan 'scan': the Value f32[3] belongs to another graph"});
  check_error<GraphError>(
      [&] { scan(g, {h}, {x}, {}, [&](Graph&, const ScanElements&) { return ScanStep{{{}}}; }); },
      {"output 0 of the body of scan 'scan': the Value is undefined"});
  check_error<ArgumentError>([&] { scan(g, {h}, {}, {}, same); },
                             {"scan 'scan' has no sequences: set its length"});
  check_error<ArgumentError>(
      [&] { scan(g, {h}, {}, {}, same, {.length = Dim(-1)}); },
      {"scan 'scan' has length -1: the number of steps must not be negative"});
  check_error<ArgumentError>(
      [&] { scan(g, {h}, {x}, {}, [](Graph&, const ScanElements&) { return ScanStep{}; }); },
      {"the body returns 0 carries, but the loop has 1"});
  check_error<ArgumentError>([&] { scan(g, {h}, {x}, {}, same, {.segment = -1}); },
                             {"segment must not be negative, but is -1"});
  // The failed calls must not leave any functions in the graph.
  BOOST_TEST(g.functions().empty());
}

BOOST_AUTO_TEST_CASE(data_is_checked_before_any_variable_is_written) {
  Graph g;
  const Variable w = g.variable("w", DType::f32, {3}, {.initializer = Initializer::ones()});
  const Value ids = g.input("ids", DType::i32, {"time"});
  const Value table = g.input("table", DType::f32, {4, 3});
  const ScanResult r = scan(g, {w.value()}, {ids}, {table}, [](Graph&, const ScanElements& in) {
    return ScanStep{{in.carries[0] + take(in.operands[0], in.elements[0])}};
  });
  const Program program = Program("sum").update(w, r.carries[0]);
  Session session(g, {.threads = 1, .verify = true});
  const Tensor rows = Tensor::full(DType::f32, {4, 3}, 1);
  session.run(program, {{"ids", Tensor::of<int>({2}, {1, 3})}, {"table", rows}});
  BOOST_TEST(session.value("w").at(0) == 3);
  check_error<DataError>(
      [&] {
        session.run(program, {{"ids", Tensor::of<int>({3}, {1, 3, 4})}, {"table", rows}});
      },
      {"4", "scan_test.cc"});
  BOOST_TEST(session.value("w").at(0) == 3);
  Session plain(g, {.threads = 1, .passes = false, .verify = true});
  check_error<DataError>(
      [&] {
        plain.run(program, {{"ids", Tensor::of<int>({3}, {1, 3, 4})}, {"table", rows}});
      },
      {"4", "in step 2 of 3 of the loop at", "scan_test.cc"});
  BOOST_TEST(plain.value("w").at(0) == 1);
}

// Values that do not depend on carries are hoisted out of the loop. Ops that may reject their data
// are not hoisted, because the loop may have no steps.
BOOST_AUTO_TEST_CASE(a_loop_without_steps_does_not_check_data) {
  for (const bool passes : {false, true}) {
    Graph g;
    const Value table = g.input("table", DType::i64, {4});
    const Value ids = g.input("ids", DType::i64, {1});
    const ScanResult r = scan(g, {ids}, {}, {table, ids},
                              [](Graph&, const ScanElements& in) {
                                const Value row = take(in.operands[0], in.operands[1]);
                                return ScanStep{{in.carries[0] + div(row, row)}};
                              },
                              {.length = AxisSize("steps")});
    const Program program = Program("p").output("y", r.carries[0]);
    Session session(g, {.threads = 1, .passes = passes, .verify = true});
    const auto run = [&](std::int64_t id, std::int64_t steps) {
      const NamedTensors feeds = {{"table", Tensor::of<std::int64_t>({4}, {3, 2, 1, 0})},
                                  {"ids", Tensor::of<std::int64_t>({1}, {id})}};
      return session.run(program, feeds, {.dims = {{"steps", steps}}})["y"].item<std::int64_t>();
    };
    BOOST_TEST(run(1, 2) == 3);
    BOOST_TEST(run(4, 0) == 4);
    BOOST_TEST(run(3, 0) == 3);
    BOOST_CHECK_THROW(run(4, 1), DataError);
    BOOST_CHECK_THROW(run(3, 1), DataError);
  }
}

// The size n + m does not determine n and m, so they are passed as the sizes of operands without
// elements.
BOOST_AUTO_TEST_CASE(sizes_with_several_symbols_get_unused_names) {
  Graph g;
  const Value a = g.input("a", DType::f32, {"n"}), b = g.input("b", DType::f32, {"m"});
  const Value other = g.input("other", DType::f32, {"d0"});
  g.require(g.dim("d1") == Dim(7));
  const Value both = concat({a, b}, 0), all = concat({a, b, b}, 0);
  const ScanResult r =
      scan(g, {both, other, all}, {}, {},
           [](Graph&, const ScanElements& in) {
             return ScanStep{{in.carries[0] + 1, in.carries[1] + 2, in.carries[2] + 3}};
           },
           {.length = AxisSize(2)});
  Program program("p");
  for (std::size_t i = 0; i < 3; ++i) program.output(fmt::format("y{}", i), sum(r.carries[i]));
  Session session(g, {.threads = 1, .verify = true});
  const auto ones_of = [](std::int64_t n) { return Tensor::full(DType::f32, {n}, 1); };
  const Results results =
      session.run(program, {{"a", ones_of(2)}, {"b", ones_of(1)}, {"other", ones_of(5)}});
  BOOST_TEST(results["y0"].at(0) == 9);
  BOOST_TEST(results["y1"].at(0) == 25);
  BOOST_TEST(results["y2"].at(0) == 28);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
