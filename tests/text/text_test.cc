#include "weft/graph/text/text.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstring>
#include <ctime>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <random>

#include "weft/core/error.h"
#include "weft/graph/control/call.h"
#include "weft/graph/ir/difference.h"
#include "weft/graph/passes/verify.h"
#include "weft/graph/text/literal.h"
#include "weft/graph/text/scanner.h"
#include "weft/tests/support/messages.h"

namespace weft {
namespace {

using testing::says;

Value sum(Value x, std::vector<std::int64_t> axes) {
  return x.graph().apply("sum", {x}, {{"axes", axes}, {"keepdims", false}}).output(0);
}

std::size_t line_begin(const std::string& text, int line) {
  std::size_t at = 0;
  for (int i = 1; i < line; ++i) at = text.find('\n', at) + 1;
  return at;
}

// Returns a program with everything that the text format supports: symbols, requirements, variables
// of all kinds, aliases, unusual names, functions, constants of every dtype, optional operands,
// several outputs, instances and updates.
Program sample(Graph& g) {
  const Value x = g.input("x", DType::f32, {"batch", "seq", 4});
  const Value odd = g.input("odd name \"1\"\n", DType::f32, {2, 3});
  g.require(g.dim("seq") == g.dim("half") * 2);
  const Variable gain =
      g.variable("net.gain", DType::f32, {4}, {.initializer = Initializer::ones()});
  g.alias("tied gain", gain);
  const Variable frozen =
      g.variable("net.frozen", DType::f32, {4},
                 {.trainable = false, .initializer = Initializer::truncated_normal(0.02)});
  const Variable step = g.variable("step", DType::f32, {2, 3}, {.kind = VariableKind::optimizer});
  const Variable cache =
      g.variable("cache", DType::f32, {"batch", 7}, {.kind = VariableKind::cache});
  g.key("dropout");

  Node& norm = g.apply("layer_norm", {x, gain.value(), frozen.value()},
                       {{"axes", std::int64_t{1}}, {"eps", 1e-5}});
  const Value no_gain = g.apply("layer_norm", {x, Value(), frozen.value()},
                                {{"axes", std::int64_t{1}}, {"eps", 0x1.fp-1000}})
                            .output(0);
  g.set_name("hidden.0", norm.output(0));
  g.set_name("hidden again", norm.output(0));

  define_function(g, "total", {{"a", DType::f32, {"n", "m", 4}}},
                  [](Graph& body, const std::vector<Value>& in) {
                    define_function(body, "inner", {{"b", DType::f32, {"k"}}},
                                    [](Graph&, const std::vector<Value>& b) {
                                      return std::vector<Value>{sum(b[0], {0})};
                                    });
                    return call(body, "inner", {sum(in[0], {1, 2})});
                  });
  const Value total = call(g, "total", {norm.output(0)})[0];
  const Value mine = custom_gradient(
      g, "mine", {no_gain},
      [](Graph&, const std::vector<Value>& in) { return std::vector<Value>{sum(in[0], {2})}; },
      [](Graph& body, const std::vector<Value>& in) {
        return std::vector<Value>{body.apply("optimization_barrier", {in[0]}).output(0)};
      })[0];

  const OpRecord& barrier = g.ops().at("optimization_barrier");
  const Value again = g.apply(barrier, {odd}, {}, SourceLocation::current(), 3).output(0);
  std::vector<Value> constants;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  float payload;
  const std::uint32_t bits = 0xffc12345u;
  std::memcpy(&payload, &bits, 4);
  for (Tensor t :
       {Tensor::of<float>({6}, {0.1f, -0.0f, nan, payload, -std::numeric_limits<float>::infinity(),
                                std::numeric_limits<float>::denorm_min()}),
        Tensor::of<double>({2}, {0.1, std::nan("")}), Tensor::full(DType::bf16, {2}, 0.3),
        Tensor::full(DType::f16, {1, 1}, NAN),
        Tensor::of<std::int64_t>({2}, {INT64_MIN, INT64_MAX}), Tensor::of<std::int32_t>({1}, {-7}),
        Tensor::of<std::int8_t>({1}, {-128}), Tensor::of<std::uint8_t>({1}, {255}),
        Tensor::of<bool>({2}, {true, false}), Tensor::zeros(DType::f32, {0, 3}),
        Tensor::full(DType::f32, {100}, 0.7)}) {
    constants.push_back(g.constant(t));
  }
  Program p("train net");
  p.precision(Precision::medium)
      .batch_invariant()
      .output("total", total)
      .output("mine", mine)
      .output("rows",
              g.apply("dim_value", {}, {{"dim", g.dim("batch") * 3 + 1}, {"dtype", DType::i64}})
                  .output(0))
      .output("cache", cache.value())
      .update(step, again);
  for (std::size_t i = 0; i < constants.size(); ++i)
    p.output("c" + std::to_string(i), constants[i]);
  return p;
}

BOOST_AUTO_TEST_SUITE(text)

BOOST_AUTO_TEST_CASE(programs_are_printed_as_readable_text) {
  Graph g;
  const Value x = g.input("x", DType::f32, {"batch", 4});
  const Variable w =
      g.variable("net.w", DType::f32, {4}, {.initializer = Initializer::normal(0.5)});
  const Value y = sum(x, {0});
  g.set_name("total", y);
  Program p = Program("eval").output("y", y).update(w, y);
  BOOST_TEST(to_text(p) ==
             "weft text 1\n"
             "dim batch\n"
             "input %x: f32[batch, 4]\n"
             "variable @net.w: parameter f32[4] = normal(0, 0.5)\n"
             "%0 = sum(%x) {axes = [0]} : f32[4]\n"
             "name total = %0\n"
             "program eval {\n"
             "  output y = %0\n"
             "  update @net.w = %0\n"
             "}\n");
  const std::string places = to_text(p, {.source_locations = true});
  BOOST_TEST(places.find("text_test.cc:") != std::string::npos);
  BOOST_TEST(to_text(parse_text(places).program) == to_text(p));
}

BOOST_AUTO_TEST_CASE(round_trips_are_exact) {
  Graph g;
  const Program p = sample(g);
  TextConstants constants;
  const std::string first = to_text(p, {.constants = &constants});
  BOOST_TEST(constants.size() == 1u);
  const Module back = parse_text(first, {.constants = &constants});
  verify_program(back.program);
  BOOST_TEST(to_text(back.program) == first);
  BOOST_TEST(to_text(*back.graph).find("name hidden.0 = ") != std::string::npos);

  // Compares the programs, too, because both texts could omit the same information.
  BOOST_TEST(difference(p, back.program) == "");
  BOOST_TEST(back.program.nodes().size() == p.nodes().size());
  std::vector<std::string> ops, ops_back;
  for (const Node* n : p.nodes()) ops.push_back(n->op().name);
  for (const Node* n : back.program.nodes()) ops_back.push_back(n->op().name);
  std::sort(ops.begin(), ops.end());
  std::sort(ops_back.begin(), ops_back.end());
  BOOST_TEST(ops == ops_back, boost::test_tools::per_element());
  for (const auto& [name, value] : p.outputs()) {
    if (value.node().op().name != "constant") continue;
    for (const auto& [other, copy] : back.program.outputs()) {
      if (other != name) continue;
      BOOST_TEST(bitwise_equal(value.node().attributes().tensor("value"),
                               copy.node().attributes().tensor("value")));
    }
  }
  const Variable gain = back.graph->find_variable("tied gain");
  BOOST_TEST(gain.name() == "net.gain");
  BOOST_TEST(!back.graph->find_variable("net.frozen").info().trainable);
  BOOST_TEST((back.graph->find_variable("net.frozen").info().initializer ==
              g.find_variable("net.frozen").info().initializer));
  BOOST_TEST((back.graph->find_named("hidden again") == back.graph->find_named("hidden.0")));
  BOOST_TEST(back.graph->where(back.graph->find_named("hidden.0").node()).find("<text>:") == 0u);
}

BOOST_AUTO_TEST_CASE(whole_graphs_round_trip) {
  Graph g;
  sample(g);
  TextConstants constants;
  const std::string first = to_text(g, {.constants = &constants});
  const Module back = parse_text(first, {.constants = &constants});
  BOOST_TEST(to_text(*back.graph) == first);
  BOOST_TEST(back.program.outputs().empty());
  verify_graph(*back.graph);
}

BOOST_AUTO_TEST_CASE(an_empty_program_round_trips) {
  const std::string text = to_text(Program("nothing"));
  BOOST_TEST(to_text(parse_text(text).program) == text);
}

BOOST_AUTO_TEST_CASE(literals_may_be_written_by_hand) {
  const Module m = parse_text(
      "weft text 1\n"
      "%0 = constant() {value = f32[3] {0.5, -2, 1e3}} : f32[3]\n"
      "program p { output y = %0 }");
  BOOST_TEST(m.program.outputs()[0].second.node().attributes().tensor("value").to_vector<float>() ==
                 (std::vector<float>{0.5f, -2, 1000}),
             boost::test_tools::per_element());
}

std::string code_block(const std::string& file) {
  std::ifstream in(file);
  const std::string all((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  const std::size_t begin = all.rfind("```\nweft text 1");
  BOOST_REQUIRE(begin != std::string::npos);
  return all.substr(begin + 4, all.find("```", begin + 4) - begin - 4);
}

BOOST_AUTO_TEST_CASE(the_example_in_the_manual_can_be_parsed) {
  const Module m = parse_text(code_block(WEFT_SOURCE_DIR "/docs/graphs-as-text.md"));
  BOOST_TEST(to_text(m.program) ==
             "weft text 1\n"
             "dim batch\n"
             "input %x: f32[batch, 3]\n"
             "variable @w: parameter f32[3, 2] = normal(0, 0.5)\n"
             "%0 = matmul(%x, @w) : f32[batch, 2]\n"
             "%1 = relu(%0) : f32[batch, 2]\n"
             "%2 = mul(%1, 1.5) : f32[batch, 2]\n"
             "%3 = add(%2, f32[2] {0.1, -0.1}) : f32[batch, 2]\n"
             "program affine {\n"
             "  output y = %3\n"
             "}\n");
}

// Prints the program, parses the text and prints the result again. The texts and the programs must
// be equal.
std::string printed(const Program& p) {
  const std::string text = to_text(p);
  const Module back = parse_text(text);
  BOOST_TEST(difference(p, back.program) == "");
  BOOST_TEST(to_text(back.program) == text);
  return text;
}

BOOST_AUTO_TEST_CASE(scalar_constants_are_written_inline) {
  const Module m = parse_text(
      "weft text 1\n"
      "dim n\n"
      "input %x: f32[n]\n"
      "input %h: f64[n]\n"
      "input %i: i64[n]\n"
      "input %c: bool[n]\n"
      "%a = mul(0x1.8p+0, %x)\n"
      "%b = where(%c, %a, -inf) : f32[n]\n"
      "%d = where(%c, f32[] {1}, f32[] {0})\n"
      "%e = add(%i, 3)\n"
      "%f = div(%h, 3)\n"
      "%g = logical_and(%c, true)\n"
      "%j = take(%x, i64[2] {1, 0})\n"
      "%k = f32[] {2}\n"
      "%l = broadcast_to(%k) {shape = [n]}\n"
      "%m = add(f32[] {1}, f32[] {nan})\n"
      "name two = %k\n"
      "program p { output b = %b output d = %d output e = %e output f = %f output g = %g "
      "output j = %j output l = %l output m = %m output one = %k }");
  const std::string text = printed(m.program);
  for (const char* part :
       {"= mul(1.5, %x) : f32[n]\n", "= where(%c, %0, -inf) : f32[n]\n",
        "= where(%c, f32[] {1}, f32[] {0}) : f32[n]\n", "= add(%i, 3) : i64[n]\n",
        "= div(%h, 3) : f64[n]\n", "= logical_and(%c, true) : bool[n]\n",
        "= take(%x, i64[2] {1, 0}) : f32[2]\n", "%7 = f32[] {2}\n",
        "= broadcast_to(%7) {shape = [n]} : f32[n]\n", "= add(f32[] {1}, f32[] {nan}) : f32[]\n",
        "output one = %7\n"}) {
    BOOST_TEST(text.find(part) != std::string::npos, part << " in\n" << text);
  }
}

// A number whose dtype differs from that of the other operands, a shared constant that is not a
// scalar, a long constant, and constants in functions.
BOOST_AUTO_TEST_CASE(constants_that_cannot_be_written_as_a_number_round_trip) {
  Graph g;
  const Value x = g.input("x", DType::f32, {3});
  const Value shared = g.constant(Tensor::of<float>({3}, {1, 2, 3}));
  const Value half = g.scalar(DType::f32, 0.5), named = g.scalar(DType::f32, 0.25);
  g.set_name("quarter", named);
  const Value y = g.apply("add", {g.apply("mul", {x, shared}).output(0), shared}).output(0);
  const Value z = g.apply("mul", {g.apply("mul", {half, named}).output(0), half}).output(0);
  const Value start = g.scalar(DType::i64, 1);
  const Value piece =
      g.apply("dynamic_slice", {y, g.apply("reshape", {start}, {{"shape", Shape{1}}}).output(0)},
              {{"sizes", Shape{2}}})
          .output(0);
  define_function(g, "f", {{"a", DType::f32, {2}}}, [](Graph& body, const std::vector<Value>& in) {
    const Value two = body.scalar(DType::f32, 2);
    return std::vector<Value>{body.apply("mul", {in[0], two}).output(0), two};
  });
  const std::vector<Value> called = call(g, "f", {piece});
  const std::string text =
      printed(Program("p").output("z", z).output("f", called[0]).output("two", called[1]));
  BOOST_TEST(text.find("= f32[3] {1, 2, 3}\n") != std::string::npos, text);
  BOOST_TEST(text.find("= mul(f32[] {0.5}, %") != std::string::npos, text);
  BOOST_TEST(text.find("= reshape(i64[] {1}) {shape = [1]}") != std::string::npos, text);
  BOOST_TEST(text.find("return %1, %0") != std::string::npos, text);
}

void check_every_number_of_16_bits(DType dtype) {
  Tensor t = Tensor::empty(dtype, {1}), back = Tensor::empty(dtype, {1});
  std::size_t longest = 0;
  for (std::uint32_t bits = 0; bits < 0x10000u; ++bits) {
    const auto element = static_cast<std::uint16_t>(bits);
    std::memcpy(t.mutable_raw(), &element, 2);
    const std::string text = element_text(t, 0);
    if (!std::isnan(t.at(0))) longest = std::max(longest, text.size());
    const bool same = parse_element(text, back, 0) && bitwise_equal(t, back);
    if (!same) BOOST_ERROR(dtype_name(dtype) << " " << bits << " is " << text);
  }
  BOOST_TEST(longest <= 11u);
}

BOOST_AUTO_TEST_CASE(numbers_round_trip_bit_for_bit) {
  check_every_number_of_16_bits(DType::bf16);
  check_every_number_of_16_bits(DType::f16);
  std::mt19937_64 random(11);
  for (const DType dtype : {DType::f32, DType::f64}) {
    Tensor t = Tensor::empty(dtype, {1}), back = Tensor::empty(dtype, {1});
    for (int i = 0; i < 200000; ++i) {
      const std::uint64_t bits = random();
      std::memcpy(t.mutable_raw(), &bits, dtype_size(dtype));
      const std::string text = element_text(t, 0);
      const bool same = parse_element(text, back, 0) && bitwise_equal(t, back);
      if (!same) BOOST_ERROR(dtype_name(dtype) << " " << bits << " is " << text);
    }
  }
  const Tensor some = Tensor::of<float>({6}, {0.1f, -0.0f, 3, 1e-5f, 0.02f, 16777216});
  for (const auto& [i, text] : std::vector<std::pair<std::int64_t, std::string>>{
           {0, "0.1"}, {1, "-0"}, {2, "3"}, {3, "1e-05"}, {4, "0.02"}, {5, "16777216"}}) {
    BOOST_TEST(element_text(some, i) == text);
  }
  Tensor f = Tensor::zeros(DType::f32, {1}), h = Tensor::zeros(DType::f16, {1});
  BOOST_TEST(!parse_element("1e39", f, 0));
  BOOST_TEST(!parse_element("65520", h, 0));
  BOOST_TEST(parse_element("65519", h, 0));
  BOOST_TEST(parse_element("0x1.99999ap-4", f, 0));
  BOOST_TEST(f.at(0) == double{0.1f});
}

BOOST_AUTO_TEST_CASE(errors_contain_line_and_column) {
  const auto bad = [](const std::string& body, const std::string& message) {
    BOOST_CHECK_EXCEPTION(parse_text("weft text 1\ndim n\ninput %x: f32[n, 4]\n" + body),
                          FormatError, says(message));
  };
  BOOST_CHECK_EXCEPTION(parse_text("hello"), FormatError,
                        says("<text>:1:1: expected \"weft text\", found \"hello\""));
  BOOST_CHECK_EXCEPTION(parse_text("weft text 2"), FormatError,
                        says("1:11: text version 2 is not supported"));
  BOOST_CHECK_EXCEPTION(parse_text("weft text 1", {.file = "a.txt"}).program.output("x", Value()),
                        GraphError, says("undefined"));
  bad("%0 = summ(%x)",
      "<text>:4:6: unknown op 'summ'; did you mean 'sum'? (pass custom ops in ParseOptions::ops)");
  bad("%0 = sum(%y)", "4:10: %y is not defined");
  bad("%0 = sum(@w)", "4:10: @w is not defined");
  bad("%0 = mul(%x, two)",
      "4:14: expected a number of dtype f32 like the other operands, found \"two\"");
  bad("%0 = mul(%x, 1e99)",
      "4:14: expected a number of dtype f32 like the other operands, found \"1e99\"");
  bad("%0 = mul(1, 2)",
      "4:10: the dtype of 1 cannot be inferred from another operand; write the "
      "number with its type: f32[] {1}");
  bad("%0 = mul(%x, )",
      "4:14: expected a value (%...), a variable (@...) or a number, found \")\"");
  bad("%0 = mul(%x, i64[] {2})", "4:6: mul: ");
  bad("%0 = mul(%x, f32[2] {2})", "4:14: f32[2] has 2 elements, but 1 were given");
  bad("%x = exp(%x)", "4:1: %x is defined twice");
  bad("%0, %1 = f32[] {1}", "4:10: a constant has 1 outputs, but 2 are named");
  bad("%0 = sum(%x) {axis = 1}", "4:15: op sum has no attribute axis; it has: axes");
  bad("%0 = sum(%x) {axes = [0], axes = [0]}", "4:27: attribute axes is given twice");
  bad("%0 = sum(%x) {axes = [7], keepdims = false} : f32[]", "4:6: sum: ");
  bad("%0 = sum(%x) {axes = [0], keepdims = false} : f32[5]",
      "4:47: sum returns f32[4], but the text declares f32[5]");
  bad("%0 = sum(%x) {axes = [zero]}", "4:23: expected an integer");
  bad("%0, %1 = sum(%x) {axes = [0], keepdims = false} : f32[4]",
      "4:10: sum has 1 outputs, but 2 are named");
  bad("%0 = sum!9(%x)", "4:6: unknown op sum version 9 (pass custom ops in ParseOptions::ops)");
  bad("%0 = variable()", "4:6: variable cannot be applied like an op");
  bad("%0 = call(%x) {body = \"f\"} : f32[4]", "4:6: function @f is not defined");
  bad("%0 = constant() {value = f32[3] {1, 2}} : f32[3]",
      "4:26: f32[3] has 3 elements, but 2 were given");
  bad("%0 = constant() {value = f32[1] {one}} : f32[1]",
      "4:34: \"one\" is not a value of dtype f32");
  bad("%0 = constant() {value = i8[1] {128}} : i8[1]", "\"128\" is not a value of dtype i8");
  bad("%0 = constant() {value = f32[100] constant big} : f32[100]",
      "4:44: constant big is not in ParseOptions::constants");
  bad("%0 = constant() {value = f32[4611686018427387904, 4] {}} : f32[0]", "4:26: ");
  bad("input %x: f32[2]", "4:1: input 'x': an input of this name already exists");
  bad("input %y: f31[2]", "4:11: ");
  bad("input %y: f32[m]", "4:15: dim \"m\" is not declared; write \"dim m\" first");
  bad("input %y: f32[2 +]", "4:15: ");
  bad("require n == n + 1", "4:1: require(");
  bad("variable @v: weight f32[2] = constant(0)", "4:14: unknown variable kind 'weight'");
  bad("variable @v: buffer f32[2] = gaussian(0)", "4:30: expected constant, normal");
  bad("variable @v: buffer f32[n] = constant(0)", "4:1: variable 'v': shape [n] is symbolic");
  bad("name a = %x name a = @x", "4:22: @x is not defined");
  bad("func @f(%a) { input %b: f32[n] return %b }", "4:29: dim \"n\" is not declared");
  bad("func @f(%a) { input %b: f32[2] return %b }", "4:10: the function does not declare input %a");
  bad("func @f(%b) { input %b: f32[2] }", "4:32: expected a statement or \"return\", found \"}\"");
  bad("program p { output y = %x output y = %x }", "4:27: program 'p' already has an output 'y'");
  bad("program p { precision low }", "4:23: unknown precision 'low'");
  bad("program p { result y = %x }",
      "4:13: expected precision, batch_invariant, shards, output, update or \"}\"");
  bad("program p { shards 3 along n }", "4:13: shards must be a power of two in [1, 1048576]");
  bad("program p { shards 4 n }", "4:22: expected \"along\" and the symbol of an axis");
  bad("program p { shards 0 along n }", "4:20: expected an integer from 1");
  bad("program p { output \"y = %x }", "4:20: the string is not terminated");
  bad("program p { } more", "4:15: expected the end of the text, found \"more\"");
}

BOOST_AUTO_TEST_CASE(arbitrary_input_never_crashes_the_parser) {
  Graph g;
  TextConstants constants;
  const std::string good = to_text(sample(g), {.constants = &constants});
  const std::string bytes = "%@{}[](),=:!-_\"\\ \n0x9nafp/*+";
  std::mt19937 random(7);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  int refused = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string text = good;
    for (std::size_t edits = 1 + below(3); edits > 0; --edits) {
      const std::size_t at = below(text.size());
      switch (below(5)) {
        case 0: text[at] = bytes[below(bytes.size())]; break;
        case 1: text.erase(at, 1 + below(20)); break;
        case 2: text.insert(at, 1, bytes[below(bytes.size())]); break;
        case 3: text.resize(at + 1); break;
        case 4: text.insert(at, text.substr(below(text.size()), below(40))); break;
      }
    }
    try {
      parse_text(text, {.constants = &constants});
    } catch (const FormatError&) {
      ++refused;
    }
  }
  BOOST_TEST(refused > 2000);
  std::string deep = "weft text 1\n";
  for (int i = 0; i < 1000; ++i) deep += "func @f() { ";
  BOOST_CHECK_EXCEPTION(parse_text(deep), FormatError, says("nested deeper than 32"));
}

BOOST_AUTO_TEST_CASE(messages_are_short_for_any_text) {
  constexpr int kTimes = 100000;
  const auto times = [](const std::string& part) {
    std::string all;
    for (int i = 0; i < kTimes; ++i) all += part;
    return all;
  };
  const std::string start = "weft text 1\ndim n\n", x = "input %x: f32[";
  for (const std::string& text :
       {start + x + times("(") + "n" + times(")") + "]\n", start + x + times("min(n, ") + "]\n",
        start + x + "n" + times("*n") + "]\n",
        start + x + "n" + times(", 1") + "]\n%0 = exp(%x) : f32[n]",
        start + "%0 = " + times("name") + "(%x)\n", start + times("é") + "\n",
        start + x + "n]\n%0 = exp(%x, " + times("é") + "=1) : f32[n]\n"}) {
    BOOST_CHECK_EXCEPTION(parse_text(text), FormatError, [](const FormatError& e) {
      return std::string_view(e.what()).size() < 1200;
    });
  }
}

BOOST_AUTO_TEST_CASE(dot_output_contains_nodes_and_updates) {
  Graph g;
  const std::string dot = to_dot(sample(g));
  BOOST_TEST(dot.find("digraph \"train net\"") == 0u);
  BOOST_TEST(dot.find("layer_norm\\nf32[batch, seq, 4]") != std::string::npos);
  BOOST_TEST(dot.find("update @step") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(op_sets_only_accept_names_that_can_be_parsed) {
  const auto add = [](const std::function<void(OpRecord&)>& change) {
    OpSet ops(*builtin_ops());
    OpRecord record = ops.at("relu");
    record.name = "my_relu6";
    change(record);
    ops.add(std::move(record));
  };
  add([](OpRecord&) {});
  for (const char* name : {"user.bump", "my op", "a!2", "gr\xc3\xb6sse", "(", "%x"}) {
    BOOST_CHECK_THROW(add([&](OpRecord& r) { r.name = name; }), ArgumentError);
    BOOST_CHECK_THROW(add([&](OpRecord& r) {
                        r.attributes.push_back({name, 0.0});
                      }),
                      ArgumentError);
  }
  BOOST_CHECK_THROW(add([](OpRecord& r) { r.version = 0; }), ArgumentError);
}

BOOST_AUTO_TEST_CASE(dims_with_any_valid_name_round_trip) {
  Graph g;
  const Value x = g.input("x", DType::f32, {"größe", "block.0/rows", "min"});
  Program p("p");
  p.output("y", g.apply("concat", {x, x}, {{"axis", std::int64_t{0}}}).output(0));
  const std::string text = to_text(p);
  BOOST_TEST(to_text(parse_text(text).program) == text);
  BOOST_CHECK_EXCEPTION(parse_text("weft text 1\ndim \"a*b\""), FormatError,
                        says("<text>:2:1: \"a*b\" cannot be the name of a dim: "));
}

BOOST_AUTO_TEST_CASE(source_lines_in_a_long_text_are_found_quickly) {
  // If lines were counted from the start of the text for each node, this test would take minutes.
  constexpr int kNodes = 60'000;
  std::string text = "weft text 1\ninput %x: f32[3]\n%0 = neg(%x)\n";
  for (int i = 1; i < kNodes; ++i)
    text += "%" + std::to_string(i) + " = neg(%" + std::to_string(i - 1) + ")\n";
  text += "program p {\n  output y = %" + std::to_string(kNodes - 1) + "\n}\n";
  const std::clock_t begin = std::clock();
  const Module m = parse_text(text);
  BOOST_TEST(static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC < 10.0);
  const Value y = m.program.outputs()[0].second;
  BOOST_TEST(m.graph->where(y.node()) == "<text>:" + std::to_string(kNodes + 2));
  BOOST_TEST(m.graph->where(y.node().input(0).node()) == "<text>:" + std::to_string(kNodes + 1));
  Scanner scan(text, "file");
  for (const int line : {5, 900, 3, 40'000, 39'999, 1})
    BOOST_TEST(scan.line_of(line_begin(text, line)) == line);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
