// All parameters as one vector.
#include "weft/graph/weights/flat_parameters.h"

#include <boost/test/unit_test.hpp>

#include "weft/autodiff/check_gradients.h"
#include "weft/autodiff/derivatives.h"
#include "weft/core/error.h"
#include "weft/graph/functions.h"
#include "weft/graph/run/session.h"
#include "weft/tests/autodiff/evaluate.h"
#include "weft/tests/support/messages.h"

namespace weft {
namespace {

using testing::evaluate;
using testing::message_contains;
namespace tt = boost::test_tools;

// Parameters of all ranks, one without elements.
struct Mixed {
  Graph g;
  Variable w = g.variable("w", DType::f64, {2, 3}, {.initializer = Initializer::uniform(-1, 1)});
  Variable none = g.variable("none", DType::f64, {2, 0});
  Variable b = g.variable("b", DType::f64, {2}, {.initializer = Initializer::uniform(1, 2)});
  Variable s = g.variable("s", DType::f64, {}, {.initializer = Initializer::constant(3)});
  std::vector<Variable> all() const { return {w, none, b, s}; }
  Value loss() const {
    return sum(exp(w) * square(unsqueeze(b, 1)) * s) + sum(none) + square(square(s));
  }
};

BOOST_AUTO_TEST_SUITE(flat_parameters)

BOOST_AUTO_TEST_CASE(vectors_contain_all_elements_in_order) {
  Mixed m;
  const Value flat = flatten_parameters(m.all());
  BOOST_TEST(flat.type().str() == "f64[9]");
  Session session(m.g, {.seed = 1});
  std::vector<double> wanted = session.value("w").to_vector<double>();
  for (const double b : session.value("b").to_vector<double>()) wanted.push_back(b);
  wanted.push_back(3);
  const Tensor found = session.run(Program("p").output("flat", flat))["flat"];
  BOOST_TEST(found.to_vector<double>() == wanted, tt::per_element());
  const std::vector<Variable> all = m.all();
  BOOST_TEST(bitwise_equal(weft::flat_parameters(session, all), found));
  const std::vector<Value> parts = unflatten_parameters(flat, all);
  Program back("back");
  for (std::size_t i = 0; i < all.size(); ++i) {
    BOOST_TEST(parts[i].type().str() == all[i].value().type().str());
    back.output(all[i].name(), parts[i]);
  }
  for (const auto& [name, value] : session.run(back))
    BOOST_TEST(bitwise_equal(value, session.value(name)), name);
  BOOST_TEST(flatten_parameters({m.none}).type().str() == "f64[0]");
  BOOST_TEST(flatten_parameters({m.s}).type().str() == "f64[1]");
}

BOOST_AUTO_TEST_CASE(mixed_dtypes_use_the_widest_dtype) {
  Graph g;
  const Variable a = g.variable("a", DType::bf16, {2}), b = g.variable("b", DType::f16, {1}),
                 c = g.variable("c", DType::f32, {1}), d = g.variable("d", DType::f64, {1});
  BOOST_TEST(flatten_parameters({a}).type().str() == "bf16[2]");
  BOOST_TEST(flatten_parameters({a, b}).type().str() == "f32[3]");
  BOOST_TEST(flatten_parameters({a, c}).type().str() == "f32[3]");
  BOOST_TEST(flatten_parameters({a, c, d}).type().str() == "f64[4]");
  const std::vector<Value> parts = unflatten_parameters(flatten_parameters({d, a}), {d, a});
  BOOST_TEST(parts[1].type().str() == "bf16[2]");
  Session session(g);
  set_flat_parameters(session, {a, d}, Tensor::of<double>({3}, {1, 1.0 / 3, 1.0 / 3}));
  BOOST_TEST(session.value("d").item<double>() == 1.0 / 3);
  BOOST_TEST(session.value("a").at(1) == 0.333984375);  // rounded once to bf16
  BOOST_TEST(weft::flat_parameters(session, {a, d}).type_str() == "f64[3]");
}

BOOST_AUTO_TEST_CASE(products_with_the_hessian_of_all_parameters_match_its_columns) {
  Mixed m;
  const std::vector<Variable> all = m.all();
  const std::vector<Value> values(all.begin(), all.end());
  const Value direction = m.g.input("direction", DType::f64, {"n"});
  const Value gradient = flatten_parameters(gradients(m.loss(), all));
  const Value product = flatten_parameters(
      hessian_vector_product(m.loss(), values, unflatten_parameters(direction, all)));
  Session session(m.g, {.seed = 2});
  const Program p = Program("p").output("gradient", gradient).output("product", product);
  const auto run = [&](const Tensor& d, const char* name) {
    return session.run(p, {{"direction", d}})[name].to_vector<double>();
  };
  const Tensor start = weft::flat_parameters(session, all);
  BOOST_TEST(start.type_str() == "f64[9]");
  for (std::int64_t k = 0; k < 9; ++k) {
    Tensor unit = Tensor::zeros(DType::f64, {9});
    unit.mutable_data<double>()[k] = 1;
    const std::vector<double> column = run(unit, "product");
    const double h = 1e-5;  // central differences of the gradient
    Tensor up = start.clone(), down = start.clone();
    up.mutable_data<double>()[k] += h;
    down.mutable_data<double>()[k] -= h;
    set_flat_parameters(session, all, up);
    const std::vector<double> above = run(unit, "gradient");
    set_flat_parameters(session, all, down);
    const std::vector<double> below = run(unit, "gradient");
    set_flat_parameters(session, all, start);
    for (std::size_t i = 0; i < 9; ++i) {
      const double slope = (above[i] - below[i]) / (2 * h);
      BOOST_TEST(std::abs(column[i] - slope) < 1e-7 * (1 + std::abs(slope)));
    }
  }
  BOOST_CHECK_THROW(run(Tensor::zeros(DType::f64, {8}), "product"), ShapeError);
}

BOOST_AUTO_TEST_CASE(gradients_flow_through_vectors_to_second_order) {
  Mixed m;
  const std::vector<Variable> all = m.all();
  const Value vector = m.g.input("vector", DType::f64, {9});
  const std::vector<Value> parts = unflatten_parameters(vector, all);
  const Value loss = sum(sin(parts[0]) * square(unsqueeze(parts[2], 1))) * parts[3] +
                     sum(parts[1]) + sum(square(square(flatten_parameters(parts))));
  const GradientReport report = check_gradients(
      loss, {vector},
      {.feeds = {{"vector", Tensor::of<double>({9}, {1, -2, 0.5, 3, 0.1, -1, 2, 0.7, -0.3})}},
       .second_order = true});
  BOOST_TEST(bool(report), report.message);
}

BOOST_AUTO_TEST_CASE(setting_a_vector_keeps_other_variables_initialisable) {
  Mixed m;
  Session session(m.g, {.seed = 1});
  set_flat_parameters(session, {m.b}, Tensor::of<float>({2}, {5, 6}));
  BOOST_TEST(session.value("b").to_vector<double>() == (std::vector<double>{5, 6}),
             tt::per_element());
  // The other parameters start from their initialisers.
  BOOST_CHECK_NO_THROW(session.run(Program("p").output("loss", m.loss())));
}

BOOST_AUTO_TEST_CASE(errors_name_the_parameter_and_the_sizes) {
  Mixed m, other;
  Graph& g = m.g;
  const Variable count = g.variable("count", DType::i64, {2}, {.kind = VariableKind::buffer});
  BOOST_CHECK_EXCEPTION(flatten_parameters(std::vector<Variable>{}), ArgumentError,
                        message_contains({"flatten_parameters: the parameter list is empty",
                                          "flat_parameters_test.cc"}));
  BOOST_CHECK_EXCEPTION(flatten_parameters({m.w, Variable()}), ArgumentError,
                        message_contains({"value 1 is undefined"}));
  BOOST_CHECK_EXCEPTION(
      flatten_parameters({m.w, count}), DTypeError,
      message_contains({"parameter 'count' is i64[2], but must have a floating-point dtype"}));
  BOOST_CHECK_THROW(flatten_parameters({m.w, other.w}), GraphError);
  const Value eight = g.input("eight", DType::f64, {8}), whole = g.input("whole", DType::i64, {9}),
              matrix = g.input("matrix", DType::f64, {3, 3});
  BOOST_CHECK_EXCEPTION(unflatten_parameters(eight, m.all()), ShapeError,
                        message_contains({"unflatten_parameters: the vector is f64[8], but the 4 "
                                          "parameters have 9 elements"}));
  BOOST_CHECK_THROW(unflatten_parameters(matrix, m.all()), ShapeError);
  BOOST_CHECK_EXCEPTION(
      unflatten_parameters(whole, m.all()), DTypeError,
      message_contains({"the vector is i64[9], but must have a floating-point dtype"}));
  Session session(g, {.seed = 1});
  const Tensor before = session.value("w");
  BOOST_CHECK_EXCEPTION(
      set_flat_parameters(session, m.all(), Tensor::zeros(DType::f64, {10})), ShapeError,
      message_contains(
          {"set_flat_parameters: the vector is f64[10], but the 4 parameters have 9"}));
  BOOST_CHECK_THROW(set_flat_parameters(session, m.all(), Tensor::zeros(DType::i32, {9})),
                    DTypeError);
  BOOST_CHECK_EXCEPTION(set_flat_parameters(session, m.all(), Tensor()), ArgumentError,
                        message_contains({"the vector is undefined"}));
  BOOST_CHECK_THROW(weft::flat_parameters(session, other.all()), GraphError);
  BOOST_TEST(bitwise_equal(session.value("w"), before));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
