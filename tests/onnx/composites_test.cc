#include "weft/serialization/onnx/import/composites.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <functional>
#include <limits>

#include "weft/core/random_tensors.h"
#include "weft/graph/functions.h"
#include "weft/graph/run/session.h"
#include "weft/testing/close.h"

namespace weft {
namespace {

// A composite of x [batch, 3, 8] and gain, bias [8].
struct Composite {
  const char* name;
  std::function<Value(Value x, Value gain, Value bias)> build;
  const char* op;  // of the fused value; null if the nodes must be kept
};

Value centred_square(Value x) { return square(x - mean(x, {-1}, true)); }
Value deviation(Value x, double eps = 1e-5) {
  return sqrt(mean(centred_square(x), {-1}, true) + eps);
}
Value normalised(Value x) { return (x - mean(x, {-1}, true)) / deviation(x); }
Value root_mean_square(Value x) { return sqrt(mean(square(x), {-1}, true) + 1e-6); }
Value gelu_polynomial(Value x, double cubic = 0.044715) {
  return (x + pow(x, 3.0) * cubic) * std::sqrt(2 / M_PI);
}

// The import calls fused() after every node; here the inner values of a composite are fused first.
Value f(Value v) { return onnx::fused(v); }

const Composite kComposites[] = {
    {"layer_norm", [](Value x, Value, Value) { return normalised(x); }, "layer_norm"},
    {"layer_norm with gain", [](Value x, Value g, Value) { return g * f(normalised(x)); },
     "layer_norm"},
    {"layer_norm with bias", [](Value x, Value g, Value b) { return f(f(normalised(x)) * g) + b; },
     "layer_norm"},
    {"layer_norm with pow",
     [](Value x, Value, Value) {
       const Value d = x - mean(x, {-1}, true);
       return d / sqrt(1e-5 + mean(pow(d, 2.0), {-1}, true));
     },
     "layer_norm"},
    {"layer_norm over two axes",
     [](Value x, Value, Value) {
       const Value d = x - mean(x, {1, 2}, true);
       return d / sqrt(mean(d * d, {1, 2}, true) + 1e-5);
     },
     "layer_norm"},
    {"layer_norm by a reciprocal",
     [](Value x, Value, Value) { return (x - mean(x, {-1}, true)) * reciprocal(deviation(x)); },
     "layer_norm"},
    {"a second gain", [](Value x, Value g, Value b) { return f(f(normalised(x)) * g) * b; },
     nullptr},
    {"a gain after the bias", [](Value x, Value g, Value b) { return f(f(normalised(x)) + b) * g; },
     nullptr},
    {"a gain that broadcasts over other axes",
     [](Value x, Value g, Value) {
       return f(normalised(x)) * reshape(slice(g, 0, Slice{0, 3}), Shape{3, 1});
     },
     nullptr},
    {"rms_norm of deviations from another mean",
     [](Value x, Value g, Value) {
       const Value d = x - mean(x + g, {-1}, true);
       return d / sqrt(mean(square(d), {-1}, true) + 1e-5);
     },
     "rms_norm"},
    {"the mean of another axis",
     [](Value x, Value, Value) {
       const Value d = x - mean(x, {1}, true);
       return d / sqrt(mean(square(d), {1}, true) + 1e-5);
     },
     nullptr},
    {"a negative eps",
     [](Value x, Value, Value) { return (x - mean(x, {-1}, true)) / deviation(x, -1e-9); },
     nullptr},
    {"rms_norm", [](Value x, Value, Value) { return x / root_mean_square(x); }, "rms_norm"},
    {"rms_norm with gain",
     [](Value x, Value g, Value) { return g * f(x * (1.0 / root_mean_square(x))); }, "rms_norm"},
    {"rms_norm with bias",
     [](Value x, Value g, Value b) { return f(g * f(x / root_mean_square(x))) + b; }, nullptr},
    {"gelu_erf of PyTorch",
     [](Value x, Value, Value) { return x * (erf(x / std::sqrt(2.0)) + 1.0) * 0.5; }, "gelu_erf"},
    {"gelu_erf with the factor first",
     [](Value x, Value, Value) { return (x * 0.5) * (1.0 + erf(x * std::sqrt(0.5))); }, "gelu_erf"},
    {"gelu_erf with the factor in the gate",
     [](Value x, Value, Value) { return (0.5 * (erf(x * std::sqrt(0.5)) + 1.0)) * x; }, "gelu_erf"},
    {"twice gelu_erf", [](Value x, Value, Value) { return x * (erf(x / std::sqrt(2.0)) + 1.0); },
     nullptr},
    {"gelu_erf of another value",
     [](Value x, Value g, Value) { return (g + x) * (erf(x / std::sqrt(2.0)) + 1.0) * 0.5; },
     nullptr},
    {"gelu_erf with an inexact factor",
     [](Value x, Value, Value) { return x * (erf(x * 0.7071) + 1.0) * 0.5; }, nullptr},
    {"gelu_tanh", [](Value x, Value, Value) { return 0.5 * x * (tanh(gelu_polynomial(x)) + 1.0); },
     "gelu_tanh"},
    {"gelu_tanh, factored",
     [](Value x, Value, Value) {
       return x * 0.5 * (tanh(x * std::sqrt(2 / M_PI) * (0.044715 * x * x + 1.0)) + 1.0);
     },
     nullptr},  // (c x) (1 + ...) has its factor inside
    {"gelu_tanh, factored outside",
     [](Value x, Value, Value) {
       return x * 0.5 * (tanh(std::sqrt(2 / M_PI) * (x * (0.044715 * x * x + 1.0))) + 1.0);
     },
     "gelu_tanh"},
    {"gelu_tanh with another polynomial",
     [](Value x, Value, Value) { return 0.5 * x * (tanh(gelu_polynomial(x, 0.0447)) + 1.0); },
     nullptr},
    {"silu", [](Value x, Value, Value) { return sigmoid(x) * x; }, "silu"},
    {"a gate", [](Value x, Value g, Value) { return sigmoid(x) * (x + g); }, nullptr},
};

Tensor run(Graph& graph, Value value, const NamedTensors& feeds) {
  Program program = Program("p").output("y", value);
  return Session(graph).run(program, feeds)["y"];
}

BOOST_AUTO_TEST_SUITE(onnx_composites)

BOOST_AUTO_TEST_CASE(normalisations_and_activations_become_one_operation) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const Composite& c : kComposites) {
      BOOST_TEST_CONTEXT(c.name << " in " << dtype_name(dtype)) {
        Graph g;
        const Value x = g.input("x", dtype, {"batch", 3, 8});
        const Value gain = g.input("gain", dtype, {8}), bias = g.input("bias", dtype, {8});
        const Value last = c.build(x, gain, bias), fused = onnx::fused(last);
        if (c.op == nullptr) {
          BOOST_TEST((fused == last));
          continue;
        }
        BOOST_TEST(fused.node().op().name == c.op);
        NamedTensors feeds{{"x", normal_tensor({2, 3, 8}, 1, dtype)}};
        const Program program = Program("p").output("y", fused);
        for (const Value& input : program.inputs()) {
          const std::string name = input.node().attributes().text("name");
          if (name != "x") feeds.emplace_back(name, normal_tensor({8}, name.size(), dtype));
        }
        BOOST_TEST(testing::expect_close(run(g, fused, feeds), run(g, last, feeds)));
      }
    }
  }
}

