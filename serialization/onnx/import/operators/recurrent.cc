// Recurrent networks: RNN, GRU and LSTM as scans over the sequence. The products of all inputs and
// the input weights are one matrix product before the loop.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <string>

#include "weft/core/error.h"
#include "weft/graph/control/scan.h"
#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/linalg/linalg.h"
#include "weft/graph/functions/shape.h"
#include "weft/serialization/onnx/import/operators.h"
#include "weft/serialization/onnx/import/operators/numeric.h"

namespace weft::onnx {
namespace {

using Activation = std::function<Value(Value)>;

/// Reads activation functions with their parameters, which are consumed in the order of the
/// functions that have them.
class ActivationList {
 public:
  ActivationList(NodeImport& n, const std::vector<std::string>& defaults, std::size_t directions)
      : alphas_(n.reals("activation_alpha").value_or(std::vector<double>())),
        betas_(n.reals("activation_beta").value_or(std::vector<double>())) {
    std::vector<std::string> names;
    for (std::size_t d = 0; d < directions; ++d)
      names.insert(names.end(), defaults.begin(), defaults.end());
    if (auto given = n.texts("activations")) names = std::move(*given);
    if (names.size() != directions * defaults.size()) {
      throw FormatError(fmt::format("activations must have {} elements, but has {}",
                                    directions * defaults.size(), names.size()));
    }
    if (const auto clip = n.has_attribute("clip") ? n.real("clip") : 0; clip > 0) clip_ = clip;
    for (std::size_t i = 0; i < names.size(); ++i) {
      // Gates are clipped, but not the cell state, the operand of the third function of LSTM.
      functions_.push_back(named(n, names[i], i % defaults.size() < 2));
    }
    // Values that no function takes are harmless, but a wrong number of them is ambiguous.
    check_used("activation_alpha", alphas_, next_alpha_);
    check_used("activation_beta", betas_, next_beta_);
  }

  const Activation& operator[](std::size_t i) const { return functions_[i]; }

 private:
  double alpha(double otherwise) {
    return next_alpha_ < alphas_.size() ? alphas_[next_alpha_++] : otherwise;
  }
  double beta(double otherwise) {
    return next_beta_ < betas_.size() ? betas_[next_beta_++] : otherwise;
  }
  static void check_used(std::string_view name, const std::vector<double>& values,
                         std::size_t used) {
    if (used != 0 && used != values.size()) {
      throw FormatError(fmt::format("{} has {} elements, but the activations take {}", name,
                                    values.size(), used));
    }
  }

  Activation named(NodeImport& n, const std::string& given, bool is_gate) {
    std::string name = given;
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return std::tolower(c); });
    const Activation f = function(name);
    if (!f) n.unsupported(fmt::format("the activation '{}'", given));
    if (!clip_ || !is_gate) return f;
    return [f, limit = *clip_](Value x) { return f(clamp(x, -limit, limit)); };
  }

  Activation function(std::string_view name) {
    if (name == "sigmoid") return [](Value x) { return sigmoid(x); };
    if (name == "tanh") return [](Value x) { return tanh(x); };
    if (name == "relu") return [](Value x) { return relu(x); };
    if (name == "softplus") return [](Value x) { return softplus(x); };
    if (name == "softsign") return [](Value x) { return x / (1.0 + abs(x)); };
    if (name == "leakyrelu") {
      return [a = alpha(0.01)](Value x) { return leaky_relu(x, a); };
    }
    if (name == "elu") {
      return [a = alpha(1)](Value x) { return elu(x, a); };
    }
    if (name == "thresholdedrelu") {
      return [a = alpha(1)](Value x) { return where(x >= a, x, 0.0); };
    }
    const bool affine = name == "affine", scaled = name == "scaledtanh";
    if (!affine && !scaled && name != "hardsigmoid") return {};
    const double a = alpha(affine || scaled ? 1 : 0.2), b = beta(affine ? 0 : scaled ? 1 : 0.5);
    if (affine) return [a, b](Value x) { return x * a + b; };
    if (scaled) return [a, b](Value x) { return tanh(x * b) * a; };
    return [a, b](Value x) { return clamp(x * a + b, 0, 1); };
  }

  std::vector<double> alphas_, betas_;
  std::size_t next_alpha_ = 0, next_beta_ = 0;
  std::optional<double> clip_;
  std::vector<Activation> functions_;
};

