// check_rows and check_causal name the node that mixes rows or positions, also in bodies of loops
// and branches.
#include <boost/test/unit_test.hpp>
#include <functional>

#include "weft/graph/control/cond.h"
#include "weft/graph/control/scan.h"
#include "weft/graph/functions.h"
#include "weft/models/layers/channel_norm.h"
#include "weft/testing/model_checks.h"
#include "weft/testing/random_tensors.h"
#include "weft/tests/support/messages.h"

namespace weft::testing {
namespace {

using Build = std::function<Value(Graph&, Value)>;

Outcome rows_with(const Build& build) {
  Graph g;
  const Value x = g.input("x", DType::f32, {"batch", 3});
  // The mean over the rows in the first output is not a fault.
  const Program program = Program("p").output("loss", mean(square(x))).output("y", build(g, x));
  return check_rows(g, program, {.feeds = {{"x", normal_tensor({4, 3}, 1)}}});
}

Outcome invariance_of(const Build& build) {
  Graph g;
  const Value x = g.input("x", DType::f32, {"batch", 3});
  const Program program = Program("p").output("loss", mean(square(x))).output("y", build(g, x));
  return check_batch_invariance(g, program, {.feeds = {{"x", normal_tensor({4, 3}, 1)}}});
}

void check_named(const Build& build, const std::string& op, const std::string& within = {}) {
  const Outcome found = rows_with(build);
  BOOST_TEST(!found);
  const std::size_t at = found.message().find("the first node that mixes rows is ");
  BOOST_TEST_REQUIRE(at != std::string::npos, found);
  const std::string named = found.message().substr(at);
  BOOST_TEST(named.starts_with("the first node that mixes rows is " + op + ", "), named);
  BOOST_TEST(named.find("mixed_rows_test.cc") != std::string::npos, named);
  BOOST_TEST(named.find(within) != std::string::npos, named);
}

/// Applies `step` to x three times.
Build looped(const std::function<Value(Value)>& step) {
  return [=](Graph& g, Value x) {
    const ScanBody body = [&](Graph&, const ScanElements& in) {
      return ScanStep{.carries = {step(in.carries[0])}};
    };
    return exp(scan(g, {x}, {}, {}, body, {.length = AxisSize(3)}).carries[0]);
  };
}

BOOST_AUTO_TEST_SUITE(mixed_rows)

BOOST_AUTO_TEST_CASE(rows_that_depend_on_the_batch_are_not_batch_invariant) {
  const auto centred = [](int axis) {
    return [=](Graph&, Value x) { return exp(x - mean(x, {axis}, true)); };
  };
  BOOST_TEST(invariance_of(centred(1)));
  const Outcome mixed = invariance_of(centred(0));
  BOOST_TEST(!mixed);
  for (const char* part :
       {"output 'y' of rows 0 to 0 depends on the other rows of a batch of 4 (with 1 thread): ",
        "\n  the first node that mixes rows is mean, ", "mixed_rows_test.cc"})
    BOOST_TEST(mixed.message().find(part) != std::string::npos, mixed);
  // A difference of a few bits, such as that between two orders of summation.
  const Outcome rounded = invariance_of([](Graph& g, Value x) {
    const Value rows =
        g.apply("dim_value", {}, {{"dim", g.dim("batch")}, {"dtype", DType::f32}}).output(0);
    return x * (1 + 1e-6 * rows);
  });
  BOOST_TEST(!rounded);
  BOOST_TEST(rounded.message().find("\n  only the last bits differ: ") != std::string::npos,
             rounded);
  Graph g;
  const Value x = g.input("x", DType::f32, {"batch", 3});
  BOOST_TEST(check_batch_invariance(g, Program("p").output("y", x * 2),
                                    {.feeds = {{"x", normal_tensor({1, 3}, 1)}}})
                 .message() ==
             "check_batch_invariance needs feeds with at least 2 rows along 'batch', but they have "
             "1");
}

BOOST_AUTO_TEST_CASE(operations_that_mix_rows_are_named) {
  check_named([](Graph&, Value x) { return exp(sort(x, 0).values); }, "sort");
  check_named([](Graph&, Value x) { return exp(cumsum(x, 0)); }, "cumsum");
  check_named([](Graph&, Value x) { return flip(x, {0}) * 2; }, "flip");
  check_named([](Graph& g, Value x) { return tanh(batch_norm(Scope(g, "n").training(), x)); },
              "mean", "in batch_norm called at ");
  check_named(
      [](Graph&, Value x) {
        return transpose(reshape(x, {Dim(3), x.size(0)})) * 2;
      },
      "reshape");
  check_named(
      [](Graph&, Value x) {
        const Value twice = concat({x, x}, 0);
        return x + slice(twice, 0, {.begin = Dim(1), .end = x.size(0) + 1});
      },
      "slice");
  BOOST_TEST(rows_with([](Graph&, Value x) { return exp(sort(x, 1).values); }));
  BOOST_TEST(
      rows_with([](Graph& g, Value x) { return tanh(batch_norm(Scope(g, "n").evaluation(), x)); }));
}

BOOST_AUTO_TEST_CASE(rows_that_are_merged_with_features_are_followed) {
  const auto merged = [](const std::function<Value(Value)>& f) {
    return [=](Graph&, Value x) {
      const Value all = f(reshape(transpose(x), {Dim(1), x.size(0) * 3}));
      return transpose(reshape(all, {Dim(3), x.size(0)})) - 1;
    };
  };
  check_named(merged([](Value all) { return softmax(exp(all), -1); }), "softmax");
  BOOST_TEST(rows_with(merged([](Value all) { return exp(all); })));
}

BOOST_AUTO_TEST_CASE(nodes_in_bodies_that_mix_rows_are_named) {
  check_named(looped([](Value h) { return tanh(h - mean(h, {0}, true)); }), "mean",
              "\n  in step 0 of scan, ");
  BOOST_TEST(rows_with(looped([](Value h) { return tanh(h - mean(h, {1}, true)); })));
  const auto branch = [](int axis) {
    return [=](Graph&, Value x) {
      return cond(
          sum(square(x)) > -1, {x},
          [=](Graph&, const std::vector<Value>& v) {
            return std::vector<Value>{v[0] / max(v[0], {axis}, true)};
          },
          [](Graph&, const std::vector<Value>& v) { return std::vector<Value>{v[0]}; })[0];
    };
  };
  check_named(branch(0), "max", "\n  in branch 'then' of cond, ");
  BOOST_TEST(rows_with(branch(1)));
}

BOOST_AUTO_TEST_CASE(decisions_that_depend_on_other_rows_are_named) {
  check_named(
      [](Graph&, Value x) {
        const auto times = [](double factor) {
          return [=](Graph&, const std::vector<Value>& v) {
            return std::vector<Value>{v[0] * factor};
          };
        };
        return cond(sum(x) > 0, {x}, times(2), times(3))[0];
      },
      "sum");
  check_named(
      [](Graph& g, Value x) {
        return while_loop(
            g, {x},
            [](Graph&, const std::vector<Value>& v) {
              return std::vector<Value>{any(v[0] > 0.01)};
            },
            [](Graph&, const std::vector<Value>& v) { return std::vector<Value>{v[0] * 0.5}; },
            40)[0];
      },
      "any", "\n  in the condition, step ");
}

BOOST_AUTO_TEST_CASE(a_loop_over_rows_is_named) {
  check_named(
      [](Graph& g, Value x) {
        const ScanBody body = [](Graph&, const ScanElements& in) {
          const Value total = in.carries[0] + in.elements[0];
          return ScanStep{.carries = {total}, .outputs = {total}};
        };
        return scan(g, {zeros(g, DType::f32, {3})}, {x}, {}, body).outputs[0];
      },
      "scan");
}

BOOST_AUTO_TEST_CASE(nodes_in_bodies_that_depend_on_later_positions_are_named) {
  const auto causal = [](int axis) {
    Graph g;
    const Value x = g.input("x", DType::f32, {"batch", "seq", 3});
    const ScanBody body = [&](Graph&, const ScanElements& in) {
      const Value h = in.carries[0];
      return ScanStep{.carries = {tanh(h - mean(h, {axis}, true))}};
    };
    const Value y = exp(scan(g, {x}, {}, {}, body, {.length = AxisSize(2)}).carries[0]);
    return check_causal(g, Program("p").output("y", y),
                        {.feeds = {{"x", normal_tensor({2, 5, 3}, 1)}}}, "x", "y");
  };
  BOOST_TEST(causal(2));
  const Outcome found = causal(1);
  BOOST_TEST(!found);
  for (const char* part :
       {"the first node that depends on later positions is mean, ", "\n  in step 0 of scan, "})
    BOOST_TEST(found.message().find(part) != std::string::npos, found);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft::testing
