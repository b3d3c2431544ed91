// Functions that do not change if a constant is added to all of their inputs, or that change by
// this constant: values, gradients and gradients of gradients must keep their digits for any
// offset. All inputs are multiples of 1/16, so that the sums with the offsets are exact.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "random_tensor.h"
#include "weft/autodiff/gradients.h"
#include "weft/graph/functions.h"
#include "weft/graph/run/session.h"
#include "weft/testing/simd_targets.h"
#include "weft/tests/support/numbers.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(shift_invariance)
namespace {

/// Returns multiples of `unit` in [-4, 4].
Tensor multiples(double unit, const Sizes& sizes, std::uint64_t seed, DType dtype) {
  Tensor t = random_tensor(sizes, seed);
  for (std::int64_t i = 0; i < t.numel(); ++i) {
    double& x = t.mutable_data<double>()[i];
    x = std::clamp(std::round(x / unit) * unit, -4.0, 4.0);
  }
  return t.to(dtype);
}
Tensor sixteenths(const Sizes& sizes, std::uint64_t seed, DType dtype) {
  return multiples(0.0625, sizes, seed, dtype);
}

/// A function of x [4, 6, 5] and a scalar offset, which has been added to x. `rest` are other
/// operands. Their gradients must not depend on the offset either.
struct Case {
  const char* name;
  std::function<Value(Value x, Value offset)> function;
  std::function<std::vector<Value>(Graph& g, DType dtype)> rest = {};
  std::function<Value(Value x, Value offset, const std::vector<Value>& rest)> with_rest = {};
};

Value targets_of(const Value& x, int axis) {
  Sizes sizes = x.shape().constant();
  const std::int64_t classes = sizes[static_cast<std::size_t>(axis)];
  sizes.erase(sizes.begin() + axis);
  Tensor t = Tensor::empty(DType::i64, sizes);
  for (std::int64_t i = 0; i < t.numel(); ++i) {
    t.mutable_data<std::int64_t>()[i] = i % 7 == 3 ? -100 : i * 5 % classes;
  }
  return x.graph().constant(t);
}

Value constant(const Value& like, const Sizes& sizes, std::uint64_t seed) {
  return like.graph().constant(sixteenths(sizes, seed, like.dtype()));
}

/// Ids of the 4 rows of x in 3 segments. Segment 1 is empty.
Value segments_of(const Value& x) {
  return x.graph().constant(Tensor::of<std::int64_t>({4}, {2, 0, 2, 2}));
}

Value loss(const Value& x, int axis, double smoothing) {
  return cross_entropy(
      x, targets_of(x, axis),
      {.class_axis = axis, .label_smoothing = smoothing, .reduction = Reduction::none});
}

std::vector<Value> heads(Graph& g, DType dtype, const std::vector<Sizes>& sizes) {
  std::vector<Value> result;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    // Products of two halves are multiples of 1/16.
    result.push_back(g.constant(multiples(0.5, sizes[i], 10 + i, dtype)));
  }
  return result;
}

