#include "weft/graph/passes/pipeline.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>

#include "weft/core/error.h"
#include "weft/graph/control/call.h"
#include "weft/graph/functions.h"
#include "weft/graph/passes/verify.h"
#include "weft/graph/run/session.h"
#include "weft/graph/text/text.h"
#include "weft/tests/support/messages.h"

namespace weft {
namespace {

// Fusion is disabled because it would hide the expressions that these tests check. It has its own
// tests.
const PassOptions kVerified = {.disabled = {"fuse"}, .verify = true};

using testing::says;

// Returns the graph after the passes as text such as "add(%x, %y)", for outputs that are one small
// expression.
std::string expression(Value v) {
  if (!v.defined()) return "_";
  const Node& n = v.node();
  if (n.op().name == "input" || n.op().name == "variable") return n.attributes().text("name");
  if (n.op().name == "constant") {
    const Tensor& t = n.attributes().tensor("value");
    std::string text = "{";
    for (std::int64_t i = 0; i < t.numel(); ++i)
      text += (i ? " " : "") + std::to_string(static_cast<int>(t.at(i)));
    return text + "}";
  }
  std::string text = n.op().name + "(";
  for (std::size_t i = 0; i < n.inputs().size(); ++i)
    text += (i ? ", " : "") + expression(n.inputs()[i]);
  return text + ")";
}

std::string after_passes(Value v, const PassOptions& options = kVerified) {
  const Module m = run_passes(clone_program(Program("p").output("y", v)), options);
  return expression(m.program.outputs()[0].second);
}

struct Leaves {
  Graph g;
  Value x = g.input("x", DType::f32, {"n", 4});
  Value y = g.input("y", DType::f32, {"n", 4});
  Value i = g.input("i", DType::i32, {"n", 4});
  Value b = g.input("b", DType::boolean, {"n", 4});
  Value row = g.input("row", DType::f32, {4});
  Value apply(std::string_view op, std::vector<Value> in, Attributes a = {}) {
    return g.apply(op, std::move(in), std::move(a)).output(0);
  }
  Value f(double v) { return g.scalar(DType::f32, v); }
};

BOOST_AUTO_TEST_SUITE(passes)

BOOST_FIXTURE_TEST_CASE(zeros_and_ones_are_removed_only_if_no_bit_changes, Leaves) {
  BOOST_TEST(after_passes(x + f(-0.0)) == "x");
  BOOST_TEST(after_passes(x + f(0.0)) == "add(x, {0})");  // -0.0 would become 0.0
  BOOST_TEST(after_passes(f(-0.0) + x) == "x");
  BOOST_TEST(after_passes(x - f(0.0)) == "x");
  BOOST_TEST(after_passes(x - f(-0.0)) == "sub(x, {0})");
  BOOST_TEST(after_passes(x * 1) == "x");
  BOOST_TEST(after_passes(1 * x) == "x");
  BOOST_TEST(after_passes(x / 1) == "x");
  BOOST_TEST(after_passes(x * 0) == "mul(x, {0})");  // inf * 0 is NaN
  BOOST_TEST(after_passes(i + 0) == "i");
  BOOST_TEST(after_passes(i * 0) == "mul(i, {0})");
  BOOST_TEST(after_passes(x * broadcast_to(f(1), x.shape())) == "x");
  BOOST_TEST(after_passes(f(1) * broadcast_to(row, x.shape())) == "broadcast_to(row)");
  // A zero with a larger shape determines the shape of the result, so it is kept.
  BOOST_TEST(after_passes(row + broadcast_to(f(-0.0), x.shape())) != "row");
}

BOOST_FIXTURE_TEST_CASE(negations_are_simplified, Leaves) {
  BOOST_TEST(after_passes(-(-x)) == "x");
  BOOST_TEST(after_passes(-(-(-x))) == "neg(x)");
  BOOST_TEST(after_passes(x + (-y)) == "sub(x, y)");
  BOOST_TEST(after_passes((-x) + y) == "sub(y, x)");
  BOOST_TEST(after_passes(x - (-y)) == "add(x, y)");
  BOOST_TEST(after_passes((-x) * (-y)) == "mul(x, y)");
  BOOST_TEST(after_passes((-i) / (-i)) == "div(neg(i), neg(i))");
  BOOST_TEST(after_passes(abs(-x)) == "abs(x)");
}

BOOST_FIXTURE_TEST_CASE(repeated_ops_are_simplified, Leaves) {
  BOOST_TEST(after_passes(relu(relu(x))) == "relu(x)");
  BOOST_TEST(after_passes(floor(floor(x))) == "floor(x)");
  BOOST_TEST(after_passes(maximum(x, x)) == "x");
  BOOST_TEST(after_passes(logical_not(logical_not(b))) == "b");
  BOOST_TEST(after_passes(where(b, x, x)) == "x");
  BOOST_TEST(after_passes(where(g.constant(Tensor::full(DType::boolean, {4}, 1)), x, y)) == "x");
  BOOST_TEST(after_passes(where(g.scalar(DType::boolean, 0), x, y)) == "y");
  BOOST_TEST(after_passes(where(x + y < row, x, x)) == "x");
}

BOOST_FIXTURE_TEST_CASE(ops_that_check_their_data_are_not_removed, Leaves) {
  const Value all = g.scalar(DType::boolean, 1), none = g.scalar(DType::boolean, 0);
  const Value ids = g.input("ids", DType::i32, {"n"});
  const Value taken = take(x, ids, 0);
  BOOST_TEST(after_passes(where(taken < y, x, x)) == "where(less(take(x, ids), y), x, x)");
  BOOST_TEST(after_passes(where(all, x, -taken)) == "where({1}, x, neg(take(x, ids)))");
  BOOST_TEST(after_passes(where(none, i / i, i)) == "where({0}, div(i, i), i)");
  BOOST_TEST(after_passes(where(none, x / y, y)) == "y");
}

BOOST_FIXTURE_TEST_CASE(casts_are_removed_only_if_no_information_is_lost, Leaves) {
  BOOST_TEST(after_passes(apply("cast", {x}, {{"dtype", DType::f32}})) == "x");
  const auto there_and_back = [&](Value v, DType d) {
    return after_passes(cast(cast(v, d), v.dtype()));
  };
  BOOST_TEST(there_and_back(x, DType::f64) == "x");
  BOOST_TEST(there_and_back(x, DType::bf16) == "cast(cast(x))");
  BOOST_TEST(there_and_back(x, DType::i64) == "cast(cast(x))");
  BOOST_TEST(there_and_back(i, DType::i64) == "i");
  BOOST_TEST(there_and_back(i, DType::f64) == "i");
  BOOST_TEST(there_and_back(i, DType::f32) == "cast(cast(i))");  // f32 has only 24 significant bits
  BOOST_TEST(there_and_back(b, DType::i8) == "b");
}

BOOST_FIXTURE_TEST_CASE(movement_ops_are_merged, Leaves) {
  const Value z = g.input("z", DType::f32, {2, 3, 4});
  BOOST_TEST(after_passes(apply("reshape", {z}, {{"shape", z.shape()}})) == "z");
  BOOST_TEST(after_passes(reshape(reshape(z, {24}), {4, 6})) == "reshape(z)");
  BOOST_TEST(after_passes(reshape(reshape(z, {24}), {2, 3, 4})) == "z");
  BOOST_TEST(after_passes(permute(permute(z, {1, 2, 0}), {2, 0, 1})) == "z");
  BOOST_TEST(after_passes(permute(permute(z, {1, 2, 0}), {1, 0, 2})) == "permute(z)");
  BOOST_TEST(after_passes(broadcast_to(broadcast_to(row, {3, 4}), {2, 3, 4})) ==
             "broadcast_to(row)");
  BOOST_TEST(after_passes(x + broadcast_to(row, x.shape())) == "add(x, row)");
  BOOST_TEST(after_passes(broadcast_to(row, {"n", 4}) + broadcast_to(f(2), {"n", 4})) ==
             "add(row, broadcast_to({2}))");
  BOOST_TEST(after_passes(apply("slice", {z},
                                {{"starts", Shape{0, 0, 0}},
                                 {"sizes", z.shape()},
                                 {"steps", std::vector<std::int64_t>{1, 1, 1}}})) == "z");
  BOOST_TEST(after_passes(apply("slice", {z},
                                {{"starts", Shape{1, 2, 3}},
                                 {"sizes", z.shape()},
                                 {"steps", std::vector<std::int64_t>{-1, -1, -1}}})) == "slice(z)");
  BOOST_TEST(after_passes(apply(
                 "pad", {z},
                 {{"before", Shape{0, 0, 0}}, {"after", Shape{0, 0, 0}}, {"value", 0.0}})) == "z");
  const Attributes axes = {{"axes", std::vector<std::int64_t>{0, 2}}};
  BOOST_TEST(after_passes(apply("flip", {apply("flip", {z}, axes)}, axes)) == "z");
  BOOST_TEST(after_passes(apply("concat", {z}, {{"axis", std::int64_t{1}}})) == "z");
}

BOOST_FIXTURE_TEST_CASE(transposes_are_moved_into_matmul, Leaves) {
  const Value a = g.input("a", DType::f32, {2, 3, 5}), c = g.input("c", DType::f32, {2, 7, 5});
  BOOST_TEST(after_passes(matmul(a, transpose(c))) == "matmul(a, c)");
  BOOST_TEST(after_passes(matmul(transpose(transpose(a)), transpose(c))) == "matmul(a, c)");
  const Module m =
      run_passes(clone_program(Program("p").output("y", matmul(a, transpose(c)))), kVerified);
  BOOST_TEST(m.program.outputs()[0].second.node().attributes().flag("transpose_b"));
}

BOOST_FIXTURE_TEST_CASE(matmul_reads_narrow_operands, Leaves) {
  const Value a = g.input("a", DType::f32, {3, 5}), w = g.input("w", DType::bf16, {7, 5});
  const Value h = g.input("h", DType::f16, {5, 3}), d = g.input("d", DType::f64, {5, 3});
  const auto wide = [](Value v) { return cast(v, DType::f32); };
  BOOST_TEST(after_passes(matmul(a, transpose(wide(w)))) == "matmul(a, w)");
  BOOST_TEST(after_passes(matmul(wide(w), wide(h))) == "matmul(w, h)");
  // A cast that loses information is kept, and so is a cast that determines the dtype of the
  // result.
  BOOST_TEST(after_passes(matmul(a, wide(d))) == "matmul(a, cast(d))");
  BOOST_TEST(after_passes(matmul(cast(w, DType::f64), cast(h, DType::f64))) ==
             "matmul(w, cast(h))");
}

BOOST_FIXTURE_TEST_CASE(grouped_products_read_transposed_and_narrow_operands, Leaves) {
  const Value a = g.input("a", DType::f32, {3, 5}), sizes = g.input("sizes", DType::i64, {2});
  const Value w = g.input("w", DType::bf16, {2, 7, 5}), r = g.input("r", DType::f16, {3, 4});
  const auto wide = [](Value v) { return cast(v, DType::f32); };
  const Value product = grouped_matmul(a, transpose(wide(w)), sizes);
  BOOST_TEST(after_passes(product) == "grouped_matmul(a, w, sizes)");
  const Module m = run_passes(clone_program(Program("p").output("y", product)), kVerified);
  BOOST_TEST(m.program.outputs()[0].second.node().attributes().flag("transpose_w"));
  const Value c = g.input("c", DType::f32, {3, 7});
  BOOST_TEST(after_passes(grouped_matmul(c, transpose(wide(w)), sizes, {.transpose_w = true})) ==
             "grouped_matmul(c, w, sizes)");
  BOOST_TEST(after_passes(grouped_outer(a, wide(r), sizes)) == "grouped_outer(a, r, sizes)");
}

BOOST_FIXTURE_TEST_CASE(barriers_and_clones_are_kept, Leaves) {
  BOOST_TEST(after_passes(-optimization_barrier(-x)) == "neg(optimization_barrier(neg(x)))");
  BOOST_TEST(after_passes(optimization_barrier(f(1))) == "optimization_barrier({1})");
  const OpRecord& mul = g.ops().at("mul");
  const Value again =
      g.apply(mul, {x, f(1)}, {}, SourceLocation::current(), g.next_instance()).output(0);
  BOOST_TEST(after_passes(again) == "mul(x, {1})");
}

BOOST_FIXTURE_TEST_CASE(constants_are_folded, Leaves) {
  BOOST_TEST(after_passes(x * (f(2) + f(3))) == "mul(x, {5})");
  BOOST_TEST(after_passes(x * (f(2) - f(1))) == "x");
  BOOST_TEST(after_passes(apply("dim_value", {}, {{"dim", Dim(7)}, {"dtype", DType::i64}})) ==
             "{7}");
  BOOST_TEST(after_passes(apply("dim_value", {}, {{"dim", g.dim("n")}, {"dtype", DType::i64}})) ==
             "dim_value()");
  // Large results are computed at run time.
  BOOST_TEST(after_passes(broadcast_to(f(2), {1000})) == "broadcast_to({2})");
  BOOST_TEST(after_passes(apply(
                 "iota", {},
                 {{"shape", Shape{1000}}, {"axis", std::int64_t{0}}, {"dtype", DType::i64}})) ==
             "iota()");
  // An invalid division is reported when the program runs.
  BOOST_TEST(after_passes(g.scalar(DType::i32, 1) / g.scalar(DType::i32, 0)) == "div({1}, {0})");
  BOOST_TEST(after_passes(f(2) + f(3), {.disabled = {"fold", "fuse"}, .verify = true}) ==
             "add({2}, {3})");
}

BOOST_AUTO_TEST_CASE(calls_are_inlined) {
  Graph g;
  const Value x = g.input("x", DType::f32, {"batch", 4});
  define_function(g, "twice", {{"a", DType::f32, {"m", "k"}}},
                  [](Graph& body, const std::vector<Value>& in) {
                    define_function(body, "flat", {{"b", DType::f32, {"p", "q"}}},
                                    [](Graph&, const std::vector<Value>& b) {
                                      const Dim n = b[0].size(0) * b[0].size(1);
                                      return std::vector<Value>{reshape(b[0], Shape{n})};
                                    });
                    return std::vector<Value>{call(body, "flat", {in[0] + in[0]})[0]};
                  });
  const Value once = call(g, "twice", {x})[0];
  BOOST_TEST(once.type().str() == "f32[4*batch]");
  BOOST_TEST(after_passes(once) == "reshape(add(x, x))");
  BOOST_TEST(after_passes(once, {.disabled = {"inline", "fuse"}, .verify = true}) == "call(x)");
  // A call that was cloned for recomputation is not merged with the first call.
  Node& again = g.apply(g.ops().at("call"), {x}, {{"body", std::string("twice")}},
                        SourceLocation::current(), g.next_instance());
  const Module m = run_passes(
      clone_program(Program("p").output("a", once).output("b", again.output(0))), kVerified);
  BOOST_TEST((m.program.outputs()[0].second != m.program.outputs()[1].second));

  BOOST_CHECK_EXCEPTION(call(g, "thrice", {x}), GraphError, says("no function 'thrice'"));
  BOOST_CHECK_EXCEPTION(call(g, "twice", {g.scalar(DType::f32, 1)}), ShapeError,
                        says("passes_test.cc:"));
  BOOST_CHECK_EXCEPTION(
      define_function(
          g, "odd", {{"a", DType::f32, {"n"}}},
          [](Graph& body, const std::vector<Value>& in) {
            return std::vector<Value>{broadcast_to(in[0], Shape{body.dim("z"), body.dim("n")})};
          }),
      ShapeError, says("function 'odd': no input axis has exactly the symbol 'z' as its size"));
  BOOST_CHECK_EXCEPTION(
      define_function(g, "none", {},
                      [](Graph&, const std::vector<Value>&) { return std::vector<Value>(); }),
      GraphError, says("function 'none' has no outputs"));
  BOOST_CHECK_EXCEPTION(
      define_function(g, "leak", {{"a", DType::f32, {}}},
                      [&](Graph&, const std::vector<Value>&) { return std::vector<Value>{x}; }),
      GraphError, says("output 0 of function 'leak'"));
}

BOOST_AUTO_TEST_CASE(requirements_in_a_function_body_apply_to_the_caller) {
  Graph g;
  define_function(g, "halves", {{"a", DType::f32, {"n"}}, {"h", DType::f32, {"m"}}},
                  [](Graph& body, const std::vector<Value>& in) {
                    body.require(body.dim("n") == body.dim("m") * 2);
                    return std::vector<Value>{reshape(in[0], Shape{2, body.dim("m")})};
                  });
  const Value a = g.input("a", DType::f32, {6}), h = g.input("h", DType::f32, {3});
  BOOST_TEST(after_passes(call(g, "halves", {a, h})[0]) == "reshape(a)");
  BOOST_CHECK_EXCEPTION(call(g, "halves", {h, h}), ShapeError,
                        says("require(3 == 6) can never hold"));
}

BOOST_AUTO_TEST_CASE(custom_gradients_are_functions) {
  Graph g;
  const Value x = g.input("x", DType::f32, {g.dim("n") * 2, 4});
  const auto forward = [](Graph&, const std::vector<Value>& in) {
    return std::vector<Value>{in[0] * in[0]};
  };
  const auto gradient = [](Graph&, const std::vector<Value>& in) {
    return std::vector<Value>{in[2] * in[0]};
  };
  const Value y = custom_gradient(g, "square", {x}, forward, gradient)[0];
  BOOST_TEST(y.type().str() == x.type().str());
  BOOST_TEST(after_passes(y) == "mul(x, x)");
  BOOST_TEST(g.function("square").gradient == "square.gradient");
  // Equal custom gradients share their functions. A different gradient needs a different name.
  custom_gradient(g, "square", {y}, forward, gradient);
  BOOST_TEST(g.functions().size() == 2u);
  BOOST_CHECK_EXCEPTION(
      custom_gradient(
          g, "square", {x},
          [](Graph&, const std::vector<Value>& in) { return std::vector<Value>{in[0] + in[0]}; },
          gradient),
      GraphError, says("the graph already has a different function with this name"));
  BOOST_CHECK_EXCEPTION(
      custom_gradient(g, "f", {x}, forward,
                      [](Graph&, const std::vector<Value>&) { return std::vector<Value>(); }),
      GradientError, says("the gradient returns 0 values, but there are 1 arguments"));
  BOOST_CHECK_EXCEPTION(custom_gradient(g, "h", {x}, forward,
                                        [](Graph&, const std::vector<Value>& in) {
                                          return std::vector<Value>{cast(in[0], DType::f64)};
                                        }),
                        GradientError, says("the gradient of argument 0 is f64["));
  custom_gradient(g, "zero", {x}, forward,
                  [](Graph&, const std::vector<Value>&) { return std::vector<Value>{Value()}; });
}

BOOST_AUTO_TEST_CASE(results_are_bit_exact_with_and_without_passes) {
  Graph g;
  const Value x = g.input("x", DType::f32, {"n"});
  const Value f = g.scalar(DType::f32, -0.0);
  const Program p = Program("p")
                        .output("a", (x + f) * 1 - 0)
                        .output("b", x - (-x))
                        .output("c", broadcast_to(g.scalar(DType::f32, 2), x.shape()) / (-(-x)))
                        .output("d", (-x) * (-(x + 0.0)));
  const float inf = std::numeric_limits<float>::infinity();
  const Tensor data = Tensor::of<float>({7}, {0.0f, -0.0f, 1.5f, -inf, inf, 1e-42f, -3});
  Session with(g, {.passes = true}), without(g, {.passes = false});
  const auto a = with.run(p, {{"x", data}});
  const auto b = without.run(p, {{"x", data}});
  for (const char* name : {"a", "b", "c", "d"}) {
    for (std::int64_t i = 0; i < 7; ++i) {
      const float u = a[name].data<float>()[i], v = b[name].data<float>()[i];
      BOOST_TEST(
          ((u == v && std::signbit(u) == std::signbit(v)) || (std::isnan(u) && std::isnan(v))));
    }
  }
}

BOOST_AUTO_TEST_CASE(the_pass_pipeline_can_be_inspected) {
  Graph g;
  const Value x = g.input("x", DType::f32, {"n"});
  std::vector<std::string> seen;
  run_passes(clone_program(Program("p").output("y", x * 1)),
             {.disabled = {"fold"},
              .verify = true,
              .observe = [&](std::string_view pass, const Program& program) {
                seen.push_back(std::string(pass) + " " + std::to_string(program.nodes().size()));
              }});
  const std::vector<std::string> expected = {"start 3",
                                             "inline 3",
                                             "merge_scans 3",
                                             "hoist 3",
                                             "simplify 1",
                                             "fold_dequantize 1",
                                             "fuse_linear_cross_entropy 1",
                                             "fuse_scatter_add 1",
                                             "bf16_activations 1",
                                             "fuse 1",
                                             "epilogue 1"};
  BOOST_TEST(seen == expected, boost::test_tools::per_element());
  BOOST_CHECK_EXCEPTION(
      run_passes(clone_program(Program("p").output("y", x)), {.disabled = {"fission"}}),
      ArgumentError,
      says("no pass 'fission' to disable; the passes are: inline, merge_scans, hoist, fold, "
           "simplify, "
           "fold_dequantize, "
           "fuse_linear_cross_entropy, fuse_scatter_add, bf16_activations, fuse, epilogue"));
  BOOST_TEST(run_passes(clone_program(Program("empty"))).program.outputs().empty());
}

BOOST_AUTO_TEST_CASE(passes_can_be_disabled_by_their_names_in_earlier_versions) {
  const std::vector<std::pair<std::string, std::string>> renamed = {
      {"quantized", "fold_dequantize"},
      {"join_head", "fuse_linear_cross_entropy"},
      {"accumulate", "fuse_scatter_add"},
      {"narrow", "bf16_activations"}};
  Graph g;
  const Value x = g.input("x", DType::f32, {"n"});
  for (const auto& [earlier, name] : renamed) {
    for (const std::string& disabled : {earlier, name}) {
      std::vector<std::string> seen;
      run_passes(clone_program(Program("p").output("y", x * 1)),
                 {.disabled = {disabled},
                  .report = [&](const PassReport& report) { seen.emplace_back(report.pass); }});
      BOOST_TEST(seen.size() == default_passes().size() - 1, disabled);
      BOOST_TEST(std::count(seen.begin(), seen.end(), name) == 0, disabled);
    }
  }
}

BOOST_AUTO_TEST_CASE(long_chains_are_processed_without_recursion) {
  Graph g;
  Value v = g.input("x", DType::f32, {"n"});
  for (int i = 0; i < 100000; ++i) v = v + 1;
  const Module m = run_passes(clone_program(Program("p").output("y", v)));
  BOOST_TEST(m.program.nodes().size() == 2 + (100000 + 63) / 64);  // fused in groups of 64
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
