// T5 (versions 1.0 and 1.1, also UL2) and mT5.
#include <fmt/format.h>

#include "weft/core/error.h"
#include "weft/models/hf/encoder_decoder_task.h"

namespace weft::hf {
namespace {

/// "relu", "gated-gelu", ...; dense_act_fn and is_gated_act are what the library derived from it,
/// and come before it.
void read_feed_forward(ConfigReader& config, EncoderDecoderConfig& c, std::string projection) {
  config.field("feed_forward_proj", projection);
  const std::size_t dash = projection.find('-');
  c.gated = dash != std::string::npos && projection.substr(0, dash) == "gated";
  if (dash != std::string::npos && !c.gated) {
    throw ArgumentError(fmt::format(
        "config.json: feed_forward_proj \"{}\" is not supported: \"gated-<activation>\" and "
        "\"<activation>\" are",
        projection));
  }
  const std::string activation = c.gated ? projection.substr(dash + 1) : projection;
  // The published models mean GELU's approximation by this name.
  c.activation =
      projection == "gated-gelu" ? Activation::gelu_tanh : parse_choice<Activation>(activation);
  config.field("dense_act_fn", c.activation).field("is_gated_act", c.gated);
}

ModuleNames t5_names(const EncoderDecoderConfig& c) {
  ModuleNames names = {{"tokens", "shared"}};
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
    ModuleNames parts = attention("attention", "layer.0", "SelfAttention");
    if (decoder) {
      for (auto& part : attention("cross_attention", "layer.1", "EncDecAttention"))
        parts.push_back(part);
    }
    const std::string last = decoder ? "layer.2" : "layer.1";
    parts.emplace_back("feed_forward.up",
                       last + (c.gated ? ".DenseReluDense.wi_1" : ".DenseReluDense.wi"));
    parts.emplace_back("feed_forward.gate", last + ".DenseReluDense.wi_0");
    parts.emplace_back("feed_forward.down", last + ".DenseReluDense.wo");
    parts.emplace_back("feed_forward_norm", last + ".layer_norm");
    add_stack(names, stack, decoder ? c.decoder_layers : c.encoder_layers, stack + ".block", parts);
    names.emplace_back(stack + ".relative_bias",
                       stack + ".block.0.layer.0.SelfAttention.relative_attention_bias");
    names.emplace_back(stack + ".norm", stack + ".final_layer_norm");
    names.emplace_back(stack + ".tokens", stack + ".embed_tokens");
  }
  return names;
}

}  // namespace

Model build_t5(Request& request) {
  ConfigReader& config = request.config;
  const bool multilingual = config.model_type() == "mt5";
  EncoderDecoderConfig c = EncoderDecoderConfig::t5();
  c.start_id = -1;
  if (multilingual) {
    c.vocab = 250112;
    c.encoder_layers = 8;
    c.encoder_heads = 6;
    c.encoder_inner = 1024;
    c.tied_head = false;
    c.start_id = 0;
  }
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
      .ignore({"n_positions", "classifier_dropout"});
  if (request.architecture.ends_with("EncoderModel")) {
    config.ignore({"is_encoder_decoder"});
  } else {
    config.fixed("is_encoder_decoder", true, "a decoder without its encoder is not supported");
  }
  c.decoder_layers = c.encoder_layers;
  config.field("num_decoder_layers", c.decoder_layers);
  c.decoder_heads = c.encoder_heads;
  c.decoder_inner = c.encoder_inner;
  c.attention_dropout = c.activation_dropout = c.final_dropout = c.dropout;
  c.scale_tied_head = c.tied_head;
  read_feed_forward(config, c, multilingual ? "gated-gelu" : "relu");

  EncoderDecoderStyle style{.class_prefix = multilingual ? "MT5" : "T5",
                            .lm_class = "ForConditionalGeneration",
                            .modules = t5_names(c),
                            .has_encoder_class = true};
  // Files of the first models hold a bias of cross-attention that is never read.
  style.unused_buffers = {"decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight"};
  return build_encoder_decoder(request, c, style);
}

}  // namespace weft::hf
