#include "weft/tests/onnx/export_programs.h"

#include "weft/core/random_tensors.h"
#include "weft/graph/control/call.h"
#include "weft/graph/control/cond.h"
#include "weft/graph/control/scan.h"
#include "weft/graph/functions.h"
#include "weft/graph/functions/fake_quantize.h"

namespace weft::testing {
namespace {

using Values = std::vector<Value>;

// Declares an input with the type of `value` and these symbols as the sizes of the first axes.
Value fed(Graph& g, NamedTensors& feeds, const std::string& name, Tensor value,
          const std::vector<std::string>& symbols = {}) {
  Shape shape(value.sizes());
  for (std::size_t i = 0; i < symbols.size(); ++i) {
    if (!symbols[i].empty()) shape[static_cast<int>(i)] = g.dim(symbols[i]);
  }
  feeds.emplace_back(name, value);
  return g.input(name, {value.dtype(), shape});
}

Tensor numbers(const Sizes& sizes, std::uint64_t seed = 1) { return normal_tensor(sizes, seed); }
template <class T>
Tensor list(const std::vector<T>& values) {
  return Tensor::of<T>({static_cast<std::int64_t>(values.size())}, values);
}

Values scan_with_lengths(Graph& g, NamedTensors& feeds) {
  const Value x = fed(g, feeds, "x", numbers({5, 3, 2}), {"time", "batch"});
  const Value lengths = fed(g, feeds, "lengths", list<std::int64_t>({5, 2, 0}), {"batch"});
  Values results;
  for (const bool reverse : {false, true}) {
    const ScanResult r = scan(g, {zeros(g, DType::f32, Shape{g.dim("batch"), 2})}, {x}, {},
                              [](Graph&, const ScanElements& in) {
                                const Value h = tanh(in.elements[0] + 0.5 * in.carries[0]);
                                return ScanStep{{h}, {h * cast(in.index + 1, DType::f32)}};
                              },
                              {.reverse = reverse, .lengths = lengths});
    results.push_back(r.carries[0]);
    results.push_back(r.outputs[0]);
  }
  return results;
}

Values scan_without_sequences(Graph& g, NamedTensors& feeds) {
  const Value x = fed(g, feeds, "x", numbers({3}), {"n"});
  const auto body = [&](Graph&, const ScanElements& in) {
    const Value y = in.carries[0] * 0.5 + x;  // x is captured
    return ScanStep{{y}, {sum(y)}};
  };
  const ScanResult r = scan(g, {x}, {}, {}, body, {.length = g.dim("n") + 1});
  return {r.carries[0], r.outputs[0]};
}

Values nested_scan(Graph& g, NamedTensors& feeds) {
  const Value x = fed(g, feeds, "x", numbers({4, 3}), {"rows", "columns"});
  const ScanResult r = scan(g, {}, {x}, {}, [&](Graph& outer, const ScanElements& row) {
    const Value start = sum(row.elements[0] * iota(outer, row.elements[0].shape(), 0, DType::f32));
    const ScanResult inner =
        scan(outer, {start}, {row.elements[0]}, {}, [&](Graph&, const ScanElements& in) {
          return ScanStep{{in.carries[0] * 0.5 + in.elements[0]}, {in.carries[0]}};
        });
    return ScanStep{{}, {inner.carries[0], inner.outputs[0]}};
  });
  return r.outputs;
}

Values branches(Graph& g, NamedTensors& feeds) {
  const Value x = fed(g, feeds, "x", numbers({2, 3}), {"n"});
  const Value flags =
      fed(g, feeds, "flags", Tensor::of<bool>({4}, {true, false, false, true}), {"steps"});
  const Value y = cond(
      greater(sum(x), 1000), {x}, [](Graph&, const Values& in) { return Values{in[0] * 2}; },
      [&](Graph&, const Values&) { return Values{x}; })[0];
  const Value z = scan(g, {y}, {flags}, {}, [&](Graph&, const ScanElements& in) {
                    const Value next = cond(
                        in.elements[0], {in.carries[0]},
                        [](Graph&, const Values& v) { return Values{exp(-v[0])}; },
                        [&](Graph&, const Values& v) { return Values{v[0] + x}; })[0];
                    return ScanStep{{next}, {}};
                  }).carries[0];
  return {y, z};
}

Values while_loops(Graph& g, NamedTensors& feeds) {
  const Value x = fed(g, feeds, "x", Tensor::scalar(DType::f32, 1.5));
  Values results;
  for (const std::int64_t limit : {1000, 3, 0, -1}) {
    // The last loop ends before its first step.
    const Value start = limit < 0 ? x * 1000 : x;
    const Values r = while_loop(
        g, {start, zeros(g, DType::i64, {})},
        [](Graph&, const Values& in) { return Values{less(in[0], 100)}; },
        [&](Graph&, const Values& in) {
          return Values{in[0] * x + 1, in[1] + 1};
        },
        std::abs(limit));
    results.insert(results.end(), r.begin(), r.end());
  }
  return results;
}

Values calls_with_different_sizes(Graph& g, NamedTensors& feeds) {
  const Value x = fed(g, feeds, "x", numbers({2, 3}), {"n"});
  const Value y = fed(g, feeds, "y", numbers({4, 3}, 2), {"m"});
  define_function(g, "weighted", {{"v", DType::f32, {"rows", 3}}}, [](Graph& b, const Values& in) {
    return Values{in[0] * iota(b, Shape{b.dim("rows"), 1}, 0, DType::f32),
                  dim_value(b, b.dim("rows"))};
  });
  const Values a = call(g, "weighted", {x}), b = call(g, "weighted", {y});
  return {a[0], b[0], a[1], b[1]};
}

Values computed_sizes(Graph& g, NamedTensors& feeds) {
  const Value x = fed(g, feeds, "x", numbers({7, 4}), {"n", "m"});
  const Dim n = g.dim("n"), m = g.dim("m");
  return {slice(x, 0, {.begin = floor_div(n, 2), .end = n - 1}),
          slice(x, 0, {.begin = n - 1, .end = std::nullopt, .step = -2}),
          slice(x, 1, {.begin = min(m, 2), .end = max(m, Dim(3))}),
          flip(x, {0, 1}),
          pad(x, {{n, 1}, {0, m * 2}}, {.value = 2}),
          reshape(concat({x, x}, 0), Shape{n, m, Dim(2)}),
          reshape(unsqueeze(x, 1), Shape{n * m}),
          broadcast_to(unsqueeze(x, 1), Shape{n, n + m, m}),
          dim_value(g, floor_div(m - 2 * n, 3)) + dim_value(g, n * n - 3 * m),
          iota(g, Shape{n, m}, 0, DType::f32)};
}

Values passed_through(Graph& g, NamedTensors& feeds) {
  const Value x = fed(g, feeds, "x", numbers({2}));
  const Value y = x + 1;
  return {x, y, y, stop_gradient(y), g.constant(list<float>({1, 2}))};
}

Values small_numbers(Graph& g, NamedTensors& feeds) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const Value x =
      fed(g, feeds, "x",
          list<float>({0, 1e-9F, -1e-9F, 1e-4F, -0.3F, 0.7F, 3, -0.999F, 30, kInfinity}));
  const Value y = cast(x, DType::f64) * 1e-3;
  return {log1p(x), expm1(x), expm1(-x), log1p(y), expm1(y), isfinite(x), softplus(x)};
}

Values rotary(Graph& g, NamedTensors& feeds) {
  const Value x = fed(g, feeds, "x", numbers({2, 3, 4, 6}), {"batch", "", "length"});
  const Value places =
      fed(g, feeds, "places", Tensor::of<std::int64_t>({2, 4}, {0, 1, 2, 3, 7, 123456, 999999, 5}),
          {"batch", "length"});
  const Value row = select(places, 0, 0);
  return {rope(x, places), rope(x, places, {.rotary_dim = 4, .adjacent = true}),
          rope(x, row, {.base = 500, .inverse = true}),
          rope(cast(x, DType::f64), places, {.adjacent = true})};
}

Values attentions(Graph& g, NamedTensors& feeds) {
  const Value q = fed(g, feeds, "q", numbers({2, 4, 3, 6}), {"batch", "", "queries"});
  const Value k = fed(g, feeds, "k", numbers({2, 2, 5, 6}, 2), {"batch", "", "keys"});
  const Value v = fed(g, feeds, "v", numbers({2, 2, 5, 7}, 3), {"batch", "", "keys"});
  const Value lengths = fed(g, feeds, "lengths", list<std::int32_t>({5, 0}), {"batch"});
  const Value start = fed(g, feeds, "start", list<std::int64_t>({2, 0}), {"batch"});
  const Value bias = fed(g, feeds, "bias", numbers({2, 1, 1, 5}, 4), {"batch", "", "", "keys"});
  const Value sinks = fed(g, feeds, "sinks", numbers({4}, 5));
  return {attention(q, k, v),
          attention(q, k, v, {.bias = bias, .scale = 0.3}),
          attention(q, q, q, {.causal = true}),
          attention(q, k, v, {.bias = bias, .mask = bias > 0, .soft_cap = 2}),
          attention(q, k, v, {.mask = bias > 100}),
          attention(q, k, v, {.soft_cap = 2, .lengths = lengths}),
          attention(q, k, v, {.causal = true, .window = 2, .q_start = start, .sinks = sinks}),
          attention_with_lse(q, k, v, {.lengths = lengths}).lse};
}

Values sorting_and_indices(Graph& g, NamedTensors& feeds) {
  const Value x = fed(g, feeds, "x", numbers({4, 5}), {"n", "m"});
  const Value ids = fed(g, feeds, "ids", list<std::int64_t>({3, 0, 3}), {"k"});
  const Value start = fed(g, feeds, "start", list<std::int32_t>({1, 2}));
  const Value picked = take(x, ids);
  return {sort(x, 0).values,
          sort(x, 1, true).indices,
          topk(x, 2).values,
          index_add(x, ids, picked),
          one_hot(ids, g.dim("n"), DType::i32),
          dynamic_slice(x, start, {2, 3}),
          dynamic_update_slice(x, ones(g, DType::f32, {2, 3}), start),
          argmax(x, 1),
          cumsum(x, 0, {.exclusive = true, .reverse = true}),
          any(x > 2, 1),
          all(x < 2),
          logsumexp(x, {0, 1})};
}

Values groups(Graph& g, NamedTensors& feeds) {
  const Value x = fed(g, feeds, "x", numbers({6, 3}), {"n"});
  const Value w = fed(g, feeds, "w", numbers({4, 3, 2}, 2));
  const Value sizes = fed(g, feeds, "sizes", list<std::int32_t>({2, 0, 3, 0}));
  const Value wt = fed(g, feeds, "wt", numbers({4, 2, 3}, 3));
  return {grouped_matmul(x, w, sizes), grouped_matmul(x, wt, sizes, {.transpose_w = true})};
}

Values norms_and_activations(Graph& g, NamedTensors& feeds) {
  const Value x = fed(g, feeds, "x", numbers({2, 3, 4}), {"n"});
  const Value gain = fed(g, feeds, "gain", numbers({4}, 2));
  const Value wide = cast(x, DType::f64);
  return {layer_norm(x, gain, gain),
          layer_norm(x),
          layer_norm(wide, cast(gain, DType::f64)),
          rms_norm(x, gain, 1e-3),
          rms_norm(wide),
          gelu(x),
          gelu_tanh(x),
          silu(x),
          hardswish(x),
          softmax(x, 0),
          log_softmax(wide),
          clamp(x, -0.5, 0.25),
          clamp(x, std::nullopt, 0.25)};
}

// ONNX Runtime has no kernels for these in f64.
Values wide_activations(Graph& g, NamedTensors& feeds) {
  const Value x = cast(fed(g, feeds, "x", numbers({8}), {"n"}), DType::f64);
  return {gelu(x), erf(x), hardswish(x)};
}

Values images(Graph& g, NamedTensors& feeds) {
  const Value x = fed(g, feeds, "x", numbers({2, 4, 9, 7}), {"n", "", "height", "width"});
  const Value w = fed(g, feeds, "w", numbers({6, 2, 3, 3}, 2));
  const Value v = fed(g, feeds, "v", numbers({4, 3, 3, 2}, 3));
  return {
      conv2d(x, w, {}, {.stride = {2, 1}, .padding = {1, 2}, .dilation = {1, 2}, .groups = 2}),
      conv_transpose2d(x, v, {}, {.stride = {2, 3}, .padding = {1, 0}, .output_padding = {1, 2}}),
      max_pool2d(x, {.kernel = {3, 2}, .stride = Size2d{2, 2}, .padding = {1, 0}}),
      avg_pool2d(x, {.kernel = {3, 2}, .stride = Size2d{2, 2}, .padding = {1, 0}})};
}

Values quantised_activations(Graph& g, NamedTensors& feeds) {
  const Value x = fed(g, feeds, "x", numbers({3, 5}), {"n"});
  return {fake_quantize(x), fake_quantize(x, g.scalar(DType::f32, 0.01)),
          fake_quantize(x, g.scalar(DType::f32, 0))};
}

Values narrow_dtypes(Graph& g, NamedTensors& feeds) {
  const Value x = fed(g, feeds, "x", Tensor::of<std::int8_t>({4}, {-128, 127, 3, -5}));
  const Value u = fed(g, feeds, "u", Tensor::of<std::uint8_t>({4}, {0, 255, 3, 200}));
  const Value b = fed(g, feeds, "b", Tensor::of<bool>({4}, {true, false, true, false}));
  return {x + x,
          x * x,
          u - 5,
          u / 3,
          maximum(x, 1),
          x < 0,
          sum(u),
          max(x),
          prod(x),
          cumsum(u, 0),
          equal(u, 3),
          abs(x),
          pow(x, 2),
          b < equal(u, 3),
          where(b, x, -x),
          cast(b, DType::f32),
          cast(x, DType::boolean)};
}

Values recurrences(Graph& g, NamedTensors& feeds) {
  const Value a = fed(g, feeds, "a", numbers({3, 4, 2}), {"n", "time"});
  const Value b = fed(g, feeds, "b", numbers({3, 4, 2}, 2), {"n", "time"});
  return {linear_recurrence(a, b, 1), linear_recurrence(a, b, 1, {.reverse = true}),
          linear_recurrence(a, b, 2)};
}

}  // namespace