// softmax(...) v for scores of q and k [batch, 2, length, 4], a bias [batch, 1, 1, length] and a
// mask.
struct ComposedAttention {
  const char* name;
  std::function<Value(Value q, Value k, Value v, Value bias, Value mask)> build;
  bool fuses = true;
};

Value scores(Value q, Value k) { return matmul(q, transpose(k)); }
constexpr double kLowest = std::numeric_limits<float>::lowest();

const ComposedAttention kAttentions[] = {
    {"plain",
     [](Value q, Value k, Value v, Value, Value) { return matmul(softmax(scores(q, k)), v); }},
    {"scaled, with a bias", [](Value q, Value k, Value v, Value bias,
                               Value) { return matmul(softmax(scores(q, k) / 2.0 + bias), v); }},
    {"scaled operands, with two biases",
     [](Value q, Value k, Value v, Value bias, Value) {
       return matmul(softmax(bias + (matmul(q * 0.5, transpose(k) * 0.7) + bias)), v);
     }},
    {"transposed operands of products",
     [](Value q, Value k, Value v, Value, Value) {
       return matmul(softmax(matmul(transpose(q), k, {.transpose_a = true, .transpose_b = true})),
                     transpose(v), {.transpose_b = true});
     }},
    {"masked",
     [](Value q, Value k, Value v, Value bias, Value mask) {
       return matmul(softmax(where(mask, scores(q, k) * 0.5 + bias, -HUGE_VAL)), v);
     }},
    {"masked by the lowest number",
     [](Value q, Value k, Value v, Value, Value mask) {
       return matmul(softmax(where(logical_not(mask), kLowest, scores(q, k))), v);
     }},
    {"masked by a number that is not large",
     [](Value q, Value k, Value v, Value, Value mask) {
       return matmul(softmax(where(mask, scores(q, k), -10.0)), v);
     },
     false},
    {"a bias that is scaled",
     [](Value q, Value k, Value v, Value bias, Value) {
       return matmul(softmax((scores(q, k) + bias) * 0.5), v);
     },
     false},
    {"softmax over queries",
     [](Value q, Value k, Value v, Value, Value) { return matmul(softmax(scores(q, k), 2), v); },
     false},
    {"scores of no product",
     [](Value q, Value, Value v, Value bias, Value) {
       return matmul(softmax(sum(q, {-1}, true) + bias), v);
     },
     false},
};

