#include "weft/tests/control/random_step.h"

#include <fmt/format.h>

#include <boost/test/unit_test.hpp>
#include <cstring>
#include <random>

#include "weft/autodiff/gradients.h"
#include "weft/graph/control/cond.h"
#include "weft/graph/functions.h"

namespace weft::testing {
namespace {

int draw(std::mt19937_64& random, int low, int high) {
  return std::uniform_int_distribution<int>(low, high)(random);
}

Tensor random_tensor(std::mt19937_64& random, const Sizes& sizes) {
  Tensor t = Tensor::empty(DType::f64, sizes);
  std::uniform_real_distribution<double> element(-0.9, 0.9);
  double* data = t.mutable_data<double>();
  for (std::int64_t i = 0; i < t.numel(); ++i) data[i] = element(random);
  return t;
}

}  // namespace

RandomStep::RandomStep(std::uint64_t seed) : seed_(seed) {
  std::mt19937_64 random(seed);
  rows_ = draw(random, 1, 4);
  width_ = draw(random, 1, 9);
  carries_ = draw(random, 0, 3);
  sequences_ = draw(random, carries_ == 0 ? 1 : 0, 2);
  outputs_ = draw(random, carries_ == 0 ? 1 : 0, 2);
  counts_ = carries_ > 0 && draw(random, 0, 3) == 0;
  branches_ = draw(random, 0, 5) == 0;
  nests_ = draw(random, 0, 7) == 0;
  reverse = draw(random, 0, 2) == 0;
  captures_ = draw(random, 0, 1) == 0;
}

void RandomStep::declare(Graph& graph, const Dim& steps) {
  const Shape row = {Dim(rows_), Dim(width_)};
  for (int i = 0; i < carries_; ++i) {
    carries.push_back(graph.input(fmt::format("h{}", i), ValueType{DType::f64, row}));
  }
  if (counts_) carries.push_back(graph.input("count", ValueType{DType::i64, Shape{}}));
  for (int i = 0; i < sequences_; ++i) {
    sequences.push_back(graph.input(fmt::format("x{}", i),
                                    ValueType{DType::f64, Shape{steps, Dim(rows_), Dim(width_)}}));
  }
  operands.push_back(graph.input("w", ValueType{DType::f64, Shape{Dim(width_), Dim(width_)}}));
  operands.push_back(graph.input("b", ValueType{DType::f64, Shape{Dim(width_)}}));
  if (!captures_) return;
  key_ = graph.input("key", ValueType{DType::i64, Shape{2}});
  const Value v = graph.variable("v", ValueType{DType::f64, row},
                                 {.initializer = Initializer::uniform(-0.9, 0.9)});
  std::mt19937_64 random(seed_ + 5);
  captured_ = {v, tanh(operands[0]) * 0.5, graph.constant(random_tensor(random, {width_})),
               graph.constant(random_tensor(random, {65}))};
}

// Rows that are computed from captured values: in the body, in a branch and in an inner loop.
std::vector<Value> RandomStep::captured_rows(Graph& graph, const ScanElements& in,
                                             Value row) const {
  const Value v = captured_[0], product = captured_[1], vector = captured_[2];
  // The loop folds a captured key with the index, and its random streams begin at 1.
  const bool unrolled = &key_.graph() == &graph;
  const Value key = unrolled ? fold_key(key_, in.index) : key_;
  const Value noise = graph
                          .apply("random_uniform", {key},
                                 {{"shape", v.shape()},
                                  {"dtype", DType::f64},
                                  {"stream", std::int64_t{unrolled ? 3 : 2}}})
                          .output(0);
  const Value mixed = row * sin(v) + noise * 0.1;  // sin(v) has no operand of the body
  const Value large = select(captured_[3], 0, Dim(static_cast<std::int64_t>(seed_ % 65)));
  const Value chosen = cond(
      sum(row) > sum(v), {},
      [&](Graph&, const std::vector<Value>&) {
        return std::vector<Value>{matmul(mixed, product) + vector};
      },
      [&](Graph&, const std::vector<Value>&) { return std::vector<Value>{v * large}; })[0];
  const ScanResult inner = scan(graph, {mixed}, {}, {},
                                [&](Graph&, const ScanElements& x) {
                                  const Value h =
                                      tanh(matmul(x.carries[0], product) + vector * chosen);
                                  return ScanStep{{h}, {v}};
                                },
                                {.length = AxisSize(2), .name = "captures"});
  return {mixed, chosen, inner.carries[0] * 0.5 + sum(inner.outputs[0], {0}) * 0.25};
}

ScanStep RandomStep::body(Graph& graph, const ScanElements& in) const {
  std::mt19937_64 random(seed_ * 31 + 7);
  std::vector<Value> rows(in.carries.begin(), in.carries.begin() + carries_);
  rows.insert(rows.end(), in.elements.begin(), in.elements.end());
  const Value w = captures_ ? operands[0] : in.operands[0];
  const Value b = captures_ ? operands[1] : in.operands[1];
  const auto any = [&] {
    return rows[static_cast<std::size_t>(draw(random, 0, static_cast<int>(rows.size()) - 1))];
  };
  const int ops = draw(random, 1, 7);
  for (int i = 0; i < ops; ++i) {
    Value v;
    switch (draw(random, 0, 8)) {
      case 0: v = tanh(matmul(any(), w) + b); break;
      case 1: v = sigmoid(any()); break;
      case 2: v = any() * any(); break;
      case 3: v = any() + any() * 0.5; break;
      case 4: v = any() - b; break;
      case 5: v = softmax(any(), -1); break;
      case 6: v = sin(any()) + cast(in.index, DType::f64) * 0.01; break;
      case 7: v = matmul(any(), transpose(w)); break;
      default: v = broadcast_to(mean(any(), {-1}, true), any().shape()); break;
    }
    rows.push_back(v);
  }
  if (captures_) {
    for (const Value& row : captured_rows(graph, in, rows.back())) rows.push_back(row);
  }
  if (branches_) {
    const Value later = greater(in.index, 0);
    rows.push_back(cond(
        later, {rows.back(), w},
        [](Graph&, const std::vector<Value>& x) {
          return std::vector<Value>{tanh(matmul(x[0], x[1]))};
        },
        [](Graph&, const std::vector<Value>& x) { return std::vector<Value>{x[0] * 0.5}; })[0]);
  }
  if (nests_) {
    const ScanResult inner = scan(graph, {rows.back()}, {}, {w},
                                  [](Graph&, const ScanElements& x) {
                                    const Value h = tanh(matmul(x.carries[0], x.operands[0]));
                                    return ScanStep{{h}, {h * 0.25}};
                                  },
                                  {.length = AxisSize(3), .name = "inner"});
    rows.push_back(inner.carries[0] + sum(inner.outputs[0], {0}));
  }
  ScanStep step;
  // The last values become carries. Some carries are swapped or passed through unchanged.
  for (int i = 0; i < carries_; ++i) {
    const int kind = draw(random, 0, 9);
    if (kind == 0) {
      step.carries.push_back(in.carries[static_cast<std::size_t>(i)]);
    } else if (kind == 1) {
      step.carries.push_back(in.carries[static_cast<std::size_t>((i + 1) % carries_)]);
    } else if (kind == 2) {
      step.carries.push_back(in.carries[static_cast<std::size_t>(i)] + any() * 0.1);
    } else {
      step.carries.push_back(any());
    }
  }
  if (counts_) step.carries.push_back(in.carries.back() + 1);
  for (int i = 0; i < outputs_; ++i) step.outputs.push_back(any());
  return step;
}

ScanResult RandomStep::as_scan(Graph& graph, ScanOptions options) const {
  options.reverse = reverse;
  return scan(
      graph, carries, sequences, captures_ ? std::vector<Value>() : operands,
      [this](Graph& g, const ScanElements& in) { return body(g, in); }, options);
}

ScanResult RandomStep::unrolled(Graph& graph, std::int64_t steps, bool back) const {
  ScanResult result;
  result.carries = carries;
  std::vector<std::vector<Value>> stacked(static_cast<std::size_t>(outputs_));
  for (auto& list : stacked) list.resize(static_cast<std::size_t>(steps));
  for (std::int64_t i = 0; i < steps; ++i) {
    const std::int64_t index = back ? steps - 1 - i : i;
    ScanElements in;
    in.carries = result.carries;
    for (const Value& s : sequences) in.elements.push_back(select(s, 0, Dim(index)));
    in.operands = operands;
    in.index = graph.constant(Tensor::scalar(DType::i64, static_cast<double>(index)));
    const ScanStep step = body(graph, in);
    result.carries = step.carries;
    for (std::size_t o = 0; o < stacked.size(); ++o) {
      stacked[o][static_cast<std::size_t>(index)] = step.outputs[o];
    }
  }
  for (const auto& list : stacked) {
    result.outputs.push_back(
        steps > 0 ? stack(list) : zeros(graph, DType::f64, Shape{Dim(0), Dim(rows_), Dim(width_)}));
  }
  return result;
}

NamedTensors RandomStep::feeds(std::int64_t steps) const {
  std::mt19937_64 random(seed_ * 131 + 3);
  NamedTensors feeds;
  for (int i = 0; i < carries_; ++i) {
    feeds.emplace_back(fmt::format("h{}", i), random_tensor(random, {rows_, width_}));
  }
  if (counts_) feeds.emplace_back("count", Tensor::scalar(DType::i64, 5));
  for (int i = 0; i < sequences_; ++i) {
    feeds.emplace_back(fmt::format("x{}", i), random_tensor(random, {steps, rows_, width_}));
  }
  feeds.emplace_back("w", random_tensor(random, {width_, width_}));
  feeds.emplace_back("b", random_tensor(random, {width_}));
  if (captures_) feeds.emplace_back("key", Tensor::of<std::int64_t>({2}, {11, 4}));
  return feeds;
}

std::vector<Value> RandomStep::variables() const {
  std::vector<Value> all(carries.begin(), carries.begin() + carries_);
  all.insert(all.end(), sequences.begin(), sequences.end());
  all.insert(all.end(), operands.begin(), operands.end());
  if (captures_) all.push_back(captured_[0]);
  return all;
}

Value weighted_sum(const ScanResult& result, bool outputs) {
  Value total;
  int number = 0;
  const auto add = [&](const Value& v) {
    if (!is_floating(v.dtype())) return;
    ++number;
    const Value part = sum(v * v * (0.3 + 0.1 * number) + v * (1.0 / number));
    total = total.defined() ? total + part : part;
  };
  for (const Value& v : result.carries) add(v);
  if (outputs) {
    for (const Value& v : result.outputs) add(v);
  }
  return total;
}

Program with_gradients(const std::string& name, const RandomStep& step, const ScanResult& result) {
  Program program(name);
  for (std::size_t i = 0; i < result.carries.size(); ++i) {
    program.output(fmt::format("carry{}", i), result.carries[i]);
  }
  for (std::size_t i = 0; i < result.outputs.size(); ++i) {
    program.output(fmt::format("output{}", i), result.outputs[i]);
  }
  const Value loss = weighted_sum(result);
  const auto variables = step.variables();
  const GradientOptions zeros{.unreachable = Unreachable::zeros};
  const auto first = gradients(loss, variables, zeros);
  Value second_loss;
  for (std::size_t i = 0; i < first.size(); ++i) {
    program.output(fmt::format("d{}", i), first[i]);
    const Value part = sum(first[i] * first[i] * (0.5 + 0.2 * static_cast<double>(i)));
    second_loss = second_loss.defined() ? second_loss + part : part;
  }
  const auto second = gradients(second_loss, variables, zeros);
  for (std::size_t i = 0; i < second.size(); ++i) {
    program.output(fmt::format("dd{}", i), second[i]);
  }
  return program;
}

void check_same(const Results& a, const Results& b, const std::string& what) {
  for (const auto& [name, tensor] : a) {
    const Tensor& other = b[name];
    const bool same = tensor.sizes() == other.sizes() &&
                      std::memcmp(tensor.raw(), other.raw(), tensor.bytes()) == 0;
    BOOST_TEST(same, what << ": bits of " << name);
  }
}

}  // namespace weft::testing
