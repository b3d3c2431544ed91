#include "weft/models/gguf/config.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "weft/core/error.h"
#include "weft/models/families/layer_pattern.h"
#include "weft/models/families/size_limits.h"
#include "weft/models/layers/attention/positions.h"
#include "weft/serialization/gguf/blocks.h"

namespace weft::gguf {
namespace {

constexpr const char* kFrequencies = "rope_freqs.weight";
constexpr const char* kShortFactors = "rope_factors_short.weight";
constexpr const char* kLongFactors = "rope_factors_long.weight";

/// Returns the elements of a tensor with one element per rotated pair.
std::vector<double> divisors_in(const GgufFile& file, const char* name, const GptConfig& c) {
  const GgufTensor& tensor = *file.find(name);
  if (tensor.sizes != Sizes{c.rotary_size() / 2}) {
    throw FormatError(fmt::format("{}: the tensor {} is {}, but {} pairs of features are rotated",
                                  file.path, name, Shape(tensor.sizes).str(), c.rotary_size() / 2));
  }
  const Tensor values = widened(tensor).to(DType::f32);
  std::vector<double> divisors;
  for (const float v : values.span<float>()) divisors.push_back(shortest_decimal(v));
  return divisors;
}

/// Returns the share of `size` features that rotary_size() converts to `rotated`.
double rotary_share(std::int64_t rotated, std::int64_t size) {
  const auto exact = static_cast<double>(rotated) / static_cast<double>(size);
  const bool fits = static_cast<std::int64_t>(static_cast<double>(size) * exact) == rotated;
  return fits ? exact : (static_cast<double>(rotated) + 0.5) / static_cast<double>(size);
}

/// Returns the factor of cosines and sines: RotaryScaling::attention_factor or its formula.
double attention_factor(const GptConfig& c) { return rotary_attention_factor(c.scaling()); }

/// Returns the divisors of the frequencies of llama3 or longrope scaling for texts up to its
/// context.
std::vector<double> frequency_divisors(const GptConfig& c) {
  if (c.rotary_scaling == RotaryScalingKind::longrope) return c.rotary_short_factors;
  const std::vector<double> plain = rotary_frequencies(c.rotary_size(), c.rotary_base, {});
  std::vector<double> divisors = rotary_frequencies(c.rotary_size(), c.rotary_base, c.scaling());
  for (std::size_t i = 0; i < divisors.size(); ++i)
    divisors[i] = shortest_decimal(plain[i] / divisors[i]);
  return divisors;
}

/// Scaling of rotary frequencies by tensors.
void read_divisors(KeyReader& keys, GptConfig& c) {
  const bool pair = keys.has_tensor(kShortFactors) && keys.has_tensor(kLongFactors);
  if (!pair && !keys.has_tensor(kFrequencies)) return;
  if (c.rotary_scaling != RotaryScalingKind::none)
    keys.unsupported("rope.scaling.type", "the file also has a tensor of frequency divisors");
  c.rotary_scaling = RotaryScalingKind::longrope;
  c.rotary_short_factors = divisors_in(keys.file(), pair ? kShortFactors : kFrequencies, c);
  c.rotary_long_factors = divisors_in(keys.file(), pair ? kLongFactors : kFrequencies, c);
  c.rotary_context = c.context;
  if (pair) {
    keys.with_default("rope.scaling.original_context_length", c.rotary_context, c.context);
    if (c.rotary_context < 1) keys.unsupported("rope.scaling.original_context_length");
  }
  c.rotary_factor =
      std::max(1.0, static_cast<double>(c.context) / static_cast<double>(c.rotary_context));
  keys.with_default("rope.scaling.attn_factor", c.rotary_attention_factor, 1.0);
}

void scaling_keys(KeyReader& keys, GptConfig& c) {
  std::string type = "linear";
  keys.optional("rope.scaling.type", type, type);
  double factor = 0;
  keys.optional("rope.scaling.factor", factor, 0.0);
  if (factor == 0) keys.optional("rope.scale_linear", factor, 0.0);
  if (factor == 0) factor = 1;
  if (factor < 1) keys.unsupported("rope.scaling.factor", "it must be at least 1");
  keys.ignore(
      {"rope.scale_linear", "rope.scaling.original_context_length", "rope.scaling.finetuned"});
  if (type == "yarn") {
    c.rotary_scaling = RotaryScalingKind::yarn;
    c.rotary_factor = factor;
    keys.optional("rope.scaling.original_context_length", c.rotary_context, c.context)
        .optional("rope.scaling.yarn_beta_fast", c.rotary_beta_fast, 32.0)
        .optional("rope.scaling.yarn_beta_slow", c.rotary_beta_slow, 1.0)
        .fixed("rope.scaling.yarn_ext_factor", 1.0)
        .fixed("rope.scaling.yarn_attn_factor", 1.0);
    double multiplier = 0, attention = 1;
    keys.optional("rope.scaling.yarn_log_multiplier", multiplier, 0.0)
        .optional("rope.scaling.attn_factor", attention, 1.0);
    if (c.kv_rank > 0) multiplier = shortest_decimal(multiplier / 0.1);  // as the key is defined
    if (multiplier > 0) {
      c.rotary_mscale = c.kv_rank > 0 ? multiplier : 1;
      c.rotary_mscale_all = multiplier;
    }
    if (attention != 1) {
      if (c.kv_rank > 0) keys.unsupported("rope.scaling.attn_factor");
      c.rotary_attention_factor = attention * attention_factor(c);
    }
  } else if (type == "linear" || type == "none") {
    if (type == "linear" && factor != 1) {
      c.rotary_scaling = RotaryScalingKind::linear;
      c.rotary_factor = factor;
    }
    read_divisors(keys, c);
    keys.fixed("rope.scaling.attn_factor",
               c.rotary_attention_factor == 0 ? 1.0 : c.rotary_attention_factor);
  } else if (type == "longrope") {
    read_divisors(keys, c);
    if (c.rotary_scaling == RotaryScalingKind::none)
      keys.unsupported("rope.scaling.type",
                       "the file lacks the tensors rope_factors_short and "
                       "rope_factors_long");
  } else {
    keys.unsupported("rope.scaling.type", "supported are none, linear, yarn and longrope");
  }
}
void scaling_keys(KeyWriter& keys, const GptConfig& c) {
  switch (c.rotary_scaling) {
    case RotaryScalingKind::linear:
      keys.required("rope.scaling.type", std::string("linear"))
          .required("rope.scaling.factor", c.rotary_factor);
      break;
    case RotaryScalingKind::yarn: {
      GptConfig formula = c;
      formula.rotary_attention_factor = 0;
      keys.required("rope.scaling.type", std::string("yarn"))
          .required("rope.scaling.factor", c.rotary_factor)
          .required("rope.scaling.original_context_length", c.rotary_context)
          .optional("rope.scaling.yarn_beta_fast", c.rotary_beta_fast, 32.0)
          .optional("rope.scaling.yarn_beta_slow", c.rotary_beta_slow, 1.0)
          .optional("rope.scaling.yarn_log_multiplier",
                    c.kv_rank > 0 ? 0.1 * c.rotary_mscale_all : c.rotary_mscale_all, 0.0)
          .optional("rope.scaling.attn_factor", attention_factor(c) / attention_factor(formula),
                    1.0);
      break;
    }
    case RotaryScalingKind::longrope:
      keys.required("rope.scaling.original_context_length", c.rotary_context)
          .required("rope.scaling.attn_factor", attention_factor(c));
      break;
    case RotaryScalingKind::none:
    case RotaryScalingKind::llama3:
    case RotaryScalingKind::dynamic: break;
  }
}

/// The base of rotary frequencies, from which keys of architectures derive their defaults.
template <class K>
void rotary_base_key(K& keys, GptConfig& c) {
  if (c.positions != GptPositions::rotary) {
    keys.ignore({"rope.freq_base"});
    return;
  }
  keys.with_default("rope.freq_base", c.rotary_base, 10000.0);
}

/// All other keys of rotary positions.
template <class K>
void rotary_keys(K& keys, GptConfig& c) {
  if (c.positions != GptPositions::rotary) {
    keys.ignore({"rope.dimension_count"});
    return;
  }
  std::int64_t rotated = c.rotary_size();
  keys.with_default("rope.dimension_count", rotated, c.kv_rank > 0 ? rotated : c.head_size());
  if constexpr (K::kReads) {
    if (c.kv_rank == 0) {
      if (rotated < 2 || rotated % 2 != 0 || rotated > c.head_size())
        keys.unsupported("rope.dimension_count", "it must be even and at most the size of a head");
      c.rotary_share = rotary_share(rotated, c.head_size());
    }
  }
  scaling_keys(keys, c);
}

/// Sizes of all architectures.
template <class K>
void size_keys(K& keys, GptConfig& c) {
  keys.required("context_length", c.context)
      .required("embedding_length", c.width)
      .required("block_count", c.layers)
      .per_layer("attention.head_count", c.heads, 0)
      .per_layer("attention.head_count_kv", c.kv_heads, c.heads)
      .per_layer("feed_forward_length", c.inner, 0)
      .required(c.norm == GptNorm::rms_norm ? "attention.layer_norm_rms_epsilon"
                                            : "attention.layer_norm_epsilon",
                c.layer_norm_eps)
      .ignore({"vocab_size", "pooling_type", "rope.scaling.finetuned"})
      .fixed("attention.causal", true);
}
template <class K>
void head_keys(K& keys, GptConfig& c) {
  if (c.kv_rank > 0) return;
  keys.with_default("attention.key_length", c.head_dim, c.width / c.heads);
  if constexpr (K::kReads) {
    keys.fixed("attention.value_length", c.head_dim);
  } else {
    keys.required("attention.value_length", c.head_dim);
  }
}

/// Makes sure that the graph of a model is not larger than its file.
void check_layers(const GgufFile& file, const Architecture& a, const GptConfig& c) {
  const auto fail = [&](const char* key, const std::string& problem) {
    file.metadata.fail(fmt::format("{}.{}", a.name, key), problem);
  };
  if (c.layers < 1 || c.layers > static_cast<std::int64_t>(file.tensors.size()))
    fail("block_count",
         fmt::format("is {}, but the file has {} tensors", c.layers, file.tensors.size()));
  if (c.layers > size_limits::kLayers)
    fail("block_count", fmt::format("is {}; the limit is {}", c.layers, size_limits::kLayers));
  if (c.heads < 1) fail("attention.head_count", "must be positive");
}

/// Sets the fields that the presence of tensors determines.
void read_presence(const GgufFile& file, const Architecture& a, GptConfig& c) {
  const auto has = [&](std::string_view name) { return file.find(name) != nullptr; };
  const auto in_block = [&](std::string_view name) { return has(fmt::format("blk.0.{}", name)); };
  c.tied_head = !has("output.weight");
  c.head_bias = has("output.bias");
  if (in_block("attn_qkv.weight")) {
    if (c.projection == QkvProjection::separate) c.projection = QkvProjection::fused;
  } else {
    c.projection = QkvProjection::separate;
  }
  c.qkv_bias = in_block("attn_qkv.bias") || in_block("attn_q.bias");
  c.attention_out_bias = in_block("attn_output.bias");
  std::int64_t dense = 0;
  while (dense < c.layers && c.has_experts(dense)) ++dense;
  c.mlp_bias = has(fmt::format("blk.{}.ffn_up.bias", dense));
  c.norm_bias = has("output_norm.bias");
  std::int64_t expert = 0;
  while (expert < c.layers && !c.has_experts(expert)) ++expert;
  c.router_correction = has(fmt::format("blk.{}.exp_probs_b.bias", expert));
  if (a.takes_qk_norm) c.qk_norm = in_block("attn_q_norm.weight");
  if (!c.qk_norm) c.qk_norm_form = GptQkNorm::head;
  // The usual form of configs with all biases.
  if (c.norm == GptNorm::layer_norm && c.qkv_bias && c.attention_out_bias && c.mlp_bias &&
      c.norm_bias) {
    c.bias = true;
    c.qkv_bias = c.attention_out_bias = c.mlp_bias = c.norm_bias = false;
  }
}

/// Returns an equivalent config: sets fields that are derived from other fields, and resets fields
/// without an effect on the outputs, and those that only describe the storage of weights.
GptConfig canonical(GptConfig c, const Architecture& a) {
  const GptConfig usual;
  c.inner = c.inner_width();
  c.head_dim = c.head_size();
  c.kv_heads = c.key_heads();
  c.value_dim = c.value_size();
  c.embedding_width = c.embeddings();
  c.padding_id = -1;
  c.embedding_dropout = c.attention_dropout = c.residual_dropout = 0;
  c.initializer_range = usual.initializer_range;
  c.balancing_weight = c.router_z_weight = c.correction_speed = 0;
  c.transposed = c.experts_transposed = c.norm_offset = false;
  // Files have no second copy of a tied head; if one is required, it is written.
  if (a.needs_head) c.tied_head = false;
  // Biases.
  const bool layer_norm = c.norm == GptNorm::layer_norm && c.norm_weights;
  c.qkv_bias = c.qkv_bias || c.attention_bias || c.bias;
  c.attention_out_bias = c.attention_out_bias || c.attention_bias || c.bias;
  c.mlp_bias = c.mlp_bias || c.bias;
  c.norm_bias = layer_norm && (c.norm_bias || c.bias);
  c.bias = c.attention_bias = false;
  c.qk_norm_bias = c.qk_norm && c.qk_norm_bias && c.norm_bias;
  // Experts.
  if (c.experts > 0) {
    c.expert_inner = c.expert_width();
    c.expert_layers = shortest_pattern(c.expert_layers, c.layers);
    if (c.expert_layers.empty()) {
      c.inner = c.expert_inner;
      c.mlp_bias = false;
    }
    if (c.router_groups == 1) {
      c.router_groups_per_token = 1;
      c.router_group_score = usual.router_group_score;
    }
  } else {
    c.experts_per_token = usual.experts_per_token;
    c.normalize_experts = usual.normalize_experts;
    c.router_group_score = usual.router_group_score;
  }
  // Attention.
  c.attention_scale = c.attention_scale > 0 ? c.attention_scale
                      : c.scale_attention   ? 1 / std::sqrt(static_cast<double>(c.head_size()))
                                            : 1;
  c.scale_attention = true;
  if (c.projection == QkvProjection::fused_by_head) c.projection = QkvProjection::fused;
  bool windows = false, rotates = false;
  for (std::int64_t i = 0; i < c.layers; ++i) {
    windows = windows || c.has_window(i);
    rotates = rotates || c.has_rotary(i);
  }
  if (!windows) {
    c.window = 0;
    c.window_layers.clear();
    c.window_chunks = false;
    c.rotary_window_base = 0;
  }
  c.window_layers = shortest_pattern(c.window_layers, c.layers);
  c.rotary_layers = shortest_pattern(c.rotary_layers, c.layers);
  c.query_growth_layers = shortest_pattern(c.query_growth_layers, c.layers);
  if (c.query_growth == 0) {
    c.query_growth_context = usual.query_growth_context;
    c.query_growth_offset = 0;
    c.query_growth_layers.clear();
  }
  // Positions.
  if (c.positions != GptPositions::linear_bias) c.linear_bias_max = usual.linear_bias_max;
  if (!rotates) {
    if (c.positions == GptPositions::rotary) c.positions = GptPositions::none;
    c.rotary_base = usual.rotary_base;
    c.rotary_share = 1;
    c.rotary_layers.clear();
    c.rotary_scaling = RotaryScalingKind::none;
  } else if (c.kv_rank == 0) {
    c.rotary_share = rotary_share(c.rotary_size(), c.head_size());
  }
  if (!c.qk_norm && c.kv_rank == 0)
    c.rotary_adjacent = false;  // rows are stored in the order of the file
  if (c.rotary_window_base == c.rotary_base && c.rotary_scaling == RotaryScalingKind::none)
    c.rotary_window_base = 0;
  if (c.rotary_scaling == RotaryScalingKind::none) {
    c.rotary_factor = 1;
    c.rotary_context = 0;
  } else if (c.rotary_scaling == RotaryScalingKind::llama3) {
    c.rotary_short_factors = c.rotary_long_factors = frequency_divisors(c);
    c.rotary_scaling = RotaryScalingKind::longrope;
    c.rotary_context = c.context;
    c.rotary_attention_factor = 1;
  }
  const bool yarn = c.rotary_scaling == RotaryScalingKind::yarn;
  if (yarn || c.rotary_scaling == RotaryScalingKind::longrope)
    c.rotary_attention_factor = attention_factor(c);
  if (c.rotary_scaling == RotaryScalingKind::longrope)
    c.rotary_factor =
        std::max(1.0, static_cast<double>(c.context) / static_cast<double>(c.rotary_context));
  if (c.kv_rank == 0) c.rotary_mscale = c.rotary_mscale_all = 0;
  c.rotary_low_factor = usual.rotary_low_factor;
  c.rotary_high_factor = usual.rotary_high_factor;
  if (!yarn) {
    c.rotary_beta_fast = usual.rotary_beta_fast;
    c.rotary_beta_slow = usual.rotary_beta_slow;
  }
  c.rotary_truncate = true;  // files have no such key; write_model() adds a note
  return c;
}

/// Returns true if two JSON values are equal after rounding numbers to float.
bool is_same(const nlohmann::json& a, const nlohmann::json& b) {
  if (a.is_array() && b.is_array())
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), is_same);
  if (!a.is_number_float() && !b.is_number_float()) return a == b;
  const auto x = a.get<double>(), y = b.get<double>();
  // Derived values such as 1 / logit_scale are rounded twice.
  return std::abs(x - y) <= 2e-7 * std::max(std::abs(x), std::abs(y));
}

}  // namespace