const std::vector<ExportProgram>& export_programs() {
  static const std::vector<ExportProgram> all = {
      {"attentions", attentions},
      {"branches", branches},
      {"calls_with_different_sizes", calls_with_different_sizes},
      {"computed_sizes", computed_sizes},
      {"groups", groups},
      {"images", images},
      {"narrow_dtypes", narrow_dtypes, false},
      {"nested_scan", nested_scan},
      {"norms_and_activations", norms_and_activations},
      {"passed_through", passed_through, false},
      {"quantised_activations", quantised_activations, false},
      {"recurrences", recurrences},
      {"rotary", rotary},
      {"scan_with_lengths", scan_with_lengths},
      {"scan_without_sequences", scan_without_sequences},
      {"small_numbers", small_numbers},
      {"sorting_and_indices", sorting_and_indices},
      {"while_loops", while_loops, false},
      {"wide_activations", wide_activations},
  };
  return all;
}

Program build_program(const ExportProgram& from, Graph& graph, NamedTensors& feeds) {
  const Values values = from.build(graph, feeds);
  Program program("predict");
  for (std::size_t i = 0; i < values.size(); ++i) {
    program.output("y" + std::to_string(i), values[i]);
  }
  return program;
}

QuantizedModel quantised_network(WeightFormat format, ActivationFormat activations,
                                 NamedTensors& feeds) {
  Graph g;
  VariableStore store;
  const auto weight = [&](const std::string& name, const Sizes& sizes) {
    store.insert(name, VariableKind::parameter, normal_tensor(sizes, sizes.size()));
    return g.variable(name, {DType::f32, Shape(sizes)});
  };
  const Variable tokens = weight("tokens", {21, 64});
  const Value ids = fed(g, feeds, "ids", list<std::int64_t>({3, 20, 0, 7, 7}), {"n"});
  const Value x = embedding(ids, tokens);
  const Value y = relu(matmul(x, weight("down", {64, 48}))) + 0.1;
  const Value z = matmul(y, weight("up", {48, 64}));
  const Value sizes = g.constant(list<std::int64_t>({2, 0, 3}));
  const Value e = tanh(grouped_matmul(z, weight("experts", {3, 64, 64}), sizes));
  Program program("predict");
  program.output("logits", g.apply("matmul", {e, tokens}, {{"transpose_b", true}}).output(0));
  return quantize({program}, store, {.weights = format, .activations = activations});
}

