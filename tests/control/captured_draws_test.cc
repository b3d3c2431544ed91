// Random draws in the bodies of loops and branches from captured keys.
#include <fmt/format.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <vector>

#include "weft/graph/control/cond.h"
#include "weft/graph/control/scan.h"
#include "weft/graph/functions.h"
#include "weft/graph/run/session.h"
#include "weft/tests/control/random_step.h"
#include "weft/tests/support/numbers.h"

namespace weft {
namespace {

using testing::check_same;
using Values = std::vector<Value>;

BOOST_AUTO_TEST_SUITE(captured_draws)

BOOST_AUTO_TEST_CASE(captured_keys_draw_different_numbers_in_every_step) {
  Graph g;
  const Value h = g.input("h", DType::f32, {8});
  const ScanResult r = scan(g, {h}, {}, {},
                            [&](Graph&, const ScanElements& in) {
                              // No operand of normal() belongs to the body.
                              const Value noise = normal(g.key("k"), {8});
                              const ScanResult inner = scan(
                                  g, {noise}, {}, {},
                                  [&](Graph&, const ScanElements& c) {
                                    return ScanStep{{c.carries[0]}, {uniform(g.key("k"), {2})}};
                                  },
                                  {.length = 3});
                              return ScanStep{{in.carries[0]}, {noise, inner.outputs[0]}};
                            },
                            {.length = 4});
  const Value count = zeros(g, DType::i64, {});
  const auto drawn = while_loop(
      g, {count, zeros(g, DType::f32, {5, 2})},
      [](Graph&, const Values& in) { return Values{in[0] < 5}; },
      [&](Graph&, const Values& in) {
        const Value row = unsqueeze(uniform(g.key("k"), {2}), 0);
        const Value here = unsqueeze(equal(arange(g, Dim(5)), in[0]), 1);
        return Values{in[0] + 1, where(here, row, in[1])};
      },
      10);
  BOOST_TEST(drawn.size() == 2u);
  const Program p = Program("p")
                        .output("noise", r.outputs[0])
                        .output("inner", r.outputs[1])
                        .output("drawn", drawn[1])
                        .output("count", drawn[0]);
  Session session(g, {.seed = 2, .threads = 1, .verify = true});
  const NamedTensors feeds = {{"h", Tensor::zeros(DType::f32, {8})}};
  const Results first = session.run(p, feeds), second = session.run(p, feeds);
  BOOST_TEST(first["count"].item<std::int64_t>() == 5);
  for (const char* name : {"noise", "inner", "drawn"}) {
    const auto a = testing::elements_of(first[name]), b = testing::elements_of(second[name]);
    for (std::size_t i = 0; i < a.size(); ++i) {
      BOOST_TEST(a[i] != b[i]);
      for (std::size_t k = 0; k < i; ++k) BOOST_TEST(a[i] != a[k], name << " " << i << " " << k);
    }
  }
  Session again(g, {.seed = 2, .threads = 2, .passes = false});
  check_same(first, again.run(p, feeds), "the same seed");
}

// Loops and branches have their own random streams, also if all of them draw from one key.
BOOST_AUTO_TEST_CASE(draws_of_different_loops_and_branches_differ) {
  Graph g;
  const Value key = g.key("k"), h = g.input("h", DType::f32, {4});
  const auto draw = [&](Graph&, const Values&) { return Values{uniform(key, {4})}; };
  const auto loop = [&](std::int64_t segment) {
    return scan(g, {h}, {}, {},
                [&](Graph&, const ScanElements& in) {
                  return ScanStep{{in.carries[0]}, {uniform(key, {4})}};
                },
                {.length = 3, .segment = segment})
        .outputs[0];
  };
  const Values drawn = {
      uniform(key, {4}),
      cond(sum(h) < 1, {}, draw, draw)[0],
      cond(sum(h) > 1, {}, draw, draw)[0],
      loop(0),
      loop(0),
      loop(2),
      while_loop(
          g, {h}, [](Graph&, const Values& in) { return Values{sum(in[0]) < 1}; }, draw, 1)[0],
      uniform(key, {4})};
  Program p("p");
  for (std::size_t i = 0; i < drawn.size(); ++i) p.output(fmt::format("{}", i), drawn[i]);
  const NamedTensors feeds = {{"h", Tensor::zeros(DType::f32, {4})}};
  const Results r = Session(g, {.threads = 1}).run(p, feeds);
  std::vector<double> all;
  for (const auto& [name, tensor] : r) {
    const auto elements = testing::elements_of(tensor);
    all.insert(all.end(), elements.begin(), elements.end());
  }
  std::sort(all.begin(), all.end());
  BOOST_TEST(all.size() == 56u);
  BOOST_TEST((std::adjacent_find(all.begin(), all.end()) == all.end()));
  check_same(r, Session(g, {.threads = 1, .passes = false}).run(p, feeds), "passes");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
