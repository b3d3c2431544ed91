#include "weft/models/hf/decoders/keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "weft/core/error.h"
#include "weft/models/families/layer_pattern.h"
#include "weft/models/families/size_limits.h"
#include "weft/models/fields/check.h"

namespace weft::hf {
namespace {

constexpr const char* kLayerTypes = "layer_types";

/// Returns the pattern as one character per layer.
std::string expanded(std::string_view pattern, std::int64_t layers) {
  std::string all;
  for (std::int64_t i = 0; i < layers; ++i) all += layer_selected(pattern, i) ? '1' : '0';
  return all;
}

/// Reads layer_types into `pattern` if the config contains this list. Layers with a window are
/// selected; all others must have full attention.
void read_layer_types(ConfigReader& config, const GptConfig& c, const WindowNames& names,
                      std::string& pattern) {
  const std::vector<std::string> types = config.list(kLayerTypes);
  if (types.empty()) return;
  pattern.clear();
  for (const std::string& type : types) {
    if (type != names.kind && type != "full_attention") {
      throw ArgumentError(
          fmt::format("config.json: {} contains \"{}\"; supported are \"full_attention\" and "
                      "\"{}\" for model_type \"{}\"",
                      kLayerTypes, type, names.kind, config.model_type()));
    }
    pattern += type == names.kind ? '1' : '0';
  }
  if (pattern.find('1') == std::string::npos) {
    pattern = "0";
  } else if (std::ssize(types) < c.layers) {
    throw ArgumentError(fmt::format("config.json: {} has {} entries, but the model has {} layers",
                                    kLayerTypes, types.size(), c.layers));
  }
}

/// Sets the window and its layers, of which there may be none.
void set_window(GptConfig& c, std::int64_t window, const std::string& pattern,
                const WindowNames& names) {
  const std::string layers = expanded(pattern, c.layers);
  const bool any = layers.find('1') != std::string::npos;
  if (any && window < 1 && pattern != "1") {
    throw ArgumentError(
        fmt::format("config.json: {} contains layers with a window, but {} specifies no window: "
                    "set {} to a number of tokens (for Qwen, with use_sliding_window)",
                    kLayerTypes, names.key, names.key));
  }
  c.window = any ? std::max<std::int64_t>(window, 0) : 0;
  c.window_layers = c.window == 0 ? "" : shortest_pattern(layers, c.layers);
}

/// Reads the window; 0 means none.
std::int64_t read_window(ConfigReader& config, const GptConfig& c, const WindowNames& names) {
  std::int64_t window = c.window;
  config.optional_id(names.key, window);
  return std::max<std::int64_t>(window, 0);
}

void write_window(ConfigWriter& config, const GptConfig& c, const WindowNames& names) {
  config.optional_id(names.key, c.window == 0 ? -1 : c.window);
}

/// Reads a list of integers. Throws FormatError for other values.
std::vector<std::int64_t> integers(const json& value, const char* key) {
  std::vector<std::int64_t> numbers;
  if (!value.is_array())
    throw FormatError(
        fmt::format("'{}' must be a list of integers, not {}", key, json_excerpt(value)));
  for (const json& entry : value) read_json(entry, key, numbers.emplace_back());
  return numbers;
}

}  // namespace

void check_sizes(const ConfigReader&, const GptConfig& c) {
  check::at_least("layers", c.layers, 1);
  check::at_least("heads", c.heads, 1);
  check::at_most({{"layers", c.layers, size_limits::kLayers},
                  {"heads", c.heads, size_limits::kHeads},
                  {"width", c.width, size_limits::kWidth},
                  {"head_dim", c.head_dim, size_limits::kWidth},
                  {"latent_rotary", c.latent_rotary, size_limits::kWidth},
                  {"expert_inner", c.expert_inner, size_limits::kInner}});
  check::at_least("width", c.width, 1);
  check::at_least("head_dim", c.head_dim, 0);
  check::at_least("latent_rotary", c.latent_rotary, 0);
  check::at_least("expert_inner", c.expert_inner, 0);
}

GptNames llama_names(const ModuleNames& changes) {
  GptNames names{.base = "model.",
                 .modules = {{"wte", "embed_tokens"}, {"ln_f", "norm"}},
                 .blocks = "layers",
                 .block_modules = {{"ln_1", "input_layernorm"},
                                   {"ln_2", "post_attention_layernorm"},
                                   {"attn.query", "self_attn.q_proj"},
                                   {"attn.key", "self_attn.k_proj"},
                                   {"attn.value", "self_attn.v_proj"},
                                   {"attn.c_proj", "self_attn.o_proj"},
                                   {"attn.query_norm", "self_attn.q_norm"},
                                   {"attn.key_norm", "self_attn.k_norm"},
                                   {"mlp.gate", "mlp.gate_proj"},
                                   {"mlp.c_fc", "mlp.up_proj"},
                                   {"mlp.c_proj", "mlp.down_proj"}}};
  for (const auto& change : changes) {
    const auto old = std::find_if(names.block_modules.begin(), names.block_modules.end(),
                                  [&](const auto& entry) { return entry.first == change.first; });
    if (old == names.block_modules.end()) {
      names.block_modules.push_back(change);
    } else {
      *old = change;
    }
  }
  return names;
}

std::vector<FileLayout> separate_experts(const std::string& front, const std::string& gate,
                                         const std::string& up, const std::string& down) {
  const auto matrix = [&](const std::string& name) { return front + ".*." + name + ".weight"; };
  return {{.ours = "mlp.experts.gate", .theirs = matrix(gate)},
          {.ours = "mlp.experts.up", .theirs = matrix(up)},
          {.ours = "mlp.experts.down", .theirs = matrix(down)}};
}

std::vector<FileLayout> fused_experts(const std::string& theirs, bool interleaved,
                                      const std::string& suffix) {
  const FileLayout gate{.ours = "mlp.experts.gate" + suffix,
                        .theirs = theirs + suffix,
                        .part = 0,
                        .parts = 2,
                        .interleaved = interleaved};
  FileLayout up = gate;
  up.ours = "mlp.experts.up" + suffix;
  up.part = 1;
  return {gate, up};
}

void window_key(ConfigReader& config, GptConfig& c) { c.window = read_window(config, c, {}); }
void window_key(ConfigWriter& config, const GptConfig& c) { write_window(config, c, {}); }

void window_layer_keys(ConfigReader& config, GptConfig& c, const std::string& usual,
                       const WindowNames& names) {
  std::string pattern = usual;
  read_layer_types(config, c, names, pattern);
  set_window(c, read_window(config, c, names), pattern, names);
}
void window_layer_keys(ConfigWriter& config, const GptConfig& c, const std::string&,
                       const WindowNames& names) {
  std::vector<std::string> types;
  for (std::int64_t i = 0; i < c.layers; ++i)
    types.emplace_back(c.has_window(i) ? names.kind : "full_attention");
  config.field(kLayerTypes, types);
  write_window(config, c, names);
}

void window_interval_keys(ConfigReader& config, GptConfig& c, std::int64_t usual) {
  config.field("sliding_window_pattern", usual);
  window_layer_keys(config, c, all_but_every(usual, "sliding_window_pattern"));
}
void window_interval_keys(ConfigWriter& config, const GptConfig& c, std::int64_t) {
  window_layer_keys(config, c, {});
}

void optional_window_keys(ConfigReader& config, GptConfig& c, const std::string& usual) {
  bool used = false;
  config.field("use_sliding_window", used);
  const std::int64_t window = read_window(config, c, {});
  std::string pattern = used && window > 0 ? usual : "0";
  read_layer_types(config, c, {}, pattern);
  set_window(c, used ? window : 0, pattern, {});
}
void optional_window_keys(ConfigWriter& config, const GptConfig& c, const std::string&) {
  config.field("use_sliding_window", c.window > 0);
  window_layer_keys(config, c, {});
}

void late_window_keys(ConfigReader& config, GptConfig& c) {
  std::int64_t first = 28;
  config.field("max_window_layers", first);
  std::string pattern;
  for (std::int64_t i = 0; i < c.layers; ++i) pattern += i >= first ? '1' : '0';
  optional_window_keys(config, c, pattern);
}
void late_window_keys(ConfigWriter& config, const GptConfig& c) {
  optional_window_keys(config, c, {});
}

std::string all_but_every(std::int64_t n, const char* key) {
  if (n < 1 || n > 1000)
    throw ArgumentError(
        fmt::format("config.json: {} is {}, but must be a number of layers in [1, 1000]", key, n));
  return std::string(static_cast<std::size_t>(n - 1), '1') + '0';
}

void rotary_layer_keys(ConfigReader& config, GptConfig& c) {
  std::int64_t interval = 4;
  config.field("no_rope_layer_interval", interval);
  std::string pattern = all_but_every(interval, "no_rope_layer_interval");
  if (const json* list = config.find("no_rope_layers"); list != nullptr && !list->empty()) {
    pattern.clear();
    for (const std::int64_t rotates : integers(*list, "no_rope_layers"))
      pattern += rotates != 0 ? '1' : '0';
    if (std::ssize(pattern) < c.layers) {
      throw ArgumentError(
          fmt::format("config.json: no_rope_layers has {} entries, but the model has {} layers",
                      pattern.size(), c.layers));
    }
  }
  c.rotary_layers = shortest_pattern(pattern, c.layers);
}
void rotary_layer_keys(ConfigWriter& config, const GptConfig& c) {
  std::vector<std::int64_t> rotates;
  for (std::int64_t i = 0; i < c.layers; ++i) rotates.push_back(c.has_rotary(i) ? 1 : 0);
  config.field("no_rope_layers", rotates);
}

void layer_list_key(ConfigReader& config, const GptConfig& c, const char* key, std::string& pattern,
                    bool selected) {
  const json* list = config.find(key);
  if (list == nullptr) return;
  for (const std::int64_t layer : integers(*list, key)) {
    if (layer >= 0 && layer < c.layers)
      pattern[static_cast<std::size_t>(layer)] = selected ? '1' : '0';
  }
}
void layer_list_key(ConfigWriter& config, const GptConfig& c, const char* key,
                    const std::string& pattern, bool selected) {
  std::vector<std::int64_t> layers;
  for (std::int64_t i = 0; i < c.layers; ++i) {
    if (layer_selected(pattern, i) == selected) layers.push_back(i);
  }
  config.field(key, layers);
}

void dense_layer_keys(ConfigReader& config, GptConfig& c) {
  std::int64_t step = 1;
  config.field("decoder_sparse_step", step);
  if (step < 1)
    throw ArgumentError(
        fmt::format("config.json: decoder_sparse_step must be at least 1, not {}", step));
  std::string pattern;
  for (std::int64_t i = 0; i < c.layers; ++i) pattern += (i + 1) % step == 0 ? '1' : '0';
  layer_list_key(config, c, "mlp_only_layers", pattern, false);
  c.expert_layers = shortest_pattern(pattern, c.layers);
}
void dense_layer_keys(ConfigWriter& config, const GptConfig& c) {
  layer_list_key(config, c, "mlp_only_layers", c.expert_layers, false);
}

void balancing_keys(ConfigReader& config, GptConfig& c) {
  bool used = false;
  config.field("output_router_logits", used).field("router_aux_loss_coef", c.balancing_weight);
  if (!used) c.balancing_weight = 0;
}
void balancing_keys(ConfigWriter& config, const GptConfig& c) {
  config.field("output_router_logits", c.balancing_weight > 0);
  if (c.balancing_weight > 0) config.field("router_aux_loss_coef", c.balancing_weight);
}

void rotary_size_key(ConfigReader& config, GptConfig& c, const char* key) {
  std::int64_t size = c.rotary_size();
  config.field(key, size);
  if (size < 1 || size > c.head_size()) {
    throw ArgumentError(fmt::format("config.json: {} is {}, but the heads have {} features", key,
                                    size, c.head_size()));
  }
  c.rotary_share = static_cast<double>(size) / static_cast<double>(c.head_size());
  // The number of features is rounded down.
  if (c.rotary_size() < size) c.rotary_share = std::nextafter(c.rotary_share, 1.0);
}
void rotary_size_key(ConfigWriter& config, const GptConfig& c, const char* key) {
  config.field(key, c.rotary_size());
}

}  // namespace weft::hf