Program sample_program(const OpRecord& op, const OpSample& sample, const SymbolicSample* symbolic,
                       Graph& graph, NamedTensors& feeds, VariableStore& store) {
  const auto own = [&](const SymbolPtr& s) -> std::optional<Dim> { return graph.dim(s->name); };
  Values operands;
  for (std::size_t i = 0; i < sample.inputs.size(); ++i) {
    const Tensor& t = sample.inputs[i];
    operands.emplace_back();
    if (!t.defined()) continue;
    const std::string name = op.inputs[std::min(i, op.inputs.size() - 1)].name + std::to_string(i);
    const Shape shape =
        symbolic != nullptr ? symbolic->inputs[i].shape.substitute(own) : Shape(t.sizes());
    if (op.name == "dequantize") {
      operands.back() = graph.variable(name, {t.dtype(), Shape(t.sizes())});
      store.insert(name, VariableKind::parameter, t);
    } else {
      operands.back() = graph.input(name, {t.dtype(), shape});
      feeds.emplace_back(name, t);
    }
  }
  if (symbolic != nullptr) {
    for (const DimEquation& e : symbolic->requirements) {
      graph.require(e.left.substitute(own) == e.right.substitute(own));
    }
  }
  Node& node = graph.apply(
      op, operands, symbolic != nullptr ? symbolic->attributes.substitute(own) : sample.attributes);
  Program program("predict");
  for (int i = 0; i < node.output_count(); ++i) {
    program.output(op.outputs[static_cast<std::size_t>(i)], node.output(i));
  }
  return program;
}

}  // namespace weft::testing