GptConfig read_config(const GgufFile& file, const Architecture& architecture,
                      std::vector<std::string>& notes) {
  KeyReader keys(file, architecture.name);
  GptConfig c = architecture.config;
  size_keys(keys, c);
  check_layers(file, architecture, c);
  if (const GgufTensor* table = file.find("token_embd.weight");
      table != nullptr && table->sizes.size() == 2)
    c.vocab = table->sizes[0];
  head_keys(keys, c);
  rotary_base_key(keys, c);
  architecture.keys.read(keys, c);
  rotary_keys(keys, c);
  read_presence(file, architecture, c);
  keys.finish();
  notes.insert(notes.end(), keys.notes().begin(), keys.notes().end());
  c.check();
  return c;
}

void write_config(GgufMetadata& metadata, const Architecture& architecture,
                  const GptConfig& config) {
  KeyWriter keys(metadata, architecture.name);
  GptConfig c = config;
  c.inner = c.inner_width();
  c.head_dim = c.head_size();
  c.kv_heads = c.kv_rank > 0 ? 1 : c.key_heads();
  c.norm = architecture.config.norm;
  if (c.experts > 0) {
    c.expert_inner = c.expert_width();
    // Some architectures have no other key for the width of experts.
    if (shortest_pattern(c.expert_layers, c.layers).empty()) c.inner = c.expert_inner;
  }
  size_keys(keys, c);
  keys.required("vocab_size", c.vocab);
  head_keys(keys, c);
  rotary_base_key(keys, c);
  GptConfig copy = c;
  architecture.keys.write(keys, copy);
  rotary_keys(keys, c);
}

