// Random numbers in functions. Every call draws its own random numbers, and everything derived from
// one call reuses the same numbers.
#include <boost/test/unit_test.hpp>
#include <set>

#include "weft/autodiff/gradients.h"
#include "weft/graph/control/call.h"
#include "weft/graph/functions.h"
#include "weft/graph/passes/pipeline.h"
#include "weft/graph/run/session.h"
#include "weft/graph/text/text.h"
#include "weft/serialization/checkpoint.h"

namespace weft {
namespace {

constexpr std::int64_t kElements = 256;
using Mask = std::vector<float>;

NamedTensors ones() { return {{"x", Tensor::full(DType::f32, {kElements}, 1)}}; }

std::vector<FormalInput> x_and_key() {
  return {{"x", DType::f32, {"n"}}, {"key", DType::i64, {2}}};
}

// drop(x, key) is one dropout. nested(x, key) calls drop twice, with a dropout in between.
struct Functions {
  Graph g;
  Value x = g.input("x", DType::f32, {kElements});
  Variable key = g.key("dropout");
  Functions() {
    const auto drop = [](Graph&, const std::vector<Value>& in) {
      return std::vector<Value>{dropout(in[0], 0.5, in[1])};
    };
    define_function(g, "drop", x_and_key(), drop);
    define_function(g, "nested", x_and_key(), [&](Graph& body, const std::vector<Value>& in) {
      define_function(body, "drop", x_and_key(), drop);
      return std::vector<Value>{call(body, "drop", in)[0], dropout(in[0], 0.5, in[1]),
                                call(body, "drop", in)[0]};
    });
  }
  std::vector<Value> call_of(std::string_view name) { return call(g, name, {x, key}); }

