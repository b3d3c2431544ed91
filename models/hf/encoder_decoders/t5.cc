// T5 (versions 1.0 and 1.1), UL2, mT5, UMT5, LongT5 and Switch Transformers.
#include <fmt/format.h>

#include <algorithm>

#include "weft/core/error.h"
#include "weft/models/families/size_limits.h"
#include "weft/models/hf/encoder_decoders/encoder_decoder_task.h"

namespace weft::hf {
namespace {

/// Reads "relu", "gated-gelu" and similar values. In the published models, "gated-gelu" means the
/// tanh approximation of GELU.
void read_feed_forward(const std::string& projection, EncoderDecoderConfig& c) {
  const std::size_t dash = projection.find('-');
  c.gated = dash != std::string::npos && projection.substr(0, dash) == "gated";
  if (dash != std::string::npos && !c.gated) {
    throw ArgumentError(fmt::format(
        "config.json: feed_forward_proj \"{}\" is not supported; use \"gated-<activation>\" or "
        "\"<activation>\"",
        projection));
  }
  const std::string activation = c.gated ? projection.substr(dash + 1) : projection;
  c.activation =
      projection == "gated-gelu" ? Activation::gelu_tanh : parse_choice<Activation>(activation);
}

std::string feed_forward(const EncoderDecoderConfig& c) {
  if (c.gated && c.activation == Activation::gelu_tanh) return "gated-gelu";
  return std::string(c.gated ? "gated-" : "") + std::string(library_name(c.activation));
}

/// Config keys that all these model types share.
template <class Config>
void shared_keys(Config& config, EncoderDecoderConfig& c) {
  config.field("vocab_size", c.vocab)
      .field("d_model", c.width)
      .field("d_kv", c.head_size)
      .field("d_ff", c.encoder_inner)
      .field("num_layers", c.encoder_layers)
      .field("num_heads", c.encoder_heads)
      .field("relative_attention_num_buckets", c.relative_buckets)
      .field("relative_attention_max_distance", c.relative_max_distance)
      .field("dropout_rate", c.dropout)
      .field("layer_norm_epsilon", c.layer_norm_eps)
      .field("initializer_factor", c.initializer_factor)
      .field("tie_word_embeddings", c.tied_head)
      .optional_id("decoder_start_token_id", c.start_id)
      .optional_id("pad_token_id", c.padding_id)
      // Hugging Face transformers also accepts the names of newer models.
      .repeated("hidden_size", "d_model", c.width)
      .repeated("num_hidden_layers", "num_layers", c.encoder_layers)
      .repeated("num_attention_heads", "num_heads", c.encoder_heads)
      .repeated("head_dim", "d_kv", c.head_size)
      .ignore({"n_positions"});
}

template <class Config>
void t5_keys(Config& config, EncoderDecoderConfig& c) {
  shared_keys(config, c);
  config
      .converted(
          "feed_forward_proj",
          [&](const json& value) {
            std::string projection;
            read_json(value, "feed_forward_proj", projection);
            read_feed_forward(projection, c);
          },
          [&]() -> json { return feed_forward(c); })
      // Hugging Face transformers derives these keys from feed_forward_proj, but also writes them.
      .repeated("dense_act_fn", "feed_forward_proj", c.activation)
      .repeated("is_gated_act", "feed_forward_proj", c.gated)
      .ignore({"scalable_attention"});  // UMT5; no class reads it
}

/// By default, the decoder has the same number of layers as the encoder.
void decoder_layers_key(ConfigReader& config, EncoderDecoderConfig& c) {
  c.decoder_layers = c.encoder_layers;
  config.field("num_decoder_layers", c.decoder_layers);
}
void decoder_layers_key(ConfigWriter& config, const EncoderDecoderConfig& c) {
  config.field("num_decoder_layers", c.decoder_layers);
}

/// Sets the fields that have no key.
void derive(EncoderDecoderConfig& c) {
  c.decoder_heads = c.encoder_heads;
  c.decoder_inner = c.encoder_inner;
  c.attention_dropout = c.activation_dropout = c.final_dropout = c.dropout;
}

/// Models with a tied head divide its input by sqrt(width). Newer files specify this explicitly.
void scale_key(ConfigReader& config, EncoderDecoderConfig& c) {
  c.scale_tied_head = c.tied_head;
  config.field("scale_decoder_outputs", c.scale_tied_head);
  if (c.scale_tied_head && !c.tied_head) {
    throw ArgumentError(
        "config.json: scale_decoder_outputs is true, but tie_word_embeddings is false: only the "
        "inputs of a tied head can be scaled");
  }
}
void scale_key(ConfigWriter& config, const EncoderDecoderConfig& c) {
  config.repeated("scale_decoder_outputs", "tie_word_embeddings", c.tied_head && c.scale_tied_head);
}

/// Config keys of T5 and types that differ from it in few settings.
template <class Config>
void t5_type_keys(Config& config, EncoderDecoderConfig& c) {
  t5_keys(config, c);
  decoder_layers_key(config, c);
  derive(c);
  scale_key(config, c);
}

/// Switch Transformers: the number of layers with experts determines the distance between them, but
/// files also contain this distance, which takes precedence. In transformers, the distance for the
/// number 0 is the number of layers, which selects layer 1; only the distance 0 selects no layer.
void sparse_keys(ConfigReader& config, const char* count_key, const char* step_key,
                 std::int64_t layers, std::int64_t& step) {
  std::int64_t count = 3;
  config.field(count_key, count);
  step = count > 0 ? layers / count : layers;
  config.field(step_key, step);
}
void sparse_keys(ConfigWriter& config, const char* count_key, const char* step_key,
                 std::int64_t layers, std::int64_t step) {
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < layers; ++i)
    count += step > 0 && (step == 1 || i % step == 1) ? 1 : 0;
  config.field(count_key, count).field(step_key, step);
}

template <class Config>
void switch_keys(Config& config, EncoderDecoderConfig& c) {
  shared_keys(config, c);
  decoder_layers_key(config, c);
  sparse_keys(config, "num_sparse_encoder_layers", "encoder_sparse_step", c.encoder_layers,
              c.encoder_sparse_step);
  sparse_keys(config, "num_sparse_decoder_layers", "decoder_sparse_step", c.decoder_layers,
              c.decoder_sparse_step);
  config.field("dense_act_fn", c.activation)
      .field("num_experts", c.experts)
      .field("expert_capacity", c.expert_capacity)
      .field("router_bias", c.router_bias)
      .field("router_jitter_noise", c.router_jitter)
      .field("router_aux_loss_coef", c.balancing_weight)
      .field("router_z_loss_coef", c.router_z_weight)
      .fixed("router_dtype", "float32", "routers compute in float32")
      // No class reads these keys, of which some are from the first version of the format.
      .ignore({"add_router_probs", "feed_forward_proj", "is_gated_act",
               "router_ignore_padding_tokens", "router_type"});
}

/// Adds the names of all modules; `mlp` is that of feed-forward blocks.
void stack_names(NameMap& names, const EncoderDecoderConfig& c, const std::string& base,
                 const std::string& mlp) {
  names.add("tokens", base + "shared");
  const auto attention = [](const std::string& ours, const std::string& layer,
                            const std::string& theirs) {
    ModuleNames parts = {{ours + "_norm", layer + ".layer_norm"}};
    for (const auto& [a, b] :
         ModuleNames{{"query", "q"}, {"key", "k"}, {"value", "v"}, {"out", "o"}})
      parts.emplace_back(fmt::format("{}.{}", ours, a), fmt::format("{}.{}.{}", layer, theirs, b));
    return parts;
  };
  for (const std::string stack : {"encoder", "decoder"}) {
    const bool decoder = stack == "decoder";
    const std::string self =
        !decoder && c.encoder_window > 0 ? "LocalSelfAttention" : "SelfAttention";
    ModuleNames parts = attention("attention", "layer.0", self);
    if (decoder) {
      for (auto& part : attention("cross_attention", "layer.1", "EncDecAttention"))
        parts.push_back(part);
    }
    const std::string last = decoder ? "layer.2" : "layer.1", theirs = base + stack;
    const std::string block = fmt::format("{}.{}.", last, mlp);
    parts.emplace_back("feed_forward.up", block + (c.gated ? "wi_1" : "wi"));
    parts.emplace_back("feed_forward.gate", block + "wi_0");
    parts.emplace_back("feed_forward.down", block + "wo");
    parts.emplace_back("feed_forward.router", block + "router.classifier");
    parts.emplace_back("feed_forward_norm", last + ".layer_norm");
    const std::string bias = fmt::format("layer.0.{}.relative_attention_bias", self);
    if (c.relative_bias_layers) parts.emplace_back("relative_bias", bias);
    names.add_layers(decoder ? c.decoder_layers : c.encoder_layers, stack + ".layers",
                     theirs + ".block", parts);
    if (!c.relative_bias_layers)
      names.add(stack + ".relative_bias", fmt::format("{}.block.0.{}", theirs, bias));
    names.add(stack + ".norm", theirs + ".final_layer_norm");
    names.add(stack + ".tokens", theirs + ".embed_tokens");
  }
}

void t5_names(NameMap& names, const EncoderDecoderConfig& c, const std::string& base) {
  stack_names(names, c, base, "DenseReluDense");
}

void switch_names(NameMap& names, const EncoderDecoderConfig& c, const std::string& base) {
  stack_names(names, c, base, "mlp");
}

/// Files contain the matrices of each expert.
void switch_layouts(FileLayouts& layouts, const EncoderDecoderConfig& c) {
  for (const bool decoder : {false, true}) {
    const std::string stack = decoder ? "decoder" : "encoder";
    for (std::int64_t i = 0; i < (decoder ? c.decoder_layers : c.encoder_layers); ++i) {
      if (!c.has_experts(i, decoder)) continue;
      for (const auto& [ours, theirs] : ModuleNames{{"up", "wi"}, {"down", "wo"}}) {
        layouts.add({.ours = fmt::format("{}.layers.{}.feed_forward.experts.{}", stack, i, ours),
                     .theirs = fmt::format("{}.block.{}.layer.{}.mlp.experts.expert_*.{}.weight",
                                           stack, i, decoder ? 2 : 1, theirs)});
      }
    }
  }
}

/// Returns LongT5 with local attention (Guo et al. 2022): T5 with a window in the encoder.
EncoderDecoderType longt5(const EncoderDecoderType& t5) {
  EncoderDecoderType type = t5;
  type.name = "longt5";
  type.prefix = "LongT5";
  type.defaults.encoder_window = 128;
  type.keys = [](auto& config, EncoderDecoderConfig& c) {
    t5_type_keys(config, c);
    config
        .converted(
            "local_radius",
            [&](const json& value) {
              std::int64_t radius = 0;
              read_json(value, "local_radius", radius);
              if (radius < 0)
                throw ArgumentError(
                    fmt::format("config.json: local_radius must be at least 0, not {}", radius));
              c.encoder_window = std::min(radius, size_limits::kPositions) + 1;
            },
            [&]() -> json { return c.encoder_window - 1; })
        .fixed("encoder_attention_type", "local",
               "transient-global attention (global tokens that are sums over blocks) is not "
               "supported")
        .ignore({"global_block_size"});  // of transient-global attention
  };
  return type;
}

}  // namespace