std::vector<Case> cases() {
  std::vector<Case> all = {
      {"softmax", [](Value x, Value) { return softmax(x); }},
      {"softmax over columns", [](Value x, Value) { return softmax(x, 1); }},
      {"log_softmax", [](Value x, Value) { return log_softmax(x); }},
      {"log_softmax over columns", [](Value x, Value) { return log_softmax(x, 0); }},
      {"masked_softmax",
       [](Value x, Value) {
         return masked_softmax(x, constant(x, x.shape().constant(), 2) > -0.5);
       }},
      {"logsumexp", [](Value x, Value offset) { return logsumexp(x, {2}) - offset; }},
      {"logsumexp over columns", [](Value x, Value offset) { return logsumexp(x, {1}) - offset; }},
      {"logsumexp over all axes", [](Value x, Value offset) { return logsumexp(x) - offset; }},
      {"cross_entropy", [](Value x, Value) { return loss(x, 2, 0); }},
      {"cross_entropy with smoothing", [](Value x, Value) { return loss(x, 2, 0.25); }},
      {"cross_entropy over columns", [](Value x, Value) { return loss(x, 1, 0); }},
      {"cross_entropy over columns with smoothing",
       [](Value x, Value) { return loss(x, 0, 0.25); }},
      {"focal_loss",
       [](Value x, Value) {
         return focal_loss(x, targets_of(x, 2), {.reduction = Reduction::none});
       }},
      {"segment_softmax", [](Value x, Value) { return segment_softmax(x, segments_of(x), 3); }},
      {"segment_max",
       [](Value x, Value offset) { return segment_max(x - offset, segments_of(x), 3); }},
      {"entropy", [](Value x, Value) { return -sum(softmax(x) * log_softmax(x), {2}); }},
      {"kl_div",
       [](Value x, Value) {
         return kl_div(log_softmax(x), softmax(constant(x, x.shape().constant(), 3)),
                       Reduction::none);
       }},
      {"mse of differences",
       [](Value x, Value offset) {
         return mse(x, constant(x, {4, 6, 5}, 4) + offset);
       }},
      {"layer_norm", [](Value x, Value) { return layer_norm(x); }},
      {"layer_norm with parameters",
       [](Value x, Value) { return layer_norm(x, constant(x, {5}, 5), constant(x, {5}, 6)); }},
      {"layer_norm over two axes",
       [](Value x, Value) { return layer_norm(x, {}, {}, {.axes = 2}); }},
      {"group_norm", [](Value x, Value) { return group_norm(x, 2); }},
      {"instance_norm", [](Value x, Value) { return instance_norm(x); }},
      {"batch_norm",
       [](Value x, Value) {
         const Value zero = zeros(x.graph(), x.dtype(), {6});
         return batch_norm(x, zero, zero).out;
       }},
      {"var", [](Value x, Value) { return var(x, {2}); }},
      {"var over other axes",
       [](Value x, Value) {
         return var(x, {0, 1});
       }},
      {"stddev", [](Value x, Value) { return stddev(x, {1}); }},
  };
  // The gradients of soft targets, which do not sum to 1, must keep their digits, too.
  for (const int axis : {1, 2}) {
    for (const double smoothing : {0.0, 0.25}) {
      all.push_back({.name = axis == 1 ? "soft cross_entropy over columns" : "soft cross_entropy",
                     .function = {},
                     .rest =
                         [](Graph& g, DType dtype) {
                           return heads(g, dtype, {{4, 6, 5}});
                         },
                     .with_rest =
                         [axis, smoothing](Value x, Value, const std::vector<Value>& rest) {
                           return cross_entropy(x, rest[0],
                                                {.class_axis = axis,
                                                 .label_smoothing = smoothing,
                                                 .reduction = Reduction::none});
                         }});
    }
  }
  // The offset is in the bias of a linear layer, which is fused with the loss.
  all.push_back(
      {.name = "linear layer and cross_entropy",
       .function = {},
       .rest =
           [](Graph& g, DType dtype) {
             return heads(g, dtype, {{7, 3}, {5, 3}});
           },
       .with_rest =
           [](Value x, Value, const std::vector<Value>& rest) {
             const Value bias = reshape(slice(reshape(x, {120}), 0, {.end = Dim(5)}), {5});
             return loss(matmul(rest[0], rest[1], {.transpose_b = true}) + bias, 1, 0.125);
           }});
  for (const bool masked : {false, true}) {
    all.push_back({.name = masked ? "attention with a bias and a mask" : "attention with a bias",
                   .function = {},
                   .rest =
                       [](Graph& g, DType dtype) {
                         return heads(g, dtype, {{1, 4, 6, 3}, {1, 4, 5, 3}, {1, 4, 5, 2}});
                       },
                   .with_rest =
                       [masked](Value x, Value, const std::vector<Value>& rest) {
                         AttentionOptions options{.bias = unsqueeze(x, 0), .scale = 1.0};
                         if (masked) options.mask = unsqueeze(constant(x, {4, 6, 5}, 7) > -1, 0);
                         return attention(rest[0], rest[1], rest[2], options);
                       }});
  }
  return all;
}

struct Found {
  std::vector<std::string> names;
  std::vector<Tensor> values;
};

