// Bodies of loops and branches use values of the graphs around them. A captured value gives the
// same program as an operand that is passed by hand.
#include <fmt/format.h>

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "weft/autodiff/gradients.h"
#include "weft/graph/control/cond.h"
#include "weft/graph/control/scan.h"
#include "weft/graph/functions.h"
#include "weft/graph/run/session.h"
#include "weft/graph/text/text.h"
#include "weft/serialization/checkpoint.h"
#include "weft/testing/temporary_folder.h"
#include "weft/tests/control/random_step.h"
#include "weft/tests/support/numbers.h"

namespace weft {
namespace {

using testing::check_same;
using Values = std::vector<Value>;

Tensor sines(const Sizes& sizes, double step) {
  Tensor t = Tensor::empty(DType::f64, sizes);
  double* data = t.mutable_data<double>();
  for (std::int64_t i = 0; i < t.numel(); ++i) {
    data[i] = 0.4 * std::sin(step * static_cast<double>(i + 1));
  }
  return t;
}

/// Returns the number of operands of the first node of op `op`.
std::size_t operands_of(const Graph& g, const std::string& op) {
  for (std::size_t i = 0; i < g.node_count(); ++i) {
    if (g.node(i).op().name == op) return g.node(i).inputs().size();
  }
  return 0;
}

/// A graph with a sequence x, a state h and weights. `captures` selects between captured values
/// and operands.
struct CaptureFixture {
  explicit CaptureFixture(bool captures) : captured(captures) {}

  bool captured;
  Graph g;
  Variable w = g.variable("w", DType::f64, {3, 3}, {.initializer = Initializer::normal(0.5)});
  Value b = g.input("b", DType::f64, {3});
  Value key = g.key("noise");
  Value x = g.input("x", DType::f64, {"time", "batch", 3});
  Value h = g.input("h", DType::f64, {"batch", 3});

