// Functions with the same name are distinguished when graphs are combined.
#include "weft/graph/ir/difference.h"

#include <boost/test/unit_test.hpp>

#include "weft/graph/control/call.h"
#include "weft/graph/functions.h"
#include "weft/graph/ir/clone.h"
#include "weft/graph/run/session.h"
#include "weft/tests/support/messages.h"

namespace weft {
namespace {

constexpr std::int64_t kMany = 100;  // more elements than the text format prints

Tensor ramp(float first) {
  Tensor t = Tensor::empty(DType::f32, {kMany});
  for (std::int64_t i = 0; i < kMany; ++i) t.mutable_data<float>()[i] = first + float(i);
  return t;
}

/// Adds a function `name` to `g`. The function defines and calls a nested function "inner", which
/// adds `table`.
void define_nested(Graph& g, const std::string& name, const Tensor& table) {
  define_function(g, name, {{"x", DType::f32, {kMany}}},
                  [&](Graph& body, const std::vector<Value>& in) {
                    define_function(body, "inner", {{"x", DType::f32, {kMany}}},
                                    [&](Graph& inside, const std::vector<Value>& x) {
                                      return std::vector<Value>{x[0] + inside.constant(table)};
                                    });
                    return std::vector<Value>{call(body, "inner", in)[0]};
                  });
}

BOOST_AUTO_TEST_SUITE(differences)

BOOST_AUTO_TEST_CASE(functions_are_equal_only_if_all_elements_of_their_constants_are_equal) {
  Graph a, b, c;
  define_nested(a, "f", ramp(0));
  define_nested(b, "f", ramp(0));
  Tensor other = ramp(0);
  other.mutable_data<float>()[kMany / 2] += 1;
  define_nested(c, "f", other);
  BOOST_TEST(difference(a.function("f"), b.function("f")) == "");
  BOOST_TEST(difference(a.function("f"), c.function("f")) == "constant: they differ in value");
}

BOOST_AUTO_TEST_CASE(programs_are_equal_only_if_their_options_are_equal) {
  Graph g;
  const Program plain = Program("p").output("y", g.constant(ramp(0)));
  Program precise = plain, invariant = plain, sharded = plain;
  precise.precision(Precision::high);
  invariant.batch_invariant();
  sharded.shards({.count = 2});
  BOOST_TEST(difference(plain, plain) == "");
  BOOST_TEST(difference(plain, precise) == "different precisions");
  BOOST_TEST(difference(plain, invariant) == "only one is batch-invariant");
  BOOST_TEST(difference(plain, sharded) == "different shards");
}

BOOST_AUTO_TEST_CASE(nested_functions_with_equal_names_keep_their_constants) {
  Graph g;
  define_nested(g, "f", ramp(0));
  define_nested(g, "h", ramp(1000));
  const Value x = g.input("x", DType::f32, {kMany});
  Program p("p");
  p.output("f", call(g, "f", {x})[0]).output("h", call(g, "h", {x})[0]);
  for (const bool passes : {true, false}) {
    Session session(g, {.passes = passes});
    const Results y = session.run(p, {{"x", Tensor::zeros(DType::f32, {kMany})}});
    BOOST_TEST(y["f"].at(1) == 1);
    BOOST_TEST(y["h"].at(1) == 1001);
  }
}

BOOST_AUTO_TEST_CASE(custom_gradients_with_equal_names_and_different_constants_are_rejected) {
  Graph g;
  const Value x = g.input("x", DType::f32, {kMany});
  const auto add = [&](float first) {
    custom_gradient(
        g, "add_table", {x},
        [&](Graph& body, const std::vector<Value>& in) {
          return std::vector<Value>{in[0] + body.constant(ramp(first))};
        },
        [](Graph&, const std::vector<Value>& in) { return std::vector<Value>{in[2]}; });
  };
  add(0);
  add(0);
  BOOST_CHECK_EXCEPTION(add(1), GraphError,
                        testing::says("the graph already has a different function with this name ("
                                      "constant: they differ in value); choose another name"));
}

BOOST_AUTO_TEST_CASE(functions_with_equal_names_from_two_graphs_keep_their_constants) {
  Graph target, a, b;
  std::vector<Value> copies;
  for (Graph* source : {&a, &b}) {
    define_function(*source, "f", {{"x", DType::f32, {kMany}}},
                    [&](Graph& body, const std::vector<Value>& in) {
                      return std::vector<Value>{in[0] + body.constant(ramp(source == &a ? 0 : 7))};
                    });
    const Value zero = source->constant(Tensor::zeros(DType::f32, {kMany}));
    Cloner cloner(target);
    copies.push_back(cloner.copy(call(*source, "f", {zero})[0]));
  }
  Program p("p");
  p.output("a", copies[0]).output("b", copies[1]);
  const Results y = Session(target).run(p, {});
  BOOST_TEST(y["a"].at(0) == 0);
  BOOST_TEST(y["b"].at(0) == 7);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
