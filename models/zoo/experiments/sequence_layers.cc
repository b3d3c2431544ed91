#include "weft/models/zoo/experiments/sequence_layers.h"

#include <algorithm>
#include <cmath>
#include <ctime>

#include "weft/autodiff/gradients.h"
#include "weft/graph/functions.h"
#include "weft/graph/run/session.h"
#include "weft/models/layers/recurrent.h"

namespace weft::zoo {
namespace {

// Minimum total duration (in seconds) and minimum number of runs for timing a layer.
constexpr double kMinSeconds = 0.2;
constexpr int kMinRuns = 5;

Initializer start(std::int64_t inputs) {
  return Initializer::normal(1 / std::sqrt(static_cast<double>(inputs)));
}

Value self_attention_of(const Scope&, Value x) {
  const Value heads = unsqueeze(x, 1);
  return squeeze(attention(heads, heads, heads), 1);
}

Value windowed_attention_of(const Scope&, Value x) {
  const Value heads = unsqueeze(x, 1);
  return squeeze(attention(heads, heads, heads, {.causal = true, .window = kWindow}), 1);
}

Value convolution_of(const Scope& scope, Value x) {
  const std::int64_t d = x.size(2).constant();
  const Variable weight =
      scope.variable("weight", x.dtype(), {d, d, kKernel}, {.initializer = start(d * kKernel)});
  const Value channels = pad(transpose(x, 1, 2), {{0, 0}, {0, 0}, {kKernel - 1, 0}});
  return transpose(conv1d(channels, weight), 1, 2);
}

Value recurrent_of(const Scope& scope, Value x) {
  return recurrent(scope, Recurrence::rnn_tanh, x, x.size(2).constant(), {.bias = false}).output;
}

/// Computes all states from the states of the previous step: h_t = tanh(W x_t + U h_(t-1)). Each
/// step propagates information by one token.
Value recurrent_step(const Scope& scope, Value last, Value x) {
  const std::int64_t n = x.size(1).constant(), d = x.size(2).constant();
  const auto weight = [&](const char* name) {
    return scope.variable(name, x.dtype(), {d, d}, {.initializer = start(d)});
  };
  const Value before = pad(slice(last, 1, {.end = Dim(n - 1)}), {{0, 0}, {1, 0}, {0, 0}});
  return tanh(matmul(x, weight("w")) + matmul(before, weight("u")));
}

/// A step that applies a whole layer. It reads only the result of the previous layer.
template <Value (*apply)(const Scope&, Value)>
Value layer_step(const Scope& scope, Value last, Value) {
  return apply(scope, last);
}

/// Returns true if the last of n tokens depends on the first after `steps` steps.
bool reaches(const SequenceLayer& layer, std::int64_t n, std::int64_t steps) {
  constexpr std::int64_t kWidth = 4;
  Graph g;
  const Value x = normal(g.key("x"), Shape{1, n, kWidth}, 0, 1, DType::f64);
  // The first layer of a stack reads x. Recurrent states start at 0.
  Value last = layer.step == recurrent_step ? zeros_like(x) : x;
  for (std::int64_t i = 0; i < steps; ++i) last = layer.step(Scope(g, "steps") / i, last, x);
  const Value by_x = gradient(sum(select(last, 1, n - 1)), x, {.unreachable = Unreachable::zeros});
  const Program program = Program("reach").output("most", max(abs(select(by_x, 1, 0))));
  Session session(g, {.seed = 1, .threads = 1});
  return session.run(program)["most"].at(0) > 0;
}

/// A program that runs one layer on random input.
class BuiltLayer {
 public:
  BuiltLayer(const SequenceLayer& layer, std::int64_t n, std::int64_t d) : sizes_{1, n, d} {
    const Value x = graph_.input("x", DType::f32, {1, n, d});
    layer_.output("y", layer.apply(Scope(graph_, "layer"), x));
    draw_.output("x", normal(graph_.key("x"), Shape{1, n, d}));
  }
  double flops() { return session_.plan(layer_, {{"x", sizes_}})->cost().flops; }
  void run() {
    if (!x_.defined()) x_ = session_.run(draw_)["x"];
    session_.run(layer_, {{"x", x_}});
  }

 private:
  Sizes sizes_;
  Graph graph_;
  Program layer_{"layer"}, draw_{"draw"};
  Session session_{graph_, {.seed = 1, .threads = 1}};
  Tensor x_;
};

}  // namespace

const std::vector<SequenceLayer>& sequence_layers() {
  static const std::vector<SequenceLayer> layers = {
      {"self-attention", "n^2 d", "1", 2, 1, 0, self_attention_of, layer_step<self_attention_of>},
      {"recurrent", "n d^2", "n", 1, 2, 1, recurrent_of, recurrent_step},
      {"convolution", "k n d^2", "n/k", 1, 2, 1, convolution_of, layer_step<convolution_of>},
      {"windowed attention", "r n d", "n/r", 1, 1, 1, windowed_attention_of,
       layer_step<windowed_attention_of>}};
  return layers;
}

double layer_flops(const SequenceLayer& layer, std::int64_t n, std::int64_t d) {
  return BuiltLayer(layer, n, d).flops();
}

double layer_seconds(const SequenceLayer& layer, std::int64_t n, std::int64_t d) {
  BuiltLayer built(layer, n, d);
  built.run();  // warm-up run, which plans the program and initialises the weights
  double all = 0, fastest = 0;
  for (int run = 0; run < kMinRuns || all < kMinSeconds; ++run) {
    const std::clock_t begin = std::clock();  // CPU time, because other programs may be running
    built.run();
    const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
    all += seconds;
    fastest = run == 0 ? seconds : std::min(fastest, seconds);
  }
  return fastest;
}

std::int64_t path_length(const SequenceLayer& layer, std::int64_t n) {
  // Doubles the number of steps until it is sufficient, then performs a binary search.
  std::int64_t too_few = 0, enough = 1;
  while (!reaches(layer, n, enough)) {
    too_few = enough;
    enough *= 2;
  }
  while (enough - too_few > 1) {
    const std::int64_t middle = (too_few + enough) / 2;
    (reaches(layer, n, middle) ? enough : too_few) = middle;
  }
  return enough;
}

double fitted_exponent(std::span<const double> x, std::span<const double> y) {
  double mean_x = 0, mean_y = 0;
  const auto count = static_cast<double>(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    mean_x += std::log(x[i]) / count;
    mean_y += std::log(y[i]) / count;
  }
  double both = 0, square_x = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double from_mean = std::log(x[i]) - mean_x;
    both += from_mean * (std::log(y[i]) - mean_y);
    square_x += from_mean * from_mean;
  }
  return both / square_x;
}

}  // namespace weft::zoo