/// The operands of one direction. `x` [T, B, gates * H] contains the products of the inputs and
/// their weights, with all biases except for `recurrent_bias`.
struct RecurrentDirection {
  Value x, weight;           // weight [gates * H, H]
  Value recurrent_bias;      // [gates * H], if the cell adds it
  Value peepholes;           // [3 H], or undefined
  std::vector<Value> state;  // h and, for LSTM, c: [B, H]
  std::vector<Activation> functions;
};

struct RecurrentCell {
  int gates = 1;
  std::vector<std::string> functions;  // by default
  int states = 1;
  bool separate_biases = false;  // see RecurrentDirection::recurrent_bias
  /// Returns the new states from the products of this step and the old states.
  std::function<std::vector<Value>(const RecurrentDirection&, Value x, std::vector<Value> state)>
      step = {};
};

/// Returns v[i]. A single row is not copied, so that products read packed weights.
Value row_of(Value v, std::int64_t i) {
  if (v.size(0) != Dim(1)) return select(v, 0, Dim(i));
  const auto& dims = v.shape().dims();
  return reshape(v, Shape(std::vector<Dim>(dims.begin() + 1, dims.end())));
}

/// Returns gate `i` of [B, gates * H].
Value gate_of(Value gates, int i, const Dim& hidden, int count = 1) {
  return slice(gates, -1, Slice{Dim(i) * hidden, Dim(i + count) * hidden});
}

std::vector<ImportedValue> recurrent(NodeImport& n, const RecurrentCell& cell) {
  const std::string direction = n.text("direction", "forward");
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional")
    n.unsupported(fmt::format("direction '{}'", direction));
  const std::size_t directions = direction == "bidirectional" ? 2 : 1;
  const bool batch_first = n.flag("layout");
  if (n.opset() < 7) n.skip_attribute("output_sequence");  // unused outputs have no name
  const ActivationList functions(n, cell.functions, directions);

  Value x = widened(n.input(0));
  const Value input_weights = widened(n.input(1)), weights = widened(n.input(2));
  const Value biases = widened(n.optional(3)), lengths = n.optional(4);
  if (x.rank() != 3 || input_weights.rank() != 3 || weights.rank() != 3) {
    throw FormatError(fmt::format("X, W and R must have 3 axes, but are {}, {} and {}",
                                  x.type().str(), input_weights.type().str(),
                                  weights.type().str()));
  }
  const Dim hidden = weights.size(2);
  if (weights.size(0) != Dim(static_cast<std::int64_t>(directions)) ||
      weights.size(1) != Dim(cell.gates) * hidden ||
      (n.has_attribute("hidden_size") && hidden != Dim(n.integer("hidden_size")))) {
    throw FormatError(fmt::format("R is {}, but must be [{}, {} hidden_size, hidden_size]",
                                  weights.type().str(), directions, cell.gates));
  }
  if (batch_first) x = permute(x, {1, 0, 2});
  const Dim batch = x.size(1);

  std::vector<Value> outputs;  // per direction [T, B, H]
  std::vector<std::vector<Value>> last(static_cast<std::size_t>(cell.states));  // [B, H]
  for (std::size_t d = 0; d < directions; ++d) {
    const auto row = static_cast<std::int64_t>(d);
    RecurrentDirection now;
    now.x = matmul(x, row_of(input_weights, row), {.transpose_b = true});
    now.weight = row_of(weights, row);
    if (biases.defined()) {
      const auto halves = split_equal(row_of(biases, row), 2);
      now.x = now.x + halves[0];
      if (cell.separate_biases)
        now.recurrent_bias = halves[1];
      else
        now.x = now.x + halves[1];
    }
    for (int s = 0; s < cell.states; ++s) {
      const Value initial = widened(n.optional(static_cast<std::size_t>(5 + s)));
      now.state.push_back(!initial.defined() ? zeros(n.graph(), x.dtype(), Shape{batch, hidden})
                          : batch_first      ? select(initial, 1, Dim(row))
                                             : row_of(initial, row));
    }
    if (const Value p = cell.states == 2 ? widened(n.optional(7)) : Value(); p.defined())
      now.peepholes = row_of(p, row);
    for (std::size_t f = 0; f < cell.functions.size(); ++f)
      now.functions.push_back(functions[d * cell.functions.size() + f]);
    ScanOptions options{.reverse = d == 1 || direction == "reverse",
                        .name = fmt::format("onnx_{}", n.op())};
    if (lengths.defined()) options.lengths = lengths;
    const ScanResult result = scan(
        n.graph(), now.state, {now.x}, {},
        [&](Graph&, const ScanElements& in) {
          ScanStep step;
          step.carries = cell.step(now, in.elements[0], in.carries);
          step.outputs = {step.carries[0]};
          return step;
        },
        options);
    outputs.push_back(result.outputs[0]);
    for (std::size_t s = 0; s < last.size(); ++s) last[s].push_back(result.carries[s]);
  }
  const DType dtype = n.input(0).dtype();
  std::vector<ImportedValue> results;
  const Value all = stack(outputs, 1);  // [T, directions, B, H]
  results.emplace_back(cast(batch_first ? permute(all, {2, 0, 1, 3}) : all, dtype));
  for (const auto& states : last)
    results.emplace_back(cast(stack(states, batch_first ? 1 : 0), dtype));
  return results;
}

