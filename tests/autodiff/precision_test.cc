// Gradients inherit the precision of products and pass it to the kernels.
#include <algorithm>
#include <array>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <optional>

#include "weft/autodiff/gradients.h"
#include "weft/graph/functions.h"
#include "weft/graph/run/session.h"
#include "weft/ops/kernels/gemm/bf16_split/choose.h"
#include "weft/tests/reference/matmul.h"
#include "weft/tests/samples/sample_data.h"

namespace weft {
namespace {

using kernels::Bf16Unit;
using kernels::ForcedBf16Unit;

// C = X W^T, and the products in the gradients of sum(C G): all three products of a linear
// layer.
struct Layer {
  Graph graph;
  Tensor x = sample_uniform({2, 40, 50}, 1), w = sample_uniform({60, 50}, 2),
         g = sample_uniform({2, 40, 60}, 3);
  Program program{"layer"};

  explicit Layer(std::optional<Precision> own) {
    const Value vx = graph.input("x", DType::f32, {2, 40, 50});
    const Value vw = graph.input("w", DType::f32, {60, 50});
    const Value vg = graph.input("g", DType::f32, {2, 40, 60});
    const Value c = matmul(vx, vw, {.transpose_b = true, .precision = own});
    const auto grads = gradients(sum(c * vg), {vx, vw});
    program.output("c", c).output("dx", grads[0]).output("dw", grads[1]);
  }

  // Returns the largest relative errors of c, dx and dw compared with double.
  std::array<double, 3> errors(SessionOptions options) {
    Session session(graph, options);
    const Results results = session.run(program, {{"x", x}, {"w", w}, {"g", g}});
    const Tensor x_rows = x.reshape({80, 50}), g_rows = g.reshape({80, 60});
    const Tensor expected[] = {testing::reference_matmul(x, w, false, true),
                               testing::reference_matmul(g, w, false, false),
                               testing::reference_matmul(g_rows, x_rows, true, false)};
    const char* names[] = {"c", "dx", "dw"};
    std::array<double, 3> result = {};
    for (std::size_t i = 0; i < 3; ++i) {
      double worst = 0, largest = 0;
      for (std::int64_t e = 0; e < expected[i].numel(); ++e) {
        worst = std::max(worst, std::abs(results[names[i]].at(e) - expected[i].at(e)));
        largest = std::max(largest, std::abs(expected[i].at(e)));
      }
      result[i] = worst / largest;
    }
    return result;
  }
};

// Checks that the largest error at each precision, relative to the largest element, is in the
// expected range.
void check_errors(const std::array<double, 3>& errors, Precision precision) {
  for (const double e : errors) {
    switch (precision) {
      case Precision::medium: BOOST_TEST((e > 1e-4 && e < 1e-2), e); break;
      case Precision::high: BOOST_TEST((e > 5e-7 && e < 2e-5), e); break;
      case Precision::highest: BOOST_TEST(e < 1e-6, e); break;
    }
  }
}

constexpr Precision kPrecisions[] = {Precision::highest, Precision::high, Precision::medium};

BOOST_AUTO_TEST_SUITE(precision_of_products)

BOOST_AUTO_TEST_CASE(gradients_inherit_the_precision_of_the_product) {
  for (const Precision precision : kPrecisions) {
    Layer layer(precision);
    int products = 0;
    for (const Node* node : layer.program.nodes()) {
      if (node->op().name != "matmul") continue;
      ++products;
      BOOST_TEST(node->attributes().text("precision") == precision_name(precision));
    }
    BOOST_TEST(products == 3);
    // The precision of the product overrides the precisions of the program and the session.
    const ForcedBf16Unit forced(Bf16Unit::emulated_amx);
    layer.program.precision(Precision::highest);
    check_errors(layer.errors({.threads = 1, .precision = Precision::medium}), precision);
  }
}

// Checks every op that has a precision, with any other attributes, up to second-order gradients.
BOOST_AUTO_TEST_CASE(first_and_second_order_gradients_keep_the_precision_of_every_op) {
  int nodes = 0;
  const auto takes_one = [](const OpRecord& op) {
    return std::any_of(op.attributes.begin(), op.attributes.end(),
                       [](const AttributeSpec& a) { return a.name == "precision"; });
  };
  for (const OpRecord* op : builtin_ops()->all()) {
    if (!takes_one(*op) || op->samples == nullptr || op->gradient == Gradient::none) continue;
    std::vector<OpSample> samples = op->samples();
    // Square matrices are valid for all transposes.
    if (op->name == "matmul") {
      const Tensor a = sample_uniform({2, 3, 3}, 1), b = sample_uniform({3, 3}, 2);
      for (const bool ta : {false, true}) {
        for (const bool tb : {false, true}) {
          for (const auto& [x, y] : {std::pair(a, a), {a, b}, {b, a}, {b, b}}) {
            samples.push_back({{x, y}, {{"transpose_a", ta}, {"transpose_b", tb}}});
          }
        }
      }
    }
    for (std::size_t s = 0; s < samples.size(); ++s) {
      for (const Precision precision : kPrecisions) {
        BOOST_TEST_CONTEXT("op " << op->name << " sample " << s) {
          Graph g;
          std::vector<Value> inputs, wrt;
          for (const Tensor& t : samples[s].inputs) {
            inputs.push_back(t.defined() ? g.input("in" + std::to_string(inputs.size()),
                                                   {t.dtype(), Shape(t.sizes())})
                                         : Value());
            if (t.defined() && is_floating(t.dtype())) wrt.push_back(inputs.back());
          }
          Attributes attributes = samples[s].attributes;
          attributes.set("precision", std::string(precision_name(precision)));
          Node& node = g.apply(*op, inputs, attributes);
          std::vector<Value> values;
          for (int o = 0; o < node.output_count(); ++o) values.push_back(node.output(o));
          for (int order = 1; order <= 2; ++order) {
            Value loss;
            for (const Value& v : values) {
              if (!is_floating(v.dtype())) continue;
              const Value part = sum(square(cast(v, DType::f64)));
              loss = loss.defined() ? loss + part : part;
            }
            values = gradients(loss, wrt, {.unreachable = Unreachable::zeros});
          }
          for (std::size_t id = 0; id < g.node_count(); ++id) {
            if (!takes_one(g.node(id).op())) continue;
            ++nodes;
            BOOST_TEST(g.node(id).attributes().text("precision") == precision_name(precision),
                       g.node(id).op().name);
          }
        }
      }
    }
  }
  BOOST_TEST(nodes > 200);
}

BOOST_AUTO_TEST_CASE(the_precision_of_the_program_applies_to_gradients) {
  const ForcedBf16Unit forced(Bf16Unit::emulated_amx);
  for (const Precision precision : kPrecisions) {
    Layer layer(std::nullopt);
    check_errors(layer.errors({.threads = 1, .precision = precision}), precision);
    layer.program.precision(precision);
    check_errors(layer.errors({.threads = 2, .precision = Precision::highest}), precision);
  }
}

BOOST_AUTO_TEST_CASE(without_a_matrix_unit_every_precision_computes_in_float32) {
  const ForcedBf16Unit forced(std::nullopt);
  for (const Precision precision : kPrecisions) {
    Layer layer(precision);
    check_errors(layer.errors({.threads = 1}), Precision::highest);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