  /// Returns the outputs of a first run.
  static std::vector<Mask> run(Graph& g, const Program& p, SessionOptions options = {}) {
    options.threads = 1, options.seed = 3;
    Session session(g, options);
    const auto results = session.run(p, ones());
    std::vector<Mask> masks;
    for (const auto& output : p.outputs()) {
      masks.push_back(results[output.first].to_vector<float>());
    }
    return masks;
  }
  std::vector<Mask> run(const std::vector<Value>& values, SessionOptions options = {}) {
    return run(g, program(values), options);
  }
  static Program program(const std::vector<Value>& values) {
    Program p("p");
    for (std::size_t i = 0; i < values.size(); ++i) p.output("y" + std::to_string(i), values[i]);
    return p;
  }
};

void check_all_different(const std::vector<Mask>& masks) {
  BOOST_TEST(std::set<Mask>(masks.begin(), masks.end()).size() == masks.size());
  for (const Mask& m : masks) {
    BOOST_TEST((std::set<float>(m.begin(), m.end()) == std::set<float>{0, 2}));
  }
}

BOOST_AUTO_TEST_SUITE(function_draws)

BOOST_FIXTURE_TEST_CASE(every_call_and_every_other_dropout_drops_different_elements, Functions) {
  std::vector<Value> values = {dropout(x, 0.5, key), call_of("drop")[0], call_of("drop")[0]};
  for (int i = 0; i < 2; ++i) {
    for (const Value& v : call_of("nested")) values.push_back(v);
  }
  values.push_back(dropout(x, 0.5, key));
  check_all_different(run(values));
  check_all_different(run(values, {.passes = false}));
}

BOOST_FIXTURE_TEST_CASE(calls_without_random_numbers_are_shared, Functions) {
  define_function(
      g, "double", {{"x", DType::f32, {"n"}}},
      [](Graph&, const std::vector<Value>& in) { return std::vector<Value>{in[0] + in[0]}; });
  BOOST_TEST((call(g, "double", {x})[0] == call(g, "double", {x})[0]));
  BOOST_TEST((call_of("drop")[0] != call_of("drop")[0]));
}

BOOST_FIXTURE_TEST_CASE(the_gradient_of_a_call_reuses_its_random_numbers, Functions) {
  std::vector<Value> values;
  for (const char* name : {"drop", "drop", "nested"}) {
    for (const Value& y : call_of(name)) {
      values.push_back(y);
      values.push_back(gradient(sum(y), x));
    }
  }
  for (const bool passes : {true, false}) {
    const auto masks = run(values, {.passes = passes});
    for (std::size_t i = 0; i < masks.size(); i += 2) BOOST_TEST((masks[i] == masks[i + 1]));
  }
}

BOOST_FIXTURE_TEST_CASE(recomputation_text_and_inlining_reuse_the_random_numbers, Functions) {
  std::vector<Value> values;
  Value h = x;
  for (int i = 0; i < 3; ++i) {
    h = exp(call(g, "nested", {h * 0.01f, key})[0]) * h;
    values.push_back(h);
  }
  values.push_back(gradient(sum(h * h), x));
  const Program p = program(values);
  const auto expected = run(g, p);

  Session plain(g, {.threads = 1});
  const std::size_t arena = plain.plan(p, {{"x", {kElements}}})->arena_bytes;
  BOOST_TEST((run(g, p, {.memory_budget = arena - 1}) == expected));

  const Module read = parse_text(to_text(p));
  BOOST_TEST((run(*read.graph, read.program) == expected));
  const Module inlined = inline_calls(clone_program(p));
  BOOST_TEST((run(*inlined.graph, inlined.program) == expected));
}

BOOST_FIXTURE_TEST_CASE(programs_that_draw_random_numbers_only_in_functions_advance_the_key,
                        Functions) {
  const Program p = program({call_of("nested")[0]});
  BOOST_TEST(p.updates().size() == 1u);
  Session session(g, {.seed = 3, .threads = 1});
  const auto draw = [&] { return session.run(p, ones())["y0"].to_vector<float>(); };
  const Mask first = draw();
  check_all_different({first, draw(), draw()});
}

BOOST_FIXTURE_TEST_CASE(custom_gradients_can_reuse_the_random_numbers_of_the_call, Functions) {
  const auto forward = [](Graph&, const std::vector<Value>& in) {
    return std::vector<Value>{dropout(in[0], 0.5, in[1])};
  };
  const auto backward = [](Graph&, const std::vector<Value>& in) {
    return std::vector<Value>{dropout(in[3], 0.5, in[1]), Value()};  // x, key, y, cotangent
  };
  std::vector<Value> values;
  for (int i = 0; i < 2; ++i) {
    values.push_back(custom_gradient(g, "mine", {x, key}, forward, backward)[0]);
    values.push_back(gradient(sum(values.back()), x));
  }
  const auto masks = run(values);
  BOOST_TEST((masks[0] == masks[1]));
  BOOST_TEST((masks[2] == masks[3]));
  check_all_different({masks[0], masks[2]});
}

BOOST_AUTO_TEST_CASE(a_call_without_a_stream_number_draws_the_same_numbers_as_its_body) {
  // Calls in files from earlier versions have no stream number and behave in this way.
  const Module m = parse_text(R"(weft text 1
input %x: f32[256]
variable @dropout: key i64[2] = key()
func @drop(%x, %key) {
  input %x: f32[256]
  input %key: i64[2]
  %0 = dropout(%x, %key) {rate = 0.5, stream = 7} : f32[256]
  return %0
}
%0 = call(%x, @dropout) {body = "drop"} : f32[256]
%1 = dropout(%x, @dropout) {rate = 0.5, stream = 7} : f32[256]
program p {
  output y0 = %0
  output y1 = %1
}
)");
  const auto masks = Functions::run(*m.graph, m.program);
  BOOST_TEST((masks[0] == masks[1]));
  // New calls must get unused stream numbers.
  Graph& g = *m.graph;
  BOOST_TEST(g.next_stream() > 7);
  BOOST_CHECK_THROW(g.apply("call", {g.find_input("x"), g.find_variable("dropout").value()},
                            {{"body", std::string("drop")}, {"stream", std::int64_t{0xFFFFFFFF}}}),
                    ArgumentError);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