ModelTypes t5_model_types() {
  EncoderDecoderType t5{
      .name = "t5",
      .prefix = "T5",
      .defaults = EncoderDecoderConfig::t5(),
      // Files of the first published models contain a bias for cross-attention that is never used.
      .style = {.has_encoder_class = true,
                .unused_buffers =
                    {"decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight"}},
      .keys = [](auto& config, EncoderDecoderConfig& c) { t5_type_keys(config, c); },
      .add_names = t5_names};
  t5.defaults.start_id = -1;
  EncoderDecoderType mt5 = t5;
  mt5.name = "mt5";
  mt5.prefix = "MT5";
  EncoderDecoderConfig& c = mt5.defaults;
  c.vocab = 250112;
  c.encoder_layers = 8;
  c.encoder_heads = 6;
  c.encoder_inner = 1024;
  c.tied_head = false;
  c.start_id = 0;
  c.gated = true;
  c.activation = Activation::gelu_tanh;
  EncoderDecoderType umt5 = mt5;
  umt5.name = "umt5";
  umt5.prefix = "UMT5";
  umt5.defaults.tied_head = true;
  umt5.defaults.relative_bias_layers = true;
  EncoderDecoderType switched = t5;
  switched.name = "switch_transformers";
  switched.prefix = "SwitchTransformers";
  EncoderDecoderConfig& s = switched.defaults;
  s.width = 768;
  s.encoder_layers = 12;
  s.encoder_heads = 12;
  s.experts = 8;
  s.router_jitter = 0.01;
  s.balancing_weight = s.router_z_weight = 0.001;
  switched.keys = [](auto& config, EncoderDecoderConfig& c) {
    switch_keys(config, c);
    derive(c);
    c.scale_tied_head = c.tied_head;
  };
  switched.add_names = switch_names;
  switched.add_layouts = switch_layouts;
  return encoder_decoder_model_types({t5, mt5, umt5, longt5(t5), switched});
}

}  // namespace weft::hf
