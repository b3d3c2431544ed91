// Encoders with BERT's order of norms and rotary positions: NomicBERT, jina-embeddings-v3 and GTE
// (model types "new" and "gte").
#include <fmt/format.h>

#include <cmath>

#include "weft/core/error.h"
#include "weft/models/families/size_limits.h"
#include "weft/models/fields/check.h"
#include "weft/models/hf/encoders/encoder_keys.h"

namespace weft::hf {
namespace {

/// Keys of the authors' code, which is derived from GPT-2's. They are only in files that have
/// n_embd, and have other defaults there.
void authors_keys(ConfigReader& config, EncoderConfig& c) {
  const bool own = config.find("n_embd") != nullptr;
  config.legacy("n_embd", "hidden_size", c.width)
      .legacy("n_layer", "num_hidden_layers", c.layers)
      .legacy("n_head", "num_attention_heads", c.heads)
      .legacy("n_inner", "intermediate_size", c.inner)
      .legacy("n_positions", "max_position_embeddings", c.context)
      .legacy("layer_norm_epsilon", "layer_norm_eps", c.layer_norm_eps)
      .legacy("attn_pdrop", "attention_probs_dropout_prob", c.attention_dropout)
      .legacy("resid_pdrop", "hidden_dropout_prob", c.hidden_dropout);
  decoder_sizes(config, c);
  if (!own) return;
  if (config.find("n_inner") == nullptr && config.find("intermediate_size") == nullptr)
    c.inner = 4 * c.width;
  double embedding_dropout = c.hidden_dropout, fraction = 0, factor = 0;
  std::int64_t trained = 2048, multiple = 1;
  std::string activation = "gelu_new";
  bool qkv_bias = true, up_bias = true, down_bias = true;
  c.rotary_base = 1000;
  config.field("activation_function", activation)
      .field("embd_pdrop", embedding_dropout)
      .field("qkv_proj_bias", qkv_bias)
      .field("mlp_fc1_bias", up_bias)
      .field("mlp_fc2_bias", down_bias)
      .field("rotary_emb_base", c.rotary_base)
      .field("rotary_emb_fraction", fraction)
      .field("rotary_emb_interleaved", c.rotary_adjacent)
      .field("rotary_scaling_factor", factor)
      .field("max_trained_positions", trained)
      .field("pad_vocab_size_multiple", multiple)
      .fixed("rotary_emb_scale_base", json(), "scaled rotary positions (xPos) are not supported")
      .fixed("prenorm", false, "only norms after the blocks are supported")
      .fixed("parallel_block", false, "parallel blocks are not supported")
      .fixed("use_rms_norm", false, "only layer norms are supported")
      .fixed("causal", false, "only bidirectional attention is supported")
      .fixed("scale_attn_by_inverse_layer_idx", false, "only the usual scale is supported")
      .fixed("scale_attn_weights", true, "only the usual scale is supported")
      .ignore({"dense_seq_output", "fused_bias_fc", "fused_dropout_add_ln", "use_flash_attn",
               "use_xentropy", "parallel_block_tied_norm", "reorder_and_upcast_attn",
               "last_layer_subset", "add_pooling_layer"});
  check::at_least("pad_vocab_size_multiple", multiple, 1);
  check::at_most({{"vocab_size", c.vocab, size_limits::kVocab},
                  {"pad_vocab_size_multiple", multiple, size_limits::kVocab}});
  c.vocab = (c.vocab + multiple - 1) / multiple * multiple;
  if (embedding_dropout != c.hidden_dropout)
    throw ArgumentError(
        fmt::format("config.json: embd_pdrop {} differs from resid_pdrop {}: both must be equal",
                    embedding_dropout, c.hidden_dropout));
  c.gated = activation == "swiglu" || activation == "geglu" || activation == "glu";
  c.activation = activation == "swiglu"  ? Activation::silu
                 : activation == "geglu" ? Activation::gelu_erf
                 : activation == "glu"   ? Activation::sigmoid
                                         : parse_choice<Activation>(activation);
  c.attention_bias = qkv_bias;
  c.mlp_bias = down_bias;
  c.up_bias = up_bias || !down_bias;
  if (up_bias && !down_bias)
    throw ArgumentError("config.json: mlp_fc1_bias true with mlp_fc2_bias false is not supported");
  c.rotary_share = fraction;
  if (fraction == 0) {
    c.positions = EncoderPositions::absolute;
    c.rotary_share = 1;
  } else if (factor > 0) {
    c.rotary_scaling = RotaryScalingKind::dynamic;
    c.rotary_factor = factor;
    c.rotary_context = trained;
  }
}
void authors_keys(ConfigWriter&, const EncoderConfig&) {}

template <class Config>
void nomic_keys(Config& config, EncoderConfig& c, EncoderStyle& style) {
  encoder_keys(config, c);
  config.optional_size("head_dim", c.head_size)
      .optional_size("num_key_value_heads", c.kv_heads)
      .field("tie_word_embeddings", c.tied_head)
      .field("rope_theta", c.rotary_base);
  authors_keys(config, c);
  decoder_part(config, c, [](auto& keys, GptConfig& g) { rotary_keys(keys, g); });
  style.masked_lm = {c.activation, c.layer_norm_eps};
}

/// The name of a linear layer in the files of jina-embeddings-v3 and NomicBERT, and the layers that
/// it consists of.
std::pair<std::string, std::vector<std::string>> separate_qkv(const std::string& fused) {
  return {fused, {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"}};
}

const ModuleNames kRotaryLayer = {
    {"attention.query", "self_attn.q_proj"},        {"attention.key", "self_attn.k_proj"},
    {"attention.value", "self_attn.v_proj"},        {"attention.out", "self_attn.o_proj"},
    {"attention_norm", "post_attention_layernorm"}, {"feed_forward_norm", "post_mlp_layernorm"}};

ModuleNames with(ModuleNames names, const ModuleNames& more) {
  names.insert(names.end(), more.begin(), more.end());
  return names;
}

EncoderType nomic_bert() {
  return {.name = "nomic_bert",
          .prefix = "NomicBert",
          .defaults = {.context = 2048,
                       .gated = true,
                       .attention_bias = false,
                       .mlp_bias = false,
                       .positions = EncoderPositions::rotary,
                       .hidden_dropout = 0.1,
                       .attention_dropout = 0.1},
          .style = {.base = "nomic_bert",
                    .layer = "layers.{}",
                    .layer_modules = with(kRotaryLayer, {{"feed_forward.gate", "mlp.gate_proj"},
                                                         {"feed_forward.up", "mlp.up_proj"},
                                                         {"feed_forward.down", "mlp.down_proj"}}),
                    .older_names = {{"bert", {"nomic_bert"}},
                                    {"encoder.layers", {"layers"}},
                                    {"emb_ln", {"embeddings.LayerNorm"}},
                                    {"attn.out_proj", {"self_attn.o_proj"}},
                                    {"fc11", {"up_proj"}},
                                    {"fc12", {"gate_proj"}},
                                    {"mlp.fc1", {"mlp.up_proj"}},
                                    {"fc2", {"down_proj"}},
                                    {"norm1", {"post_attention_layernorm"}},
                                    {"norm2", {"post_mlp_layernorm"}},
                                    separate_qkv("attn.Wqkv")},
                    .heads = {{"masked_lm.dense", "cls.predictions.transform.dense"},
                              {"masked_lm.norm", "cls.predictions.transform.layer_norm"},
                              {"masked_lm.bias", "cls.predictions.bias"},
                              {"masked_lm.decoder", "cls.predictions.decoder"}},
                    .classifier_dense = {"nomic_bert.pooler.dense", Activation::tanh},
                    .pretrains_on_tokens = true,
                    .answers_questions = false},
          .keys = [](auto& config, auto&... parts) { nomic_keys(config, parts...); }};
}

template <class Config>
void jina_keys(Config& config, EncoderConfig& c, EncoderStyle& style) {
  encoder_keys(config, c);
  config.field("tie_word_embeddings", c.tied_head)
      .field("rope_theta", c.rotary_base)
      .legacy("rotary_emb_base", "rope_theta", c.rotary_base)
      .fixed("position_embedding_type", "rotary", "the positions of this type are rotary")
      // Adapters are in other files, and the task instructions are prompts.
      .ignore({"lora_adaptations", "lora_alpha", "lora_dropout_p", "lora_main_params_trainable",
               "lora_rank", "load_trained_adapters", "matryoshka_dimensions", "task_instructions",
               "use_flash_attn"});
  encoder_rotary_keys(config, c);
  style.masked_lm.layer_norm_eps = c.layer_norm_eps;
}

EncoderType jina_embeddings_v3() {
  return {.name = "jina_embeddings_v3",
          .prefix = "JinaEmbeddingsV3",
          .defaults = {.vocab = 250002,
                       .context = 8194,
                       .token_types = 1,
                       .padding_id = 1,
                       .layers = 24,
                       .heads = 16,
                       .width = 1024,
                       .inner = 4096,
                       .layer_norm_eps = 1e-5,
                       .positions = EncoderPositions::rotary,
                       .rotary_base = 20000,
                       .head_activation = "gelu_erf",
                       .hidden_dropout = 0.1,
                       .attention_dropout = 0.1},
          .style = {.base = "roberta",
                    .layer = "layers.{}",
                    .layer_modules = with(kRotaryLayer, {{"feed_forward.up", "mlp.fc1"},
                                                         {"feed_forward.down", "mlp.fc2"}}),
                    .older_names = {{"emb_ln", {"embeddings.LayerNorm"}},
                                    {"encoder.layers", {"layers"}},
                                    {"mixer.out_proj", {"self_attn.o_proj"}},
                                    {"norm1", {"post_attention_layernorm"}},
                                    {"norm2", {"post_mlp_layernorm"}},
                                    separate_qkv("mixer.Wqkv")},
                    .heads = {{"masked_lm.dense", "lm_head.dense"},
                              {"masked_lm.norm", "lm_head.layer_norm"},
                              {"masked_lm.bias", "lm_head.bias"},
                              {"masked_lm.decoder", "lm_head.decoder"}},
                    .sequence_classifier = "classifier.out_proj",
                    .pooler = {"pooler.dense", Activation::tanh},
                    .classifier_dense = {"classifier.dense", Activation::tanh},
                    .masks_padding_ids = true},
          .keys = [](auto& config, auto&... parts) { jina_keys(config, parts...); }};
}

/// Takes NTK scaling, a fixed divisor of every frequency (https://kexue.fm/archives/9706), out of
/// rope_scaling. It is longrope scaling with the same factors for all lengths.
bool read_ntk(ConfigReader& config, EncoderConfig& c) {
  ConfigReader scaling = config.section("rope_scaling");
  if (scaling.text("type") != "ntk" && scaling.text("rope_type") != "ntk") return false;
  double factor = 1, mixed = 0;
  std::string type;
  scaling.field("type", type)
      .field("rope_type", type)
      .field("factor", factor)
      .field("mixed_b", mixed)
      .finish("rotary positions");
  check::in_range("rope_scaling.factor", factor, 1, 1e6);
  const double pairs = static_cast<double>(c.rotary_size() / 2);
  c.rotary_scaling = RotaryScalingKind::longrope;
  c.rotary_factor = 1;
  c.rotary_attention_factor = 1;
  c.rotary_context = c.context;
  c.rotary_short_factors.clear();
  for (std::int64_t j = 0; j < c.rotary_size() / 2; ++j) {
    const double place = static_cast<double>(j + 1);
    const double exponent = mixed == 0 ? place / pairs : std::pow(place / pairs, mixed);
    c.rotary_short_factors.push_back(std::pow(factor, exponent));
  }
  c.rotary_long_factors = c.rotary_short_factors;
  return true;
}

void gte_rotary_keys(ConfigReader& config, EncoderConfig& c) {
  decoder_sizes(config, c);
  if (!read_ntk(config, c)) encoder_rotary_keys(config, c);
}
void gte_rotary_keys(ConfigWriter& config, EncoderConfig& c) { encoder_rotary_keys(config, c); }

template <class Config>
void gte_keys(Config& config, EncoderConfig& c, EncoderStyle& style) {
  encoder_keys(config, c);
  config.field("tie_word_embeddings", c.tied_head)
      .field("rope_theta", c.rotary_base)
      .field("pack_qkv", c.fused_qkv)
      .fixed("position_embedding_type", "rope", "only rotary positions are supported")
      .fixed("layer_norm_type", "layer_norm", "only layer norms are supported")
      .fixed("logn_attention_scale", false, "scores that depend on the length are not supported")
      .ignore({"logn_attention_clip1", "unpad_inputs", "use_memory_efficient_attention"});
  gte_rotary_keys(config, c);
  c.inner_dropout = c.hidden_dropout;
  style.masked_lm = {c.activation, c.layer_norm_eps};
}

EncoderType gte(const std::string& name, const std::string& prefix) {
  const auto gate = [](const char* ours, std::int64_t part) {
    return FileLayout{
        .ours = ours, .theirs = "mlp.up_gate_proj.weight", .part = part, .parts = 2, .rows = true};
  };
  return {.name = name,
          .prefix = prefix,
          .defaults = {.vocab = 30528,
                       .context = 2048,
                       .token_types = 1,
                       .padding_id = -1,
                       .gated = true,
                       .up_bias = false,
                       .positions = EncoderPositions::rotary,
                       .fused_qkv = true,
                       .hidden_dropout = 0.1},
          .style = {.base = name,
                    .layer = "encoder.layer.{}",
                    .layer_modules = {{"attention.qkv", "attention.qkv_proj"},
                                      {"attention.query", "attention.q_proj"},
                                      {"attention.key", "attention.k_proj"},
                                      {"attention.value", "attention.v_proj"},
                                      {"attention.out", "attention.o_proj"},
                                      {"attention_norm", "attn_ln"},
                                      {"feed_forward.down", "mlp.down_proj"},
                                      {"feed_forward_norm", "mlp_ln"}},
                    .layer_layouts = {gate("feed_forward.up.weight", 0),
                                      gate("feed_forward.gate.weight", 1)},
                    .heads = {{"masked_lm.dense", "lm_head.dense"},
                              {"masked_lm.norm", "lm_head.norm"},
                              {"masked_lm.bias", "lm_head.decoder.bias"},
                              {"masked_lm.decoder", "lm_head.decoder"}},
                    .classifier_dense = {name + ".pooler.dense", Activation::tanh}},
          .keys = [](auto& config, auto&... parts) { gte_keys(config, parts...); }};
}

}  // namespace

ModelTypes nomic_model_types() {
  return encoder_model_types(
      {nomic_bert(), jina_embeddings_v3(), gte("new", "New"), gte("gte", "Gte")});
}

}  // namespace weft::hf
