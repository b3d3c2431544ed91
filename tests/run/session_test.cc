// Sessions: values, feeds, updates, stores and misuse.
#include "weft/graph/run/session.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <functional>
#include <numeric>
#include <span>
#include <thread>
#include <vector>

#include "weft/core/error.h"
#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/linalg/linalg.h"
#include "weft/graph/functions/math.h"
#include "weft/graph/functions/reduce.h"
#include "weft/graph/functions/shape.h"
#include "weft/tests/run/engine_graphs.h"

namespace weft {
namespace {

using testing::engine_add;
using testing::engine_ops;
using testing::engine_scale;
using testing::engine_sum;
using testing::strict;

Value pick(Value x, Value i) { return x.graph().apply("t_pick", {x, i}).output(0); }

Tensor ramp(std::int64_t n, float first = 0) {
  std::vector<float> v(static_cast<std::size_t>(n));
  std::iota(v.begin(), v.end(), first);
  return Tensor::of<float>({n}, v);
}

void check_message(const std::function<void()>& f, const std::vector<std::string>& parts) {
  try {
    f();
  } catch (const Error& e) {
    for (const std::string& part : parts) {
      BOOST_CHECK_MESSAGE(std::string(e.what()).find(part) != std::string::npos,
                          "'" << part << "' is missing in: " << e.what());
    }
    return;
  }
  BOOST_ERROR("no error was thrown");
}

struct Training {
  Graph g{engine_ops()};
  Value x = g.input("x", DType::f32, {"n"});
  Value index = g.input("index", DType::i64, std::initializer_list<AxisSize>{});
  Variable w = g.variable("w", DType::f32, {8}, {.initializer = Initializer::normal(0.02)});
  Variable m = g.variable("m", DType::f32, {8}, {.kind = VariableKind::optimizer});
  Program step{"step"};
  Training() {
    const Value new_m = engine_add(engine_scale(m, 0.5), w);
    const Value loss = engine_sum(w);
    step.output("loss", loss).output("picked", pick(x, index));
    step.update(m, new_m).update(w, engine_add(w, engine_scale(new_m, -0.5)));
  }
  NamedTensors feeds(std::int64_t i = 1) const {
    return {{"x", ramp(4)}, {"index", Tensor::of<std::int64_t>({}, {i})}};
  }
};

BOOST_AUTO_TEST_SUITE(session)

BOOST_AUTO_TEST_CASE(sessions_compute_outputs) {
  Graph g(engine_ops());
  const Value x = g.input("x", DType::f32, {"n"});
  const Value y = engine_scale(engine_add(x, x), 3);
  g.set_name("inner.y", y);
  const Program p = Program("p").output("total", engine_sum(y));
  Session s(g, strict());
  const Results r = s.run(p, {{"x", ramp(5)}}, {.fetch = {"inner.y"}});
  BOOST_TEST(r["total"].item<float>() == 60.f);
  BOOST_TEST(r["inner.y"].to_vector<float>() == (std::vector<float>{0, 6, 12, 18, 24}));
  BOOST_TEST(r.size() == 2u);
  check_message([&] { r["nothing"]; }, {"no result 'nothing'", "total, inner.y"});
  check_message(
      [&] {
        s.run(p, {{"x", ramp(5)}}, {.fetch = {"other.y"}});
      },
      {"cannot fetch 'other.y'", "close names: inner.y"});
}

BOOST_AUTO_TEST_CASE(updates_are_applied_together) {
  Training t;
  Session s(t.g, strict());
  const std::vector<float> w0 = s.value("w").to_vector<float>();
  const Results r = s.run(t.step, t.feeds());
  BOOST_TEST(r["picked"].item<float>() == 1.f);
  const std::vector<float> w1 = s.value("w").to_vector<float>();
  const std::vector<float> m1 = s.value("m").to_vector<float>();
  for (std::size_t i = 0; i < 8; ++i) {
    BOOST_TEST(m1[i] == w0[i]);
    BOOST_TEST(w1[i] == w0[i] + m1[i] * -0.5f);
  }
  BOOST_TEST(s.store()->version("w") == 1u);
}

BOOST_AUTO_TEST_CASE(updates_are_performed_in_place) {
  Training t;
  Session s(t.g, strict());
  const auto plan = s.plan(t.step, {{"x", {4}}, {"index", {}}});
  for (const PlanUpdate& u : plan->updates) BOOST_TEST(u.direct);
}

BOOST_AUTO_TEST_CASE(variables_can_be_swapped) {
  Graph g(engine_ops());
  const Variable a = g.variable("a", DType::f32, {3}, {.initializer = Initializer::constant(1)});
  const Variable b = g.variable("b", DType::f32, {3}, {.initializer = Initializer::constant(2)});
  const Program p =
      Program("swap").output("old", a.value()).update(a, b.value()).update(b, a.value());
  Session s(g, strict());
  BOOST_TEST(s.run(p)["old"].at(0) == 1);
  BOOST_TEST(s.value("a").at(2) == 2);
  BOOST_TEST(s.value("b").at(2) == 1);
  s.run(p);
  BOOST_TEST(s.value("a").at(0) == 1);
}

// Variables of different sizes can exchange values only through views, which have no memory of
// their own.
BOOST_AUTO_TEST_CASE(variables_can_be_updated_with_views_of_each_other) {
  const Shape shapes[] = {{12}, {3, 4}, {2, 1, 6}, {12}};
  for (const bool passes : {false, true}) {
    for (std::size_t count = 2; count <= std::size(shapes); ++count) {
      for (const bool last_is_computed : {false, true}) {
        for (const int views : {1, 2}) {
          Graph g(engine_ops());
          std::vector<Variable> variables;
          for (std::size_t i = 0; i < count; ++i) {
            variables.push_back(
                g.variable("v" + std::to_string(i), ValueType{DType::f32, shapes[i]},
                           {.initializer = Initializer::constant(static_cast<double>(i + 1))}));
          }
          Program turn("turn");
          std::vector<double> expected, next;
          for (std::size_t i = 0; i < count; ++i) expected.push_back(static_cast<double>(i + 1));
          for (std::size_t i = 0; i < count; ++i) {
            Value taken = variables[(i + 1) % count].value();
            if (last_is_computed && i + 1 == count) taken = engine_scale(taken, 2);
            if (views == 2) taken = reshape(taken, {4, 3});
            turn.update(variables[i], reshape(taken, shapes[i]));
          }
          SessionOptions options = strict();
          options.passes = passes;
          Session s(g, options);
          for (int run = 0; run < 3; ++run) {
            s.run(turn);
            next.assign(expected.begin() + 1, expected.end());
            next.push_back(expected[0] * (last_is_computed ? 2 : 1));
            expected = next;
            for (std::size_t i = 0; i < count; ++i) {
              const Tensor value = s.value("v" + std::to_string(i));
              BOOST_TEST(bitwise_equal(value, Tensor::full(DType::f32, value.sizes(), expected[i])),
                         "variable " << i << " of " << count << ", run " << run);
            }
          }
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(variables_updated_from_each_other_read_the_old_values) {
  Graph g(engine_ops());
  const Variable a = g.variable("a", DType::f32, {3}, {.initializer = Initializer::constant(1)});
  const Variable b = g.variable("b", DType::f32, {3}, {.initializer = Initializer::constant(10)});
  const Program p =
      Program("p").update(a, engine_add(a, b)).update(b, engine_add(engine_scale(b, 2), a));
  Session s(g, strict());
  s.run(p);
  BOOST_TEST(s.value("a").at(0) == 11);
  BOOST_TEST(s.value("b").at(0) == 21);
}

BOOST_AUTO_TEST_CASE(a_failed_check_leaves_variables_unchanged) {
  Training t;
  Session s(t.g, strict());
  s.run(t.step, t.feeds());
  const Tensor w = s.value("w"), m = s.value("m");
  check_message(
      [&] { s.run(t.step, t.feeds(7)); },
      {"t_pick: index 7 is not in 0..3", "operands x: f32[n]", "index: i64[]", "session_test.cc"});
  BOOST_CHECK_THROW(s.run(t.step, t.feeds(-1)), DataError);
  BOOST_TEST(bitwise_equal(w, s.value("w")));
  BOOST_TEST(bitwise_equal(m, s.value("m")));
  s.run(t.step, t.feeds());
  BOOST_TEST(s.store()->version("w") == 2u);
}

BOOST_AUTO_TEST_CASE(invalid_feeds_are_rejected) {
  Training t;
  Graph& g = t.g;
  const Value pair = g.input("pair", DType::f32, {"n", t.g.dim("n") * 2});
  const Program p =
      Program("p").output("a", engine_scale(t.x, 2)).output("b", engine_scale(pair, 2));
  Session s(g, strict());
  const auto two = [](std::int64_t a, std::int64_t b) { return Tensor::zeros(DType::f32, {a, b}); };
  const auto run = [&](NamedTensors feeds) { return [&s, &p, feeds] { s.run(p, feeds); }; };
  check_message(run({{"x", ramp(2)}}), {"program 'p' needs input 'pair' f32[n, 2*n]"});
  check_message(run({{"x", ramp(2)}, {"pear", two(2, 4)}}),
                {"program 'p' has no input 'pear'", "'x' f32[n], 'pair' f32[n, 2*n]"});
  check_message(
      run({{"x", ramp(2)}, {"pair", two(3, 6)}}),
      {"axis 0 of input 'pair' [n, 2*n] should be n = 2 (from axis 0 of input 'x'), but is 3"});
  check_message(run({{"x", ramp(2)}, {"pair", two(2, 5)}}),
                {"axis 1 of input 'pair' [n, 2*n] should be 2*n = 4 (with n=2), but is 5"});
  check_message(run({{"x", Tensor::zeros(DType::f64, {2})}, {"pair", two(2, 4)}}),
                {"input 'x' of program 'p' is f32[n], but the tensor fed is f64[2]",
                 "feeds are not converted", "tensor.to(DType::f32)"});
  check_message(run({{"x", two(2, 2)}, {"pair", two(2, 4)}}),
                {"(rank 1)", "sizes [2, 2] (rank 2)"});
  check_message(run({{"x", ramp(2)}, {"x", ramp(2)}, {"pair", two(2, 4)}}), {"fed twice"});
  check_message(run({{"x", Tensor()}, {"pair", two(2, 4)}}), {"'x' is undefined"});
  s.run(p, {{"x", ramp(2)}, {"pair", two(2, 4)}, {"index", Tensor::of<std::int64_t>({}, {0})}});
  check_message(
      [&] {
        s.run(p, {{"x", ramp(2)}, {"pair", two(2, 4)}}, {.dims = {{"k", 3}}});
      },
      {"has no symbol 'k'", "its symbols are: n"});
}

BOOST_AUTO_TEST_CASE(dim_requirements_are_checked) {
  Graph g(engine_ops());
  const Value x = g.input("x", DType::f32, {"n"});
  const Value y = g.input("y", DType::f32, {"k"});
  g.require(g.dim("k") == g.dim("n") + 1);
  const Program p = Program("p").output("x", engine_scale(x, 2)).output("y", engine_scale(y, 2));
  Session s(g, strict());
  s.run(p, {{"x", ramp(2)}, {"y", ramp(3)}});
  check_message([&] { s.run(p, {{"x", ramp(2)}, {"y", ramp(2)}}); }, {"requires", "n=2", "k=2"});
}

BOOST_AUTO_TEST_CASE(the_plan_cache_is_bounded) {
  Training t;
  SessionOptions o = strict();
  o.plan_cache = 2;
  Session s(t.g, o);
  const Program p = Program("p").output("y", engine_scale(t.x, 2));
  const auto run = [&](std::int64_t n) { s.run(p, {{"x", ramp(n)}}); };
  run(3), run(4), run(3);
  BOOST_TEST(s.compile_count() == 1);
  BOOST_TEST(s.specialise_count() == 2);
  run(5), run(3);
  BOOST_TEST(s.specialise_count() == 3);
  run(4);
  BOOST_TEST(s.specialise_count() == 4);
  const Program same = Program("p").output("y", engine_scale(t.x, 2));
  s.run(same, {{"x", ramp(4)}});
  BOOST_TEST(s.compile_count() == 1);
}

BOOST_AUTO_TEST_CASE(plan_accepts_the_sizes_of_feeds) {
  Training t;
  Session s(t.g, strict());
  const Program p = Program("p").output("y", engine_scale(t.x, 2));
  const NamedTensors feeds = {{"x", ramp(3)}};
  s.plan(p, sizes_of(feeds));
  s.run(p, feeds);
  BOOST_TEST(s.specialise_count() == 1);
  // Undefined feeds have no sizes.
  const NamedSizes sizes = sizes_of({{"none", Tensor()}, {"x", ramp(3)}});
  BOOST_TEST_REQUIRE(sizes.size() == 1U);
  BOOST_TEST(sizes[0].first == "x");
  BOOST_TEST((sizes[0].second == Sizes{3}));
}

BOOST_AUTO_TEST_CASE(outputs_can_be_written_into_caller_tensors) {
  Training t;
  Session s(t.g, strict());
  const Program p = Program("p").output("y", engine_scale(t.x, 2));
  const Tensor x = ramp(3);
  Tensor y = Tensor::zeros(DType::f32, {3});
  const Results r = s.run(p, {{"x", x}}, {.into = {{"y", y}}});
  BOOST_TEST(y.at(2) == 4);
  BOOST_TEST((r["y"].raw() == y.raw()));
  check_message(
      [&] {
        s.run(p, {{"x", x}}, {.into = {{"y", Tensor::zeros(DType::f32, {4})}}});
      },
      {"output 'y' is f32[3], but the tensor to write into is f32[4]"});
  check_message(
      [&] {
        s.run(p, {{"x", x}}, {.into = {{"y", y}, {"y", y.clone()}}});
      },
      {"output 'y' was given two tensors to write into"});
  check_message([&] { s.run(p, {{"x", x}}, {.into = {{"z", y}}}); }, {"no output 'z'"});
  check_message(
      [&] {
        s.run(p, {{"x", x}}, {.into = {{"y", x}}});
      },
      {"overlaps the tensor fed as 'x'"});
}

BOOST_AUTO_TEST_CASE(output_memory_is_reused) {
  Training t;
  Session s(t.g, {.threads = 1});
  const Program p = Program("p").output("y", engine_scale(t.x, 2));
  const std::byte* first = s.run(p, {{"x", ramp(3)}})["y"].raw();
  const Tensor kept = s.run(p, {{"x", ramp(3)}})["y"];
  BOOST_TEST((kept.raw() == first));
  const Tensor other = s.run(p, {{"x", ramp(3, 5)}})["y"];
  BOOST_TEST((other.raw() != first));
  BOOST_TEST(kept.at(1) == 2);
}

BOOST_AUTO_TEST_CASE(outputs_may_be_leaves) {
  Training t;
  Session s(t.g, strict());
  const Value c = t.g.constant(ramp(2, 7));
  const Program p =
      Program("p").output("x", t.x).output("w", t.w.value()).output("c", c).output("c2", c);
  const Results r = s.run(p, {{"x", ramp(3)}});
  BOOST_TEST(r["x"].at(2) == 2);
  BOOST_TEST(r["c2"].at(1) == 8);
  BOOST_TEST(bitwise_equal(r["w"], s.value("w")));
}

BOOST_AUTO_TEST_CASE(initial_values_depend_on_seed_and_name) {
  Graph g(engine_ops());
  g.variable("a", DType::f32, {1001}, {.initializer = Initializer::normal(1)});
  g.variable("b", DType::f32, {1001}, {.initializer = Initializer::normal(1)});
  g.variable("t", DType::f64, {1001}, {.initializer = Initializer::truncated_normal(1)});
  g.variable("u", DType::f32, {1001}, {.initializer = Initializer::uniform(-2, 3)});
  const Variable k = g.key("dropout");
  Session one(g, {.seed = 1, .threads = 1}), two(g, {.seed = 1, .threads = 2}),
      other(g, {.seed = 2});
  for (const char* name : {"a", "b", "t", "u"}) {
    BOOST_TEST(bitwise_equal(one.value(name), two.value(name)));
    BOOST_TEST(!bitwise_equal(one.value(name), other.value(name)));
  }
  BOOST_TEST(!bitwise_equal(one.value("a"), one.value("b")));
  double mean = 0, square = 0;
  for (float v : one.value("a").to_vector<float>()) mean += v, square += v * v;
  BOOST_TEST(std::abs(mean / 1001) < 0.1);
  BOOST_TEST(std::abs(square / 1001 - 1) < 0.15);
  for (double v : one.value("t").to_vector<double>()) BOOST_TEST(std::abs(v) <= 2);
  for (float v : one.value("u").to_vector<float>()) BOOST_TEST((v >= -2 && v < 3));
  const Tensor key = one.value(k.name());
  BOOST_TEST((key.dtype() == DType::i64 && key.sizes() == Sizes{2} && key.at(1) == 0));
}

BOOST_AUTO_TEST_CASE(variables_can_be_set) {
  Training t;
  Session s(t.g, strict());
  Tensor w = ramp(8);
  s.set_value("w", w);
  w.mutable_data<float>()[0] = 99;
  BOOST_TEST(s.value("w").at(0) == 0);
  BOOST_TEST(s.run(t.step, t.feeds())["loss"].item<float>() == 28.f);
  check_message([&] { s.set_value("w", ramp(7)); },
                {"variable 'w' is f32[8], but the new value is f32[7]"});
  check_message([&] { s.set_value("w", Tensor::zeros(DType::f64, {8})); }, {"f64[8]"});
}

BOOST_AUTO_TEST_CASE(snapshots_do_not_change) {
  Training t;
  Session s(t.g, strict());
  s.run(t.step, t.feeds());
  const Tensor snapshot = s.store()->tensor("w");
  const Tensor copy = snapshot.clone();
  s.run(t.step, t.feeds());
  BOOST_TEST(bitwise_equal(snapshot, copy));
  BOOST_TEST(!bitwise_equal(snapshot, s.value("w")));
}

BOOST_AUTO_TEST_CASE(stores_can_be_shared) {
  Training t;
  auto store = std::make_shared<VariableStore>();
  Session writer(t.g, store, strict());
  Session reader(t.g, store, strict());
  const Program p = Program("p").output("w", t.w.value());
  writer.run(t.step, t.feeds());
  BOOST_TEST(bitwise_equal(reader.run(p)["w"], writer.value("w")));
  check_message([&] { reader.run(t.step, t.feeds()); }, {"another Session updates this"});
  {
    Session third(t.g, store, strict());
    BOOST_CHECK_THROW(third.run(t.step, t.feeds()), StateError);
  }
  writer.run(t.step, t.feeds());
  Graph other(engine_ops());
  const Variable w = other.variable("w", DType::f32, {9});
  Session wrong(other, store);
  check_message([&] { wrong.run(Program("q").output("w", w.value())); },
                {"'w' is a parameter f32[9] in the graph, but a parameter f32[8] in the store"});
}

BOOST_AUTO_TEST_CASE(readers_run_concurrently_with_a_writer) {
  Graph g(engine_ops());
  const Variable w = g.variable("w", DType::f32, {512}, {.initializer = Initializer::constant(1)});
  const Program read = Program("read").output("w", engine_scale(w, 1));
  const Program write = Program("write").update(w, engine_add(w, w));
  auto store = std::make_shared<VariableStore>();
  Session writer(g, store, {.threads = 1});
  writer.run(read);
  std::vector<std::thread> threads;
  std::atomic<int> torn{0};
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      Session reader(g, store, {.threads = 1});
      for (int i = 0; i < 50; ++i) {
        const Results r = reader.run(read);
        const auto v = r["w"].span<float>();
        for (float x : v) torn += x != v[0];
      }
    });
  }
  for (int i = 0; i < 60; ++i) writer.run(write);
  for (auto& t : threads) t.join();
  BOOST_TEST(torn == 0);
  BOOST_TEST(writer.value("w").at(0) == std::ldexp(1.0, 60));
}

BOOST_AUTO_TEST_CASE(concurrent_use_by_a_second_thread_is_an_error) {
  Training t;
  Session s(t.g, strict());
  bool refused = false;
  s.run(t.step, t.feeds(), {.cancel = [&] {
          std::thread([&] {
            try {
              s.run(t.step, t.feeds());
            } catch (const StateError& e) {
              refused = std::string(e.what()).find("in use by another thread") != std::string::npos;
            }
          }).join();
          return false;
        }});
  BOOST_TEST(refused);
}

BOOST_AUTO_TEST_CASE(cancelling_leaves_variables_unchanged) {
  Training t;
  Session s(t.g, strict());
  const Tensor w = s.value("w");
  BOOST_CHECK_THROW(s.run(t.step, t.feeds(), {.cancel = [] { return true; }}), CancelledError);
  BOOST_TEST(bitwise_equal(w, s.value("w")));
  s.run(t.step, t.feeds(), {.cancel = [] { return false; }});
}

BOOST_AUTO_TEST_CASE(a_failure_during_writes_makes_the_store_inconsistent) {
  Graph g(engine_ops());
  const Variable a = g.variable("a", DType::f32, {3}, {.initializer = Initializer::constant(1)});
  const Value next = engine_scale(a, 2);
  const Value late = g.apply("t_fail", {next}, {{"when", 4.0}}).output(0);
  const Program p = Program("p").output("late", late).update(a, next);
  Session s(g, strict());
  s.run(p);
  check_message([&] { s.run(p); }, {"t_fail: asked to fail", "session_test.cc"});
  BOOST_TEST(s.store()->torn());
  check_message([&] { s.run(p); }, {"cannot be run", "old and new values are mixed"});
  check_message([&] { s.store()->tensor("a"); }, {"cannot be read", "checkpoint"});
  check_message([&] { s.store()->check_whole("saved"); }, {"cannot be saved"});
}

BOOST_AUTO_TEST_CASE(cache_sizes_are_determined_at_first_use) {
  Graph g(engine_ops());
  const Variable cache =
      g.variable("kv", DType::f32, {"batch", "capacity"}, {.kind = VariableKind::cache});
  const Value x = g.input("x", DType::f32, {"batch", "capacity"});
  const Program fill = Program("fill").update(cache, engine_add(cache, x));
  const Program read = Program("read").output("kv", engine_scale(cache, 1));
  auto store = std::make_shared<VariableStore>();
  Session s(g, store, strict()), other(g, store, strict());
  check_message([&] { s.value("kv"); }, {"has no value before its first use"});
  check_message([&] { s.run(read); }, {"batch", "not bound"});
  const Tensor ones = Tensor::full(DType::f32, {2, 3}, 1);
  s.run(fill, {{"x", ones}});
  s.run(fill, {{"x", ones}});
  BOOST_TEST(s.run(read)["kv"].at(5) == 2);
  other.run(fill, {{"x", Tensor::full(DType::f32, {1, 5}, 7)}});
  BOOST_TEST(other.value("kv").at(4) == 7);
  BOOST_TEST(s.value("kv").at(4) == 2);
  BOOST_TEST(!store->contains("kv"));
  check_message(
      [&] {
        s.run(fill, {{"x", Tensor::zeros(DType::f32, {2, 4})}});
      },
      {"capacity", "cache 'kv'", "3", "4",
       "a cache keeps the sizes of its first run: call Session::reset_caches()"});
  s.reset_caches();
  BOOST_TEST(
      s.run(read, {}, {.dims = {{"batch", 1}, {"capacity", 2}}})["kv"].sizes() == (Sizes{1, 2}),
      boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(programs_of_another_graph_are_rejected) {
  Training t;
  Graph other(engine_ops());
  Session s(other);
  check_message([&] { s.run(t.step, t.feeds()); },
                {"program 'step' and this Session belong to different graphs"});
  check_message([&] { s.run(Program("empty")); }, {"'empty' has neither outputs nor updates"});
  check_message([&] { Session(other, nullptr); }, {"VariableStore"});
  check_message([&] { Session(other, {.plan_cache = 0}); }, {"plan_cache is 0"});
}

BOOST_AUTO_TEST_CASE(feeds_may_be_in_unaligned_caller_memory) {
  Graph g;
  const Value x = g.input("x", DType::f32, {"n", 3}), w = g.input("w", DType::f32, {3, 5});
  Program program("p");
  program.output("y", exp(matmul(x, w)) + 1.0).output("total", sum(x, 0));
  Session session(g, {.threads = 1});
  std::vector<float> memory(64 * 3 + 16, 0.0f);
  const std::vector<float> weights = {1, 2, 3, 4, 5, 5, 4, 3, 2, 1, 0, 1, 0, -1, 0};
  for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<float>(i % 7) / 7;
  const NamedTensors::value_type w_feed = {"w", Tensor::over(weights, {3, 5})};
  // All of these addresses are aligned for floats, but only a few of them are aligned for vectors.
  for (std::size_t first = 0; first < 8; ++first) {
    const Tensor there = Tensor::over(std::span(memory).subspan(first, 64 * 3), {64, 3});
    const Results r = session.run(program, {{"x", there}, w_feed});
    const Results copied = session.run(program, {{"x", there.clone()}, w_feed});
    BOOST_TEST(bitwise_equal(r["y"], copied["y"]));
    BOOST_TEST(bitwise_equal(r["total"], copied["total"]));
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