std::vector<GgufTensor> config_tensors(const GptConfig& c) {
  const auto list = [](const char* name, const std::vector<double>& values) {
    Tensor tensor = Tensor::empty(DType::f32, {static_cast<std::int64_t>(values.size())});
    std::transform(values.begin(), values.end(), tensor.mutable_data<float>(),
                   [](double v) { return static_cast<float>(v); });
    return encoded(name, tensor, GgmlType::f32);
  };
  if (c.positions != GptPositions::rotary) return {};
  if (c.rotary_scaling == RotaryScalingKind::llama3)
    return {list(kFrequencies, frequency_divisors(c))};
  if (c.rotary_scaling != RotaryScalingKind::longrope) return {};
  if (c.rotary_short_factors == c.rotary_long_factors && attention_factor(c) == 1)
    return {list(kFrequencies, c.rotary_short_factors)};
  return {list(kLongFactors, c.rotary_long_factors), list(kShortFactors, c.rotary_short_factors)};
}

bool is_config_tensor(std::string_view name) {
  return name == kFrequencies || name == kShortFactors || name == kLongFactors;
}

std::vector<std::string> config_differences(const GptConfig& written, const GptConfig& read,
                                            const Architecture& architecture) {
  const auto a = nlohmann::json::parse(canonical(written, architecture).to_json());
  const auto b = nlohmann::json::parse(canonical(read, architecture).to_json());
  std::vector<std::string> differences;
  for (const auto& [field, value] : a.items()) {
    if (!is_same(value, b.at(field)))
      differences.push_back(
          fmt::format("{} is {}, but would be {}", field, value.dump(), b.at(field).dump()));
  }
  return differences;
}

}  // namespace weft::gguf