/// Returns the value of a case and its gradients and second-order gradients with respect to x and
/// the other operands, with `offset` added to x.
Found evaluate(const Case& c, DType dtype, double offset, bool passes) {
  Graph g;
  const Value x = g.input("x", dtype, {4, 6, 5}), by = g.input("offset", dtype, {});
  std::vector<Value> operands = {x}, rest;
  if (c.rest) rest = c.rest(g, dtype);
  for (std::size_t i = 0; i < rest.size(); ++i) {
    // The sum with an input, because no gradients are computed for constants.
    rest[i] = rest[i] + g.input("zero" + std::to_string(i), dtype, {});
    operands.push_back(rest[i]);
  }
  const Value moved = x + by;
  const Value y = c.function ? c.function(moved, by) : c.with_rest(moved, by, rest);
  Program p("p");
  Found found;
  const auto add = [&](const std::string& name, const Value& value) {
    p.output(name, value);
    found.names.push_back(name);
  };
  add("value", y);
  const Value r = constant(y, y.shape().constant(), 8);
  const std::vector<Value> first = gradients(sum(y * r), operands);
  Value squares;
  for (std::size_t i = 0; i < first.size(); ++i) {
    add("gradient " + std::to_string(i), first[i]);
    const Value part = sum(square(first[i]));
    squares = squares.defined() ? squares + part : part;
  }
  const std::vector<Value> second =
      gradients(squares, operands, {.unreachable = Unreachable::zeros});
  for (std::size_t i = 0; i < second.size(); ++i) {
    add("second-order gradient " + std::to_string(i), second[i]);
  }
  Session session(g, {.threads = 2, .passes = passes});
  NamedTensors feeds = {{"x", sixteenths({4, 6, 5}, 1, dtype)},
                        {"offset", Tensor::scalar(dtype, offset)}};
  for (std::size_t i = 0; i < rest.size(); ++i) {
    feeds.emplace_back("zero" + std::to_string(i), Tensor::scalar(dtype, 0));
  }
  const Results results = session.run(p, feeds);
  for (const std::string& name : found.names) found.values.push_back(results[name].clone());
  return found;
}

double largest(const Tensor& t) {
  double result = 0;
  for (std::int64_t i = 0; i < t.numel(); ++i) result = std::max(result, std::abs(t.at(i)));
  return result;
}

BOOST_AUTO_TEST_CASE(values_and_gradients_do_not_depend_on_a_common_offset) {
  const std::vector<Case> all = cases();
  testing::for_each_simd_target([&](const char* target) {
    for (const DType dtype : {DType::f32, DType::f64}) {
      for (const bool passes : {true, false}) {
        for (const Case& c : all) {
          const Found plain = evaluate(c, dtype, 0, passes);
          std::vector<double> offsets = {-1000, 1e4, 1e6};
          if (dtype == DType::f64) offsets.push_back(0x1p40);
          for (const double offset : offsets) {
            const Found moved = evaluate(c, dtype, offset, passes);
            for (std::size_t i = 0; i < plain.values.size(); ++i) {
              // logsumexp itself grows with the offset, so its value keeps fewer digits.
              const bool grows = i == 0 && std::string(c.name).starts_with("logsumexp");
              const double epsilon = dtype == DType::f32 ? 0x1p-23 : 0x1p-52;
              const double allowed = 64 * epsilon * std::max(1.0, largest(plain.values[i])) +
                                     (grows ? epsilon * std::abs(offset) : 0);
              const double found = testing::max_difference(plain.values[i], moved.values[i]);
              BOOST_TEST(found <= allowed, target << ", " << dtype_name(dtype) << ", " << c.name
                                                  << ", offset " << offset << ": " << plain.names[i]
                                                  << " differs by " << found);
            }
          }
        }
      }
    }
  });
}

// Inputs in 16 bits are converted to f32 exactly.
BOOST_AUTO_TEST_CASE(losses_of_16_bit_logits_do_not_depend_on_a_common_offset) {
  for (const DType narrow : {DType::bf16, DType::f16}) {
    const auto run = [&](double offset) {
      Graph g;
      const Value x = g.input("x", narrow, {2, 4});
      const Value t = g.constant(Tensor::of<std::int64_t>({2}, {2, 0}));
      const Value loss = cross_entropy(cast(x, DType::f32), t);
      Tensor logits = Tensor::of<float>({2, 4}, {-4, 2, 0, 6, 8, -2, 4, 0});
      for (int i = 0; i < 8; ++i) logits.mutable_data<float>()[i] += static_cast<float>(offset);
      Session session(g, {.threads = 1});
      const Results r =
          session.run(Program("p").output("loss", loss).output("gradient", gradient(loss, x)),
                      {{"x", logits.to(narrow)}});
      return std::pair{r["loss"].clone(), r["gradient"].clone()};
    };
    const auto plain = run(0), moved = run(256);
    BOOST_TEST(testing::max_difference(plain.first, moved.first) < 1e-6);
    BOOST_TEST(testing::max_difference(plain.second, moved.second) == 0);
  }
}

}  // namespace
BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