  NamedTensors feeds(std::int64_t time) const {
    return {{"b", sines({3}, 0.3)}, {"x", sines({time, 2, 3}, 0.7)}, {"h", sines({2, 3}, 1.1)}};
  }
  Values pass(const Values& values) const { return captured ? Values() : values; }
  /// Returns value `i` of the operands, or the value itself if it is captured.
  Value use(const Values& operands, std::size_t i, Value value) const {
    return captured ? value : operands[i];
  }
};

Program loop_program(CaptureFixture& f, bool with_key) {
  Values operands = f.pass(with_key ? Values{f.w, f.b, f.key} : Values{f.w, f.b});
  const ScanResult r = scan(f.g, {f.h}, {f.x}, operands, [&](Graph&, const ScanElements& in) {
    Value h = tanh(matmul(in.carries[0], f.use(in.operands, 0, f.w)) + in.elements[0] +
                   f.use(in.operands, 1, f.b));
    if (with_key) h = dropout(h, 0.3, f.use(in.operands, 2, f.key));
    return ScanStep{{h}, {h * 2}};
  });
  const Value loss = sum(square(r.carries[0])) + sum(r.outputs[0]);
  const auto d = gradients(loss, {f.w.value(), f.b, f.x, f.h});
  const auto dd = gradients(sum(square(d[0])) + sum(sin(d[3])), {f.w.value(), f.b, f.h});
  Program p("p");
  p.output("loss", loss);
  for (std::size_t i = 0; i < d.size(); ++i) p.output(fmt::format("d{}", i), d[i]);
  for (std::size_t i = 0; i < dd.size(); ++i) p.output(fmt::format("dd{}", i), dd[i]);
  return p;
}

Program branch_program(CaptureFixture& f) {
  const Values operands = f.pass({f.h, f.w, f.b});
  const Value y = cond(
      sum(f.h) > 0, operands,
      [&](Graph&, const Values& in) {
        return Values{matmul(f.use(in, 0, f.h), f.use(in, 1, f.w))};
      },
      [&](Graph&, const Values& in) { return Values{f.use(in, 0, f.h) * f.use(in, 2, f.b)}; })[0];
  const Value loss = sum(square(y));
  const auto d = gradients(loss, {f.w.value(), f.b, f.h});
  return Program("p").output("y", y).output("dw", d[0]).output("db", d[1]).output("dh", d[2]);
}

Program while_program(CaptureFixture& f) {
  const Values operands = f.pass({f.b, f.w, f.key});
  const auto r = while_loop(
      f.g, {f.h},
      [&](Graph&, const Values& in) {
        const Values rest(in.begin() + 1, in.end());
        return Values{sum(square(in[0])) > sum(square(f.use(rest, 0, f.b)))};
      },
      [&](Graph&, const Values& in) {
        const Values rest(in.begin() + 1, in.end());
        return Values{dropout(matmul(in[0], f.use(rest, 1, f.w)), 0.1, f.use(rest, 2, f.key))};
      },
      50, {.operands = operands});
  return Program("p").output("h", r[0]);
}

BOOST_AUTO_TEST_SUITE(captures)

BOOST_AUTO_TEST_CASE(captured_values_give_the_same_program_as_operands) {
  const std::pair<const char*, std::function<Program(CaptureFixture&)>> programs[] = {
      {"scan", [](CaptureFixture& f) { return loop_program(f, false); }},
      {"scan with a key", [](CaptureFixture& f) { return loop_program(f, true); }},
      {"cond", branch_program},
      {"while_loop", while_program}};
  for (const auto& [name, build] : programs) {
    BOOST_TEST_CONTEXT(name) {
      CaptureFixture passed(false), captured(true);
      const Program a = build(passed), b = build(captured);
      BOOST_TEST(to_text(a) == to_text(b));
      Session one(passed.g, {.seed = 3, .threads = 1}), two(captured.g, {.seed = 3, .threads = 1}),
          checked(captured.g, {.seed = 3, .threads = 2, .verify = true, .poison = true});
      for (const std::int64_t time : {0, 1, 5}) {
        const NamedTensors feeds = passed.feeds(time);
        NamedTensors used;
        for (const Value& v : b.inputs()) {
          for (const auto& [input, tensor] : feeds) {
            if (input == v.node().attributes().text("name")) used.emplace_back(input, tensor);
          }
        }
        check_same(one.run(a, used), checked.run(b, used), fmt::format("{} steps", time));
        BOOST_TEST(one.plan(a, sizes_of(used))->text() == two.plan(b, sizes_of(used))->text());
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(each_captured_value_is_lifted_once_and_only_if_it_is_read) {
  Graph g;
  const Value h = g.input("h", DType::f64, {3}), w = g.input("w", DType::f64, {3});
  const Value unused = g.input("unused", DType::f64, {3});
  scan(g, {h}, {}, {},
       [&](Graph&, const ScanElements& in) {
         exp(unused);  // not part of the result
         return ScanStep{{in.carries[0] * w + w}, {w, w - in.carries[0]}};
       },
       {.length = 4});
  BOOST_TEST(operands_of(g, "scan") == 2u);
  // Both branches receive all values that one of them uses.
  cond(
      sum(h) > 0, {}, [&](Graph&, const Values&) { return Values{h + w}; },
      [&](Graph&, const Values&) { return Values{w - h}; });
  BOOST_TEST(operands_of(g, "cond") == 3u);
}

BOOST_AUTO_TEST_CASE(equal_bodies_that_capture_different_values_share_a_function) {
  Graph g;
  Value h = g.input("x", DType::f64, {"batch", 3});
  for (int i = 0; i < 3; ++i) {
    const Variable w = g.variable(fmt::format("w{}", i), DType::f64, {3, 3});
    const auto body = [&](Graph&, const ScanElements& in) {
      return ScanStep{{tanh(matmul(in.carries[0], w))}};
    };
    h = scan(g, {h}, {}, {}, body, {.length = 5}).carries[0];
  }
  BOOST_TEST(g.functions().size() == 1u);
}

BOOST_AUTO_TEST_CASE(small_constants_are_copied_and_large_ones_are_operands) {
  for (const std::int64_t size : {1, 64, 65, 4096}) {
    Graph g;
    const Value h = g.input("h", DType::f64, {size});
    const Value c = g.constant(sines({size}, 0.1)), z = zeros(g, DType::f64, {size});
    const ScanResult r =
        scan(g, {h}, {}, {},
             [&](Graph&, const ScanElements& in) { return ScanStep{{in.carries[0] * c + z}}; },
             {.length = 2});
    BOOST_TEST(operands_of(g, "scan") == (size > 64 ? 2u : 1u));
    const Tensor ones = Tensor::full(DType::f64, {size}, 1);
    const Results y =
        Session(g, {.threads = 1}).run(Program("p").output("y", r.carries[0]), {{"h", ones}});
    const double last = sines({size}, 0.1).at(size - 1);
    BOOST_TEST(y["y"].at(size - 1) == last * last);
  }
}

BOOST_AUTO_TEST_CASE(bodies_may_return_captured_values) {
  Graph g;
  const Value h = g.input("h", DType::f64, {"n"}), w = g.input("w", DType::f64, {"n"});
  const Variable v = g.variable("v", DType::f64, {2}, {.initializer = Initializer::constant(3)});
  const Value c = g.constant(Tensor::of<double>({2}, {5, 6}));
  const ScanResult r = scan(g, {h}, {}, {},
                            [&](Graph&, const ScanElements& in) {
                              return ScanStep{{w}, {in.carries[0], v, c}};
                            },
                            {.length = 3});
  const Value chosen = cond(
      sum(h) > 100, {}, [&](Graph&, const Values&) { return Values{h}; },
      [&](Graph&, const Values&) { return Values{w}; })[0];
  const Value last = while_loop(
      g, {h}, [&](Graph&, const Values&) { return Values{sum(h) < 100}; },
      [&](Graph&, const Values&) { return Values{w}; }, 2)[0];
  Program p("p");
  p.output("carry", r.carries[0]).output("carries", r.outputs[0]).output("v", r.outputs[1]);
  p.output("c", r.outputs[2]).output("chosen", chosen).output("last", last);
  p.output("dw", gradient(sum(r.outputs[0] * 2) + sum(chosen), w));
  for (const bool passes : {false, true}) {
    Session session(g, {.threads = 1, .passes = passes, .verify = true, .poison = true});
    const Results out = session.run(
        p, {{"h", Tensor::of<double>({2}, {1, 2})}, {"w", Tensor::of<double>({2}, {3, 4})}});
    BOOST_TEST(out["carry"].at(1) == 4);
    BOOST_TEST(out["carries"].at(1) == 2);
    BOOST_TEST(out["carries"].at(5) == 4);
    BOOST_TEST(out["v"].at(5) == 3);
    BOOST_TEST(out["c"].at(5) == 6);
    BOOST_TEST(out["chosen"].at(0) == 3);
    BOOST_TEST(out["last"].at(0) == 3);
    BOOST_TEST(out["dw"].at(0) == 5);
  }
}

// A scan in a cond in a scan, with values from every level.
BOOST_AUTO_TEST_CASE(nested_bodies_capture_values_of_every_level) {
  const auto build = [](Graph& g, bool captured) {
    const Value h = g.input("h", DType::f64, {"batch", 3}), x = g.input("x", DType::f64, {4, 3});
    const Value w = g.variable("w", DType::f64, {3, 3}, {.initializer = Initializer::normal(0.4)});
    const Value b = g.variable("b", DType::f64, {3}, {.initializer = Initializer::normal(1)});
    const auto innermost = [](Value c, Value w, Value b, Value row) {
      return tanh(matmul(c, w) + b * row) + 0.25;
    };
    const ScanResult r =
        captured
            ? scan(g, {h}, {x}, {},
                   [&](Graph& outer, const ScanElements& in) {
                     const Value scaled = b * 2;
                     return ScanStep{{cond(
                         sum(in.carries[0]) > 0.1, {},
                         [&](Graph&, const Values&) {
                           const Value row = in.elements[0] + 1;
                           // `outer` and `g` refer to the same graph here: the body that is being
                           // built.
                           return scan(outer, {in.carries[0]}, {}, {},
                                       [&](Graph&, const ScanElements& c) {
                                         return ScanStep{{innermost(c.carries[0], w, scaled, row)}};
                                       },
                                       {.length = 2})
                               .carries;
                         },
                         [&](Graph&, const Values&) { return Values{in.carries[0] * b}; })}};
                   })
            : scan(g, {h}, {x}, {w, b}, [&](Graph&, const ScanElements& in) {
                const Value scaled = in.operands[1] * 2;
                return ScanStep{{cond(
                    sum(in.carries[0]) > 0.1,
                    {in.carries[0], in.operands[0], scaled, in.elements[0], in.operands[1]},
                    [&](Graph& branch, const Values& v) {
                      const Value row = v[3] + 1;
                      return scan(branch, {v[0]}, {}, {v[1], v[2], row},
                                  [&](Graph&, const ScanElements& c) {
                                    return ScanStep{{innermost(c.carries[0], c.operands[0],
                                                               c.operands[1], c.operands[2])}};
                                  },
                                  {.length = 2})
                          .carries;
                    },
                    [&](Graph&, const Values& v) { return Values{v[0] * v[4]}; })}};
              });
    const Value loss = sum(sin(r.carries[0]));
    const auto d = gradients(loss, {h, w, b, x});
    const auto dd = gradients(sum(square(d[1])), {w, b, h});
    Program p("p");
    p.output("y", r.carries[0]);
    for (std::size_t i = 0; i < d.size(); ++i) p.output(fmt::format("d{}", i), d[i]);
    for (std::size_t i = 0; i < dd.size(); ++i) p.output(fmt::format("dd{}", i), dd[i]);
    return p;
  };
  Graph g, u;
  const Program captured = build(g, true), passed = build(u, false);
  const NamedTensors feeds = {{"h", sines({2, 3}, 0.9)}, {"x", sines({4, 3}, 0.6)}};
  for (const bool passes : {false, true}) {
    Session a(g, {.seed = 1, .threads = 1, .passes = passes, .verify = true, .poison = true});
    Session b(u, {.seed = 1, .threads = 1, .passes = passes});
    check_same(a.run(captured, feeds), b.run(passed, feeds), "nested");
  }
  // From text and from a file.
  const Module read = parse_text(to_text(captured));
  BOOST_TEST(to_text(read.program) == to_text(captured));
  Session a(g, {.seed = 1, .threads = 1}), b(*read.graph, {.seed = 1, .threads = 1});
  const Results expected = a.run(captured, feeds);
  check_same(expected, b.run(read.program, feeds), "text");
  const testing::TemporaryFolder folder;
  save_checkpoint(folder / "loop.weft", a, {captured});
  const Checkpoint file = load_checkpoint(folder / "loop.weft");
  Session c(file.graph(), file.store(), {.threads = 1});
  check_same(expected, c.run(file.program("p"), feeds), "file");
}

BOOST_AUTO_TEST_CASE(operations_on_captured_values_run_only_in_the_selected_branch) {
  Graph g;
  const Value ids = g.input("ids", DType::i64, {2}), table = g.input("table", DType::f64, {3});
  const Value valid = g.input("valid", DType::boolean, {});
  // The look-up uses captured values only, but belongs to the branch.
  const Value y = cond(
      valid, {}, [&](Graph&, const Values&) { return Values{take(table, ids)}; },
      [&](Graph&, const Values&) { return Values{zeros(g, DType::f64, {2})}; })[0];
  const Program p = Program("p").output("y", y);
  for (const bool passes : {false, true}) {
    Session session(g, {.threads = 1, .passes = passes});
    const auto run = [&](bool flag, std::int64_t id) {
      return session.run(p, {{"ids", Tensor::of<std::int64_t>({2}, {1, id})},
                             {"table", sines({3}, 1)},
                             {"valid", Tensor::scalar(DType::boolean, flag)}})["y"];
    };
    BOOST_TEST(run(false, 7).at(1) == 0);
    BOOST_TEST(run(true, 2).at(1) == sines({3}, 1).at(2));
    BOOST_CHECK_THROW(run(true, 7), DataError);
  }
}

// Sizes of captured values mean the same inside and outside, also if no operand has such a size.
BOOST_AUTO_TEST_CASE(bodies_share_the_symbols_of_the_graph_around_them) {
  Graph g;
  const Value x = g.input("x", DType::f64, {"n", 3}), y = g.input("y", DType::f64, {"m"});
  const Value both = concat({reshape(x, {x.shape()[0] * 3}), y}, 0);  // [3 n + m]
  g.require(g.dim("m") == g.dim("k") * 2);
  const ScanResult r =
      scan(g, {sum(y)}, {}, {},
           [&](Graph& body, const ScanElements& in) {
             const Value rows = broadcast_to(in.carries[0], {x.shape()[0], 3});
             const Value joined = concat({reshape(rows + x, {g.dim("n") * 3}), y}, 0) + both;
             // m == 2 k is known in the body.
             const Value halves = reshape(y, {body.dim("k"), 2});
             const Value sizes = dim_value(g, x.shape()[0] + y.shape()[0], DType::f64);
             return ScanStep{{sum(joined) * 0.01 + sum(halves) + sizes * 0.001}, {joined}};
           },
           {.length = x.shape()[0] + 1});
  const Value zero = cond(
      sum(y) > 0, {},
      [&](Graph& b, const Values&) {
        return Values{zeros(b, DType::f64, {b.dim("n"), 2})};
      },
      [&](Graph&, const Values&) {
        return Values{ones(g, DType::f64, {x.shape()[0], 2})};
      })[0];
  const Program p = Program("p")
                        .output("last", r.carries[0])
                        .output("joined", r.outputs[0])
                        .output("zero", zero)
                        .output("dx", gradient(r.carries[0], x))
                        .output("dy", gradient(r.carries[0], y));
  const Module read = parse_text(to_text(p));
  for (const auto& [n, m] : {std::pair<std::int64_t, std::int64_t>{2, 4}, {0, 2}, {3, 0}, {0, 0}}) {
    const NamedTensors feeds = {{"x", sines({n, 3}, 0.2)}, {"y", sines({m}, 0.8)}};
    Graph u;
    const Value ux = u.input("x", DType::f64, {n, 3}), uy = u.input("y", DType::f64, {m});
    const Value uboth = concat({reshape(ux, {n * 3}), uy}, 0);
    Value state = sum(uy);
    Values rows;
    for (std::int64_t i = 0; i <= n; ++i) {
      const Value joined = concat({reshape(state + ux, {n * 3}), uy}, 0) + uboth;
      const double sizes = static_cast<double>(n + m) * 0.001;
      rows.push_back(joined);
      state = sum(joined) * 0.01 + sum(uy) + sizes;
    }
    const Program flat = Program("flat")
                             .output("last", state)
                             .output("joined", stack(rows))
                             .output("dx", gradient(state, ux))
                             .output("dy", gradient(state, uy));
    const Results expected = Session(u, {.threads = 1}).run(flat, feeds);
    const RunOptions run{.dims = {{"k", m / 2}}};
    for (const bool passes : {false, true}) {
      Session session(g, {.threads = 1, .passes = passes, .verify = true});
      const Results found = session.run(p, feeds, run);
      for (const auto& [name, tensor] : expected) {
        BOOST_REQUIRE(found[name].sizes() == tensor.sizes());
        if (tensor.numel() > 0) BOOST_TEST(testing::max_difference(found[name], tensor) < 1e-12);
      }
      BOOST_TEST(found["zero"].size(0) == n);
    }
    Session session(g, {.threads = 1}), loaded(*read.graph, {.threads = 1});
    check_same(session.run(p, feeds, run), loaded.run(read.program, feeds, run), "text");
  }
}

BOOST_AUTO_TEST_CASE(symbols_that_a_nested_loop_declares_are_sizes_of_the_run) {
  Graph g;
  const Value x = g.input("x", DType::f64, {4});
  const auto outer = [](Graph& body, const ScanElements& in) {
    const auto inner = [](Graph&, const ScanElements& c) { return ScanStep{{c.carries[0] + 1}}; };
    return ScanStep{scan(body, in.carries, {}, {}, inner, {.length = "inner"}).carries};
  };
  const Program p =
      Program("p").output("y", scan(g, {x}, {}, {}, outer, {.length = "outer"}).carries[0]);
  const Results r =
      Session(g, {.threads = 1})
          .run(p, {{"x", Tensor::zeros(DType::f64, {4})}}, {.dims = {{"inner", 3}, {"outer", 5}}});
  BOOST_TEST(r["y"].at(0) == 15);
}

BOOST_AUTO_TEST_CASE(sharded_programs_may_capture) {
  const auto trained = [](int shards, bool captured) {
    Graph g;
    const Value x = permute(g.input("x", DType::f64, {"batch", 6, 3}), {1, 0, 2});
    const Variable w = g.variable("w", DType::f64, {3, 3}, {.initializer = Initializer::normal(1)});
    const Values operands = captured ? Values{} : Values{w};
    const auto body = [&](Graph&, const ScanElements& in) {
      return ScanStep{
          {tanh(matmul(in.carries[0], captured ? w : in.operands[0]) + in.elements[0])}};
    };
    const Value h0 = zeros(g, DType::f64, {x.shape()[1], 3});
    const Value loss = mean(square(scan(g, {h0}, {x}, operands, body).carries[0]));
    const Value mean_loss = shards > 1 ? shard_mean(loss) : loss;
    const Program p = Program("p")
                          .output("loss", mean_loss)
                          .update(w, w - 0.1 * gradient(mean_loss, w))
                          .shards({.count = shards});
    Session session(g, {.threads = 1, .verify = true});
    session.run(p, {{"x", sines({4, 6, 3}, 0.7)}});
    return session.value("w");
  };
  for (const int shards : {1, 2}) {
    BOOST_TEST(bitwise_equal(trained(shards, true), trained(shards, false)));
  }
  BOOST_TEST(testing::max_difference(trained(1, true), trained(2, true)) < 1e-14);
}

BOOST_AUTO_TEST_CASE(loops_that_capture_can_run_in_segments_and_with_lengths) {
  for (const std::int64_t segment : {0, 1, 3}) {
    for (const bool reverse : {false, true}) {
      const auto build = [&](Graph& g, bool captured) {
        const Value x = g.input("x", DType::f64, {"time", "batch", 3});
        const Value lengths = g.input("lengths", DType::i64, {"batch"});
        const Value w =
            g.variable("w", DType::f64, {3, 3}, {.initializer = Initializer::normal(1)});
        const Value h = zeros(g, DType::f64, {x.shape()[1], 3});
        const Values operands = captured ? Values{} : Values{w};
        const ScanResult r = scan(g, {h}, {x}, operands,
                                  [&](Graph&, const ScanElements& in) {
                                    const Value weight = captured ? w : in.operands[0];
                                    const Value next =
                                        sin(matmul(in.carries[0], weight) + in.elements[0]);
                                    return ScanStep{{next}, {next + 1}};
                                  },
                                  {.reverse = reverse, .lengths = lengths, .segment = segment});
        const auto d = gradients(sum(square(r.carries[0])) + sum(r.outputs[0]), {w, x});
        return Program("p")
            .output("h", r.carries[0])
            .output("y", r.outputs[0])
            .output("dw", d[0])
            .output("dx", d[1]);
      };
      Graph g, u;
      const Program captured = build(g, true), passed = build(u, false);
      const NamedTensors feeds = {{"x", sines({7, 3, 3}, 0.4)},
                                  {"lengths", Tensor::of<std::int64_t>({3}, {7, 0, 4})}};
      Session a(g, {.threads = 1, .verify = true}), b(u, {.threads = 1});
      check_same(a.run(captured, feeds), b.run(passed, feeds), fmt::format("segment {}", segment));
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
