// Invalid programs of many types. The error for each of them must contain the reason, the types of
// the operands and the source line of the caller.
#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <limits>
#include <thread>

#include "weft/autodiff/gradients.h"
#include "weft/autodiff/optimizers/optimizers.h"
#include "weft/graph/functions.h"
#include "weft/graph/ir/scope.h"
#include "weft/graph/run/session.h"
#include "weft/tests/support/messages.h"

namespace weft {
namespace {

using testing::message_contains;

// Checks the type of the error of `expression`, that the message contains all parts, and that it
// names this source line.
#define WRONG(ErrorType, expression, ...) \
  BOOST_CHECK_EXCEPTION(                  \
      expression, ErrorType,              \
      message_contains({__VA_ARGS__, "wrong_programs_test.cc:" + std::to_string(__LINE__)}))

struct Fixture {
  Graph g;
  Value x = g.input("x", DType::f32, {"batch", "seq", 64});
  Value y = g.input("y", DType::f32, {"batch", "seq", 65});
  Value w = g.input("w", DType::f32, {65, 10});
  Value ids = g.input("ids", DType::i64, {"batch", "seq"});
  Value d = g.input("d", DType::f64, {64});
  Value b = g.input("b", DType::boolean, {64});
  Value img = g.input("img", DType::f32, {2, 3, 8, 8});
  Value q = g.input("q", DType::f32, {2, 4, "seq", 16});
  Variable p = g.variable("p", DType::f32, {3, 4});
};

BOOST_FIXTURE_TEST_SUITE(wrong_programs, Fixture)

// One statement per line, because the tests check the line numbers.
BOOST_AUTO_TEST_CASE(numbers_out_of_range_are_rejected) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = 1 / 0.0;
  const Value key = g.key("noise"), channel = g.input("channel", DType::f32, {3});
  const Shape shape{4};
  WRONG(ArgumentError, leaky_relu(x, nan), "leaky_relu", "slope must be finite, but is nan");
  WRONG(ArgumentError, elu(x, inf), "elu", "alpha must be finite, but is inf");
  WRONG(ArgumentError, var(x, {0}, {.correction = nan}), "correction must be finite, but is nan");
  WRONG(ArgumentError, batch_norm(img, channel, channel, {}, {}, {.momentum = 1.5}),
        "momentum must be in [0, 1], but is 1.5");
  WRONG(ArgumentError, batch_norm(img, channel, channel, {}, {}, {.eps = -1}),
        "eps must be finite and at least 0, but is -1");
  WRONG(ArgumentError, attention(q, q, q, {.scale = nan}), "scale must be finite, but is nan");
  WRONG(ArgumentError, normal(key, shape, inf), "mean must be finite, but is inf");
  WRONG(ArgumentError, normal(key, shape, 0, -1), "std must be finite and at least 0, but is -1");
  WRONG(ArgumentError, exponential(key, shape, 0), "exponential: rate must be positive, but is 0");
  WRONG(ArgumentError, dropout(x, nan, key), "dropout");
  WRONG(ArgumentError, g.variable("v", DType::f32, {2}, {.initializer = Initializer::normal(-1)}),
        "std must be finite and at least 0, but is -1");
}

// One statement per line, because the tests check the line numbers.
BOOST_AUTO_TEST_CASE(invalid_shapes_are_rejected) {
  WRONG(ShapeError, x + y, "add: ", "f32[batch, seq, 64]", "f32[batch, seq, 65]", "64 and 65");
  WRONG(ShapeError, matmul(x, w), "matmul: ", "64", "65", "f32[65, 10]");
  WRONG(ShapeError, x * g.input("other", DType::f32, {"length", 64}), "mul: ", "seq and length",
        "cannot be proven equal", "Graph::require");
  WRONG(ShapeError, reshape(x, {"batch", 63, -1}), "reshape", "f32[batch, seq, 64]");
  WRONG(ShapeError, reshape(p, {5, 2}), "reshape", "[5, 2]", "f32[3, 4]");
  WRONG(ShapeError, sum(x, 3), "sum", "axis 3", "f32[batch, seq, 64]");
  WRONG(ArgumentError, sum(x, {1, 1}), "sum", "f32[batch, seq, 64]");
  WRONG(ShapeError, concat({x, y}, 0), "concat", "64", "65");
  WRONG(ShapeError, permute(x, {0, 1}), "permute", "f32[batch, seq, 64]");
  WRONG(ShapeError, broadcast_to(x, {"batch", 64}), "broadcast_to", "f32[batch, seq, 64]");
  WRONG(ShapeError, split(p, {1, 1}, 0), "split", "f32[3, 4]");
  WRONG(ShapeError, split_equal(x, 3, 1), "split_equal", "seq");
  WRONG(ShapeError, squeeze(p, 0), "squeeze", "f32[3, 4]");
  WRONG(ShapeError, select(p, 0, 7), "slice: axis 0", "reads from 7", "f32[3, 4]");
  WRONG(ShapeError, conv2d(img, g.constant(Tensor::zeros(DType::f32, {4, 2, 3, 3}))), "conv2d",
        "f32[2, 3, 8, 8]", "f32[4, 2, 3, 3]");
  WRONG(ShapeError, layer_norm(x, g.constant(Tensor::zeros(DType::f32, {65})), {}), "layer_norm",
        "f32[batch, seq, 64]", "f32[65]");
  WRONG(ShapeError, attention(q, q, x), "attention", "f32[2, 4, seq, 16]");
  WRONG(ShapeError, cross_entropy(x, select(x, 2, 0)), "cross_entropy", "i32 or i64 [batch, seq]",
        "f32[batch, seq, 64]");
  WRONG(ShapeError, topk(p, 5), "topk", "5", "f32[3, 4]");
  WRONG(ShapeError, tril(d), "tril", "f64[64]");
  WRONG(ShapeError, g.require(g.dim("seq") == g.dim("seq") + 1), "require", "can never hold");
}

BOOST_AUTO_TEST_CASE(invalid_dtypes_are_rejected) {
  WRONG(DTypeError, x + d, "add: ", "f32 and f64", "cast()", "f64[64]");
  WRONG(DTypeError, exp(ids), "exp: ", "f32 or f64", "i64[batch, seq]");
  WRONG(DTypeError, ids + 0.5, "add", "0.5", "i64");
  WRONG(DTypeError, where(x, x, x), "where: ", "bool", "f32[batch, seq, 64]");
  WRONG(DTypeError, take(p, x), "take: ", "i32 or i64", "f32[batch, seq, 64]");
  WRONG(DTypeError, matmul(ids, ids), "matmul: ", "i64[batch, seq]");
  WRONG(DTypeError, logical_and(x, b), "logical_and: ", "bool", "f32[batch, seq, 64]");
  WRONG(DTypeError, mean(ids), "mean: ", "i64[batch, seq]");
  WRONG(DTypeError, cross_entropy(x, b), "cross_entropy", "i32 or i64", "bool");
  WRONG(DTypeError, cross_entropy(x, d), "cross_entropy", "f32 and f64", "f32[batch, seq, 64]");
  WRONG(DTypeError, softmax(ids, -1), "softmax: ", "f32 or f64", "i64[batch, seq]");
}

BOOST_AUTO_TEST_CASE(invalid_arguments_are_rejected) {
  WRONG(ArgumentError, einsum("ij,jk->il", {p, w}), "einsum", "l", "f32[3, 4]");
  WRONG(ArgumentError, einsum("ij", {p, w}), "einsum", "2");
  WRONG(ShapeError, einsum("ij,jk", {p, w}), "einsum", "j", "4", "65");
  WRONG(ArgumentError, dropout(x, 1.5, g.key("dropout")), "dropout", "1.5", "f32[batch, seq, 64]");
  WRONG(ArgumentError, g.apply("add", {x}), "add: ", "operand 'b' is missing",
        "f32[batch, seq, 64]");
  WRONG(ArgumentError, g.apply("sum", {x}), "sum: ", "requires attribute 'axes'");
  WRONG(ArgumentError, g.apply("exp", {x}, {{"speed", std::int64_t{3}}}),
        "exp: ", "has no attribute 'speed'");
  WRONG(ArgumentError, g.apply("softmax", {x}, {{"axis", 1.0}}),
        "softmax: ", "must be a int, but is a float");
  WRONG(ArgumentError, g.apply("gelu", {x}), "gelu: ", "unknown op", "did you mean");
}

BOOST_AUTO_TEST_CASE(misuse_of_graphs_is_rejected) {
  Graph other;
  const Value foreign = other.input("x", DType::f32, {64});
  WRONG(GraphError, x + foreign, "add: ", "another graph", "f32[64]");
  WRONG(GraphError, exp(Value()), "exp", "undefined");
  WRONG(GraphError, g.input("x", DType::f32, {1}), "input 'x'", "already exists");
  WRONG(GraphError, g.variable("p", DType::f32, {1}), "variable 'p'", "already exists");
  WRONG(GraphError, g.set_name("a", x);
        g.set_name("a", y), "the name 'a' already belongs to another value", "f32[batch, seq, 64]");
  WRONG(GraphError, Program("t").output("o", x).output("o", y), "already has an output 'o'");
  WRONG(GraphError, Program("t").output("o", x).output("f", foreign), "another graph", "f32[64]");
  WRONG(ShapeError, Program("t").update(p, cast(d, DType::f32)), "update of 'p'", "f32[3, 4]",
        "f32[64]");
  WRONG(DTypeError, Program("t").update(p, d), "update of 'p'", "f64[64]");
  WRONG(GraphError, Program("t").update(p, p + 1).update(p, p + 2),
        "already updates this variable");
  WRONG(GraphError, g.alias("q2", foreign.graph().variable("z", DType::f32, {1})), "another graph");
  WRONG(ShapeError, g.variable("s", DType::f32, {"seq"}), "variable 's'",
        "only variables of kind cache");
}

BOOST_AUTO_TEST_CASE(invalid_derivatives_are_rejected) {
  WRONG(GradientError, gradient(x, x), "f32[batch, seq, 64]", "is not a scalar");
  WRONG(GradientError, gradient(sum(x), y), "does not depend on input 'y'", "f32[batch, seq, 65]");
  WRONG(GradientError, gradient(sum(x), ids),
        "input 'ids' (i64[batch, seq]) is not floating point");
  WRONG(GradientError, adamw(sum(x), g.parameters()), "does not depend on variable 'p'");
}
// clang-format on

// If a run fails, the error names the line that built the failing node, and no variable changes.
BOOST_AUTO_TEST_CASE(invalid_data_is_rejected_and_changes_no_variables) {
  const Value rows = g.input("rows", DType::i64, {"n"});
  const int line = __LINE__ + 1;
  const Value taken = take(p, rows);
  Program train("train");
  train.output("taken", taken).update(p, p + 1);
  Session session(g, {.threads = 2});
  session.run(train, {{"rows", Tensor::of<std::int64_t>({2}, {0, 2})}});
  const Tensor before = session.value("p");
  for (const std::int64_t bad : {3L, -1L}) {
    BOOST_CHECK_EXCEPTION(session.run(train, {{"rows", Tensor::of<std::int64_t>({2}, {0, bad})}}),
                          DataError,
                          message_contains({"take: ", std::to_string(bad), "3", "f32[3, 4]",
                                            "wrong_programs_test.cc:" + std::to_string(line)}));
    BOOST_TEST(bitwise_equal(session.value("p"), before));
  }
}

BOOST_AUTO_TEST_CASE(invalid_feeds_are_rejected) {
  Program sums("sums");
  sums.output("s", sum(x) + sum(cast(ids, DType::f32)));
  Session session(g, {.threads = 1});
  const Tensor fits = Tensor::zeros(DType::f32, {2, 5, 64}), ok = Tensor::zeros(DType::i64, {2, 5});
  session.run(sums, {{"x", fits}, {"ids", ok}});
  const auto refused = [&](auto error, const NamedTensors& feeds, std::vector<std::string> parts) {
    BOOST_CHECK_EXCEPTION(session.run(sums, feeds), decltype(error),
                          message_contains(std::move(parts)));
  };
  refused(ArgumentError(""), {{"x", fits}}, {"ids", "i64[batch, seq]"});
  refused(ArgumentError(""), {{"x", fits}, {"ids", ok}, {"idz", ok}}, {"idz", "ids"});
  refused(DTypeError(""), {{"x", fits}, {"ids", Tensor::zeros(DType::i32, {2, 5})}},
          {"ids", "i64", "i32"});
  refused(ShapeError(""), {{"x", fits}, {"ids", Tensor::zeros(DType::i64, {2})}},
          {"ids", "i64[batch, seq] (rank 2)", "sizes [2] (rank 1)"});
  refused(ShapeError(""), {{"x", fits}, {"ids", Tensor::zeros(DType::i64, {2, 6})}},
          {"seq", "5", "6"});
  refused(ShapeError(""), {{"x", Tensor::zeros(DType::f32, {2, 5, 63})}, {"ids", ok}},
          {"x", "64", "63"});
}

BOOST_AUTO_TEST_CASE(errors_name_violated_dim_requirements) {
  g.require(g.dim("batch") == g.dim("seq") * 2);
  Program sums("sums");
  sums.output("s", sum(x));
  Session session(g, {.threads = 1});
  session.run(sums, {{"x", Tensor::zeros(DType::f32, {4, 2, 64})}});
  BOOST_CHECK_EXCEPTION(session.run(sums, {{"x", Tensor::zeros(DType::f32, {4, 3, 64})}}),
                        ShapeError, message_contains({"batch", "2*seq", "4", "6"}));
}

BOOST_AUTO_TEST_CASE(programs_of_another_graph_and_unknown_names_are_rejected) {
  Graph other;
  Program foreign("foreign");
  foreign.output("o", other.constant(Tensor::scalar(DType::f32, 1)));
  Session session(g, {.threads = 1});
  BOOST_CHECK_EXCEPTION(session.run(foreign), GraphError, message_contains({"foreign", "graph"}));
  Program one("one");
  one.output("o", g.constant(Tensor::scalar(DType::f32, 1)));
  BOOST_CHECK_EXCEPTION(session.run(one, {}, {.fetch = {"nothing"}}), GraphError,
                        message_contains({"nothing"}));
  const Results results = session.run(one);
  BOOST_CHECK_EXCEPTION(results["p"], GraphError, message_contains({"p", "o"}));
  BOOST_CHECK_EXCEPTION(session.value("unknown"), GraphError, message_contains({"unknown"}));
  BOOST_CHECK_EXCEPTION(session.set_value("p", Tensor::zeros(DType::f32, {4, 3})), ShapeError,
                        message_contains({"p", "f32[3, 4]", "f32[4, 3]"}));
  BOOST_CHECK_EXCEPTION(session.set_value("p", Tensor::zeros(DType::f64, {3, 4})), DTypeError,
                        message_contains({"p", "f32", "f64"}));
}

BOOST_AUTO_TEST_CASE(two_threads_in_one_session_are_an_error) {
  Program one("one");
  one.output("o", sum(exp(x)));
  const NamedTensors feeds = {{"x", Tensor::zeros(DType::f32, {1, 2, 64})}};
  Session session(g, {.threads = 1});
  std::exception_ptr error;
  RunOptions options;
  options.cancel = [&] {
    std::thread second([&] {
      try {
        session.run(one, feeds);
      } catch (...) {
        error = std::current_exception();
      }
    });
    second.join();
    return false;
  };
  session.run(one, feeds, options);
  BOOST_REQUIRE(error != nullptr);
  BOOST_CHECK_EXCEPTION(std::rethrow_exception(error), StateError, message_contains({"thread"}));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