Value recurrent_product(Value h, const RecurrentDirection& d) {
  const Value product = matmul(h, d.weight, {.transpose_b = true});
  return d.recurrent_bias.defined() ? product + d.recurrent_bias : product;
}

std::vector<ImportedValue> rnn(NodeImport& n) {
  return recurrent(n,
                   {.gates = 1,
                    .functions = {"tanh"},
                    .step = [](const RecurrentDirection& d, Value x, std::vector<Value> state) {
                      return std::vector<Value>{d.functions[0](x + recurrent_product(state[0], d))};
                    }});
}

// Gates in the order z (update), r (reset), h.
std::vector<ImportedValue> gru(NodeImport& n) {
  const bool linear_first = n.flag("linear_before_reset");
  RecurrentCell cell{.gates = 3, .functions = {"sigmoid", "tanh"}, .separate_biases = linear_first};
  cell.step = [linear_first](const RecurrentDirection& d, Value x, std::vector<Value> state) {
    const Value h = state[0];
    const Dim hidden = h.size(1);
    Value z, r, candidate;
    const auto gates_of = [&](Value recurrent) {
      const Value both = d.functions[0](gate_of(x, 0, hidden, 2) + recurrent);
      z = gate_of(both, 0, hidden);
      r = gate_of(both, 1, hidden);
    };
    if (linear_first) {
      const Value product = recurrent_product(h, d);
      gates_of(gate_of(product, 0, hidden, 2));
      candidate = r * gate_of(product, 2, hidden);
    } else {
      RecurrentDirection zr = d, c = d;
      zr.weight = slice(d.weight, 0, Slice{Dim(0), Dim(2) * hidden});
      c.weight = slice(d.weight, 0, Slice{Dim(2) * hidden, Dim(3) * hidden});
      gates_of(recurrent_product(h, zr));
      candidate = recurrent_product(r * h, c);
    }
    candidate = d.functions[1](gate_of(x, 2, hidden) + candidate);
    return std::vector<Value>{(1.0 - z) * candidate + z * h};
  };
  return recurrent(n, cell);
}

// Gates in the order i (input), o (output), f (forget), c (cell).
std::vector<ImportedValue> lstm(NodeImport& n) {
  const bool coupled = n.flag("input_forget");
  RecurrentCell cell{.gates = 4, .functions = {"sigmoid", "tanh", "tanh"}, .states = 2};
  cell.step = [coupled](const RecurrentDirection& d, Value x, std::vector<Value> state) {
    const Value c = state[1];
    const Dim hidden = c.size(1);
    const Value gates = x + recurrent_product(state[0], d);
    const auto gate = [&](int i, int peephole, Value seen) {
      const Value g = gate_of(gates, i, hidden);
      return d.functions[0](
          d.peepholes.defined() ? g + gate_of(d.peepholes, peephole, hidden) * seen : g);
    };
    const Value input = gate(0, 0, c);
    const Value forget = coupled ? 1.0 - input : gate(2, 2, c);
    const Value next = forget * c + input * d.functions[1](gate_of(gates, 3, hidden));
    return std::vector<Value>{gate(1, 1, next) * d.functions[2](next), next};
  };
  return recurrent(n, cell);
}

constexpr Operator kRecurrentOperators[] = {
    {"GRU", 3, gru},
    {"LSTM", 1, lstm},
    {"RNN", 1, rnn},
};

}  // namespace

std::span<const Operator> recurrent_operators() { return kRecurrentOperators; }

}  // namespace weft::onnx