BOOST_AUTO_TEST_CASE(products_with_softmax_become_attention) {
  Graph g;
  const auto input = [&](const char* name) {
    return g.input(name, DType::f32, {"batch", 2, "length", 4});
  };
  const Value q = input("q"), k = input("k"), v = input("v");
  const Value bias = g.input("bias", DType::f32, {"batch", 1, 1, "length"});
  const Value mask = tril(ones(g, DType::f32, {g.dim("length"), g.dim("length")})) > 0.0;
  const Sizes sizes{3, 2, 5, 4};
  const NamedTensors all{{"q", normal_tensor(sizes, 1)},
                         {"k", normal_tensor(sizes, 2)},
                         {"v", normal_tensor(sizes, 3)},
                         {"bias", normal_tensor({3, 1, 1, 5}, 4)}};
  for (const ComposedAttention& c : kAttentions) {
    BOOST_TEST_CONTEXT(c.name) {
      const Value last = c.build(q, k, v, bias, mask), fused = onnx::fused(last);
      if (!c.fuses) {
        BOOST_TEST((fused == last));
        continue;
      }
      BOOST_TEST(fused.node().op().name == "attention");
      NamedTensors feeds;
      for (const Value& i : Program("p").output("y", fused).inputs()) {
        const std::string name = i.node().attributes().text("name");
        for (const auto& feed : all)
          if (feed.first == name) feeds.push_back(feed);
      }
      const testing::Tolerance tolerance{.absolute = 1e-5, .relative = 1e-5};
      BOOST_TEST(testing::expect_close(run(g, fused, feeds), run(g, last, feeds), tolerance));
    }
  }
}

BOOST_AUTO_TEST_CASE(attention_of_heads_in_the_batch_is_recognised) {
  Graph g;
  const auto input = [&](const char* name) { return g.input(name, DType::f64, {6, 5, 4}); };
  const Value q = input("q"), k = input("k"), v = input("v");
  const Value bias = g.input("bias", DType::f64, {5, 5});
  const Value last = matmul(softmax(scores(q * 0.5, k) + bias), v), fused = onnx::fused(last);
  BOOST_TEST((fused != last));
  const NamedTensors feeds{{"q", normal_tensor({6, 5, 4}, 1, DType::f64)},
                           {"k", normal_tensor({6, 5, 4}, 2, DType::f64)},
                           {"v", normal_tensor({6, 5, 4}, 3, DType::f64)},
                           {"bias", normal_tensor({5, 5}, 4, DType::f64)}};
  BOOST_TEST(testing::expect_close(run(g, fused, feeds), run(g, last, feeds)));
}

BOOST_AUTO_TEST_CASE(constants_that_are_initialisers_are_recognised) {
  Graph g;
  const auto number = [&](const char* name, double value, bool trainable = true) {
    return g
        .variable(name, DType::f32, {1},
                  {.trainable = trainable, .initializer = Initializer::constant(value)})
        .value();
  };
  const Value x = g.input("x", DType::f32, {"batch", 8});
  const Value d = x - mean(x, {-1}, true), eps = number("eps", 1e-5);
  BOOST_TEST(f(d / sqrt(mean(square(d), {-1}, true) + eps)).node().op().name == "layer_norm");
  const Value gate = erf(x / number("root", std::sqrt(2.0))) + number("one", 1);
  BOOST_TEST(f(x * gate * number("half", 0.5)).node().op().name == "gelu_erf");
  // A temperature is trained unless it has the value of the constant.
  const auto input = [&](const char* name) { return g.input(name, DType::f32, {2, 2, 5, 4}); };
  const Value q = input("q"), k = input("k"), v = input("v");
  const auto is_attention = [&](Value scale) {
    return f(matmul(softmax(scores(q, k) / scale), v)).node().op().name == "attention";
  };
  BOOST_TEST(is_attention(number("constant", 2)));
  BOOST_TEST(!is_attention(number("trained", 2.1)));
  BOOST_TEST(is_attention(number("frozen", 2.1, false)));
}

BOOST_AUTO_TEST_CASE(keys_of_an_exporter_are_read_without_another_permutation) {
  Graph g;
  const Value q = g.input("q", DType::f32, {2, 2, 5, 4}),
              v = g.input("v", DType::f32, {2, 2, 5, 4});
  const Value k = g.input("k", DType::f32, {2, 5, 2, 4});
  const Value last = matmul(softmax(matmul(q, permute(k, {0, 2, 3, 1}))), v);
  const Value keys = onnx::fused(last).node().input(1);
  BOOST_TEST((keys == permute(k, {0, 2, 1, 3})));
  const Value plain = matmul(softmax(matmul(q, permute(q, {0, 1, 3, 2}))), v);
  BOOST_TEST((onnx::fused(plain).node().input(1) == q));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
