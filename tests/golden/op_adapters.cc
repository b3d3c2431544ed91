#include "op_adapters.h"

#include <limits>

namespace weft::golden {
namespace {

using nlohmann::json;
using Ints = std::vector<int>;
using Sizes64 = std::vector<std::int64_t>;

OpOutputs out(Value v) { return {{"out", v}}; }

template <Value (*F)(Arg)>
OpOutputs unary(const OpCase& c) {
  return out(F(c["x"]));
}

template <Value (*F)(Arg, Arg)>
OpOutputs binary(const OpCase& c) {
  return out(F(c["a"], c["b"]));
}

int axis_of(const OpCase& c) { return c.attrs.at("axis").get<int>(); }

// Returns the attribute "axes", for which null means all axes.
Axes axes_of(const OpCase& c) {
  return c.attrs.at("axes").is_null() ? Axes() : Axes(c.attrs.at("axes").get<Ints>());
}

template <Value (*F)(Arg, const Axes&, bool)>
OpOutputs reduction(const OpCase& c) {
  return out(F(c["x"], axes_of(c), c.attrs.at("keepdims").get<bool>()));
}

// Adapts reductions whose cases specify a single axis, in the attribute "axis".
template <Value (*F)(Arg, const Axes&, bool)>
OpOutputs reduction_over_axis(const OpCase& c) {
  return out(F(c["x"], Axes(axis_of(c)), c.attrs.at("keepdims").get<bool>()));
}

std::vector<Value> in_order(const OpCase& c) {
  std::vector<Value> values;
  for (const auto& entry : c.in) values.push_back(entry.second);
  return values;
}

std::array<std::int64_t, 2> pair_of(const json& j) {
  return {j.at(0).get<std::int64_t>(), j.at(1).get<std::int64_t>()};
}

Reduction reduction_of(const OpCase& c) {
  const std::string name = c.attrs.at("reduction");
  if (name == "none") return Reduction::none;
  if (name == "sum") return Reduction::sum;
  if (name == "batchmean") return Reduction::batch_mean;
  return Reduction::mean;
}

OpOutputs clamp_case(const OpCase& c) {
  const auto bound = [&](const char* name) -> std::optional<double> {
    const json& b = c.attrs.at(name);
    return b.is_null() ? std::nullopt : std::optional<double>(b.get<double>());
  };
  return out(clamp(c["x"], bound("lo"), bound("hi")));
}

OpOutputs conv1d_case(const OpCase& c) {
  return out(conv1d(c["x"], c["w"], optional(c, "b"),
                    {.stride = c.attrs.at("stride").get<std::int64_t>(),
                     .padding = c.attrs.at("padding").get<std::int64_t>(),
                     .dilation = c.attrs.at("dilation").get<std::int64_t>(),
                     .groups = c.attrs.at("groups").get<std::int64_t>()}));
}

OpOutputs conv2d_case(const OpCase& c) {
  return out(conv2d(c["x"], c["w"], optional(c, "b"),
                    {.stride = pair_of(c.attrs.at("stride")),
                     .padding = pair_of(c.attrs.at("padding")),
                     .dilation = pair_of(c.attrs.at("dilation")),
                     .groups = c.attrs.at("groups").get<std::int64_t>()}));
}

Pool1dOptions pool1d(const OpCase& c) {
  return {.kernel = c.attrs.at("k").get<std::int64_t>(),
          .stride = c.attrs.at("stride").get<std::int64_t>(),
          .padding = c.attrs.at("padding").get<std::int64_t>()};
}

Pool2dOptions pool2d(const OpCase& c) {
  return {.kernel = pair_of(c.attrs.at("k")),
          .stride = pair_of(c.attrs.at("stride")),
          .padding = pair_of(c.attrs.at("padding"))};
}

OpOutputs cross_entropy_case(const OpCase& c) {
  return out(cross_entropy(c["x"], c["target"],
                           {.class_axis = 1,
                            .ignore_index = c.attrs.at("ignore_index").get<std::int64_t>(),
                            .label_smoothing = c.attrs.at("label_smoothing").get<double>(),
                            .reduction = reduction_of(c)}));
}

OpOutputs embedding_case(const OpCase& c) {
  const json& padding = c.attrs.at("padding_idx");
  return out(embedding(
      c["ids"], c["w"],
      padding.is_null() ? std::nullopt : std::optional<std::int64_t>(padding.get<std::int64_t>())));
}

OpOutputs layer_norm_case(const OpCase& c) {
  return out(layer_norm(c["x"], optional(c, "gain"), optional(c, "bias"),
                        {.axes = static_cast<int>(c.attrs.at("normalized_shape").size()),
                         .eps = c.attrs.at("eps").get<double>()}));
}

OpOutputs group_norm_case(const OpCase& c) {
  return out(group_norm(c["x"], c.attrs.at("groups").get<std::int64_t>(),
                        optional(c, c.has("weight") ? "weight" : "gain"), optional(c, "bias"),
                        c.attrs.at("eps").get<double>()));
}

OpOutputs pad_case(const OpCase& c) {
  std::vector<std::pair<Dim, Dim>> pads;
  for (const json& p : c.attrs.at("pads")) {
    pads.emplace_back(p.at(0).get<std::int64_t>(), p.at(1).get<std::int64_t>());
  }
  const std::string mode = c.attrs.at("mode");
  return out(pad(c["x"], pads,
                 {.mode = mode == "constant"  ? PadMode::constant
                          : mode == "reflect" ? PadMode::reflect
                                              : PadMode::replicate,
                  .value = c.attrs.at("value").get<double>()}));
}

OpOutputs slice_case(const OpCase& c) {
  std::vector<Slice> slices;
  for (const json& s : c.attrs.at("slices")) {
    Slice slice;
    if (!s.at(0).is_null()) slice.begin = Dim(s.at(0).get<std::int64_t>());
    if (!s.at(1).is_null()) slice.end = Dim(s.at(1).get<std::int64_t>());
    if (!s.at(2).is_null()) slice.step = s.at(2).get<std::int64_t>();
    slices.push_back(slice);
  }
  return out(slice(c["x"], slices));
}

OpOutputs split_case(const OpCase& c) {
  std::vector<Dim> sizes;
  for (const std::int64_t size : c.attrs.at("sizes").get<Sizes64>()) sizes.emplace_back(size);
  const auto pieces = split(c["x"], sizes, axis_of(c));
  OpOutputs result;
  for (std::size_t i = 0; i < pieces.size(); ++i) result["out" + std::to_string(i)] = pieces[i];
  return result;
}

OpOutputs rope_case(const OpCase& c) {
  return out(rope(c["x"], c["positions"],
                  {.rotary_dim = c.attrs.at("rotary_dim").get<std::int64_t>(),
                   .base = c.attrs.at("base").get<double>(),
                   .adjacent = c.attrs.at("pairs") == "adjacent"}));
}

OpOutputs attention_case(const OpCase& c) {
  AttentionOptions options;
  options.causal = c.attrs.at("causal").get<bool>();
  if (!c.attrs.at("scale").is_null()) options.scale = c.attrs.at("scale").get<double>();
  options.bias = optional(c, "bias");
  options.mask = optional(c, "mask");
  return out(attention(c["q"], c["k"], c["v"], options));
}

OpOutputs causal_attention_case(const OpCase& c) {
  return out(attention(c["q"], c["k"], c["v"],
                       {.bias = optional(c, "bias"),
                        .causal = true,
                        .window = c.attrs.at("window").get<std::int64_t>(),
                        .scale = c.attrs.at("scale").get<double>(),
                        .soft_cap = c.attrs.at("soft_cap").get<double>(),
                        .sinks = optional(c, "sinks"),
                        .chunk = c.attrs.at("chunk").get<std::int64_t>()}));
}

Shape shape_of(const json& j) { return Shape(j.get<Sizes64>()); }

VarOptions var_options(const OpCase& c) {
  return {.correction = c.attrs.at("correction").get<double>(),
          .keepdims = c.attrs.at("keepdims").get<bool>()};
}

OpOutputs matmul_transposed(const OpCase& c) {
  return out(matmul(
      c["a"], c["b"],
      {.transpose_a = c.attrs.at("ta").get<bool>(), .transpose_b = c.attrs.at("tb").get<bool>()}));
}

OpOutputs topk_case(const OpCase& c) {
  const auto result = topk(c["x"], c.attrs.at("k").get<std::int64_t>(), axis_of(c),
                           c.attrs.at("largest").get<bool>());
  return {{"values", result.values}, {"indices", result.indices}};
}

OpOutputs sort_case(const OpCase& c) {
  const auto result = sort(c["x"], axis_of(c), c.attrs.at("descending").get<bool>());
  return {{"values", result.values}, {"indices", result.indices}};
}

}  // namespace

const std::map<std::string, OpAdapter>& op_adapters() {
  static const std::map<std::string, OpAdapter> adapters = {
      {"abs", unary<abs>},
      {"add", binary<add>},
      {"argmax",
       [](const OpCase& c) {
         return out(argmax(c["x"], axis_of(c), c.attrs.at("keepdims").get<bool>()));
       }},
      {"argmin",
       [](const OpCase& c) {
         return out(argmin(c["x"], axis_of(c), c.attrs.at("keepdims").get<bool>()));
       }},
      {"avg_pool1d", [](const OpCase& c) { return out(avg_pool1d(c["x"], pool1d(c))); }},
      {"avg_pool2d", [](const OpCase& c) { return out(avg_pool2d(c["x"], pool2d(c))); }},
      {"bce_with_logits",
       [](const OpCase& c) { return out(bce_with_logits(c["x"], c["target"], reduction_of(c))); }},
      {"clamp", clamp_case},
      {"concat", [](const OpCase& c) { return out(concat(in_order(c), axis_of(c))); }},
      {"conv1d", conv1d_case},
      {"conv2d", conv2d_case},
      {"cos", unary<cos>},
      {"cross_entropy", cross_entropy_case},
      {"cumsum", [](const OpCase& c) { return out(cumsum(c["x"], axis_of(c))); }},
      {"div", binary<div>},
      {"einsum",
       [](const OpCase& c) {
         return out(einsum(c.attrs.at("equation").get<std::string>(), in_order(c)));
       }},
      {"elu", [](const OpCase& c) { return out(elu(c["x"], c.attrs.at("alpha").get<double>())); }},
      {"embedding", embedding_case},
      {"equal", binary<equal>},
      {"erf", unary<erf>},
      {"exp", unary<exp>},
      {"expand",
       [](const OpCase& c) { return out(broadcast_to(c["x"], shape_of(c.attrs.at("shape")))); }},
      {"expm1", unary<expm1>},
      {"flip", [](const OpCase& c) { return out(flip(c["x"], c.attrs.at("axes").get<Ints>())); }},
      {"gather",
       [](const OpCase& c) { return out(take_along_axis(c["x"], c["index"], axis_of(c))); }},
      {"gelu_erf", unary<gelu_erf>},
      {"gelu_tanh", unary<gelu_tanh>},
      {"greater_equal", binary<greater_equal>},
      {"group_norm", group_norm_case},
      {"index_select", [](const OpCase& c) { return out(take(c["x"], c["index"], axis_of(c))); }},
      {"kl_div", [](const OpCase& c) { return out(kl_div(c["x"], c["target"], reduction_of(c))); }},
      {"l1", [](const OpCase& c) { return out(l1(c["x"], c["target"], reduction_of(c))); }},
      {"layer_norm", layer_norm_case},
      {"leaky_relu",
       [](const OpCase& c) { return out(leaky_relu(c["x"], c.attrs.at("slope").get<double>())); }},
      {"less", binary<less>},
      {"linear", [](const OpCase& c) { return out(linear(c["x"], c["w"], optional(c, "b"))); }},
      {"log", unary<log>},
      {"log1p", unary<log1p>},
      {"log_softmax", [](const OpCase& c) { return out(log_softmax(c["x"], axis_of(c))); }},
      {"logsumexp", reduction<logsumexp>},
      {"masked_fill",
       [](const OpCase& c) {
         return out(masked_fill(c["x"], c["mask"], c.attrs.at("value").get<double>()));
       }},
      {"masked_softmax", [](const OpCase& c) { return out(masked_softmax(c["x"], c["mask"])); }},
      {"matmul", [](const OpCase& c) { return out(matmul(c["a"], c["b"])); }},
      {"matmul_transposed", matmul_transposed},
      {"max", reduction<max>},
      {"max_pool1d", [](const OpCase& c) { return out(max_pool1d(c["x"], pool1d(c))); }},
      {"max_pool2d", [](const OpCase& c) { return out(max_pool2d(c["x"], pool2d(c))); }},
      {"maximum", binary<maximum>},
      {"mean", reduction<mean>},
      {"min", reduction<min>},
      {"minimum", binary<minimum>},
      {"mish", unary<mish>},
      {"mse", [](const OpCase& c) { return out(mse(c["x"], c["target"], reduction_of(c))); }},
      {"mul", binary<mul>},
      {"neg", unary<neg>},
      {"norm2", reduction<norm>},
      {"one_hot",
       [](const OpCase& c) {
         return out(one_hot(c["ids"], c.attrs.at("classes").get<std::int64_t>(), DType::f32));
       }},
      {"outer", binary<outer>},
      {"pad", pad_case},
      {"permute",
       [](const OpCase& c) { return out(permute(c["x"], c.attrs.at("order").get<Ints>())); }},
      {"pixel_shuffle",
       [](const OpCase& c) {
         return out(pixel_shuffle(c["x"], c.attrs.at("r").get<std::int64_t>()));
       }},
      {"pow", binary<pow>},
      {"pow_scalar",
       [](const OpCase& c) { return out(pow(c["x"], c.attrs.at("p").get<double>())); }},
      {"prod", reduction_over_axis<prod>},
      {"quick_gelu", unary<quick_gelu>},
      {"reciprocal", unary<reciprocal>},
      {"relu", unary<relu>},
      {"repeat_interleave",
       [](const OpCase& c) {
         return out(
             repeat_interleave(c["x"], c.attrs.at("repeats").get<std::int64_t>(), axis_of(c)));
       }},
      {"reshape",
       [](const OpCase& c) { return out(reshape(c["x"], shape_of(c.attrs.at("shape")))); }},
      {"rms_norm",
       [](const OpCase& c) {
         return out(rms_norm(c["x"], optional(c, "gain"), c.attrs.at("eps").get<double>()));
       }},
      {"roll",
       [](const OpCase& c) {
         return out(roll(c["x"], c.attrs.at("shift").get<std::int64_t>(), axis_of(c)));
       }},
      {"rope", rope_case},
      {"rsqrt", unary<rsqrt>},
      {"scaled_dot_product_attention", attention_case},
      {"causal_attention", causal_attention_case},
      {"scatter_add",
       [](const OpCase& c) { return out(scatter_add(c["x"], c["index"], c["src"], axis_of(c))); }},
      {"sigmoid", unary<sigmoid>},
      {"silu", unary<silu>},
      {"sin", unary<sin>},
      {"slice", slice_case},
      {"softmax", [](const OpCase& c) { return out(softmax(c["x"], axis_of(c))); }},
      {"softplus", unary<softplus>},
      {"sort", sort_case},
      {"split", split_case},
      {"sqrt", unary<sqrt>},
      {"square", unary<square>},
      {"stack", [](const OpCase& c) { return out(stack(in_order(c), axis_of(c))); }},
      {"std", [](const OpCase& c) { return out(stddev(c["x"], axes_of(c), var_options(c))); }},
      {"sub", binary<sub>},
      {"sum", reduction<sum>},
      {"tanh", unary<tanh>},
      {"tile",
       [](const OpCase& c) { return out(repeat(c["x"], c.attrs.at("repeats").get<Sizes64>())); }},
      {"topk", topk_case},
      {"tril",
       [](const OpCase& c) { return out(tril(c["x"], c.attrs.at("k").get<std::int64_t>())); }},
      {"triu",
       [](const OpCase& c) { return out(triu(c["x"], c.attrs.at("k").get<std::int64_t>())); }},
      {"var", [](const OpCase& c) { return out(var(c["x"], axes_of(c), var_options(c))); }},
      {"where", [](const OpCase& c) { return out(where(c["c"], c["a"], c["b"])); }},
  };
  static const auto all = [] {
    std::map<std::string, OpAdapter> all = adapters;
    add_recurrent_adapters(all);
    add_linalg_adapters(all);
    add_loss_adapters(all);
    add_norm_adapters(all);
    add_window_adapters(all);
    return all;
  }();
  return all;
}

}  // namespace weft::golden
