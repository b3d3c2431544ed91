#include "weft/models/families/gpt_config.h"

#include <fmt/format.h>

#include "weft/core/error.h"
#include "weft/models/families/size_limits.h"
#include "weft/models/fields/check.h"

namespace weft {
namespace {

constexpr std::string_view kGptPositions[] = {"learned", "sinusoidal", "rotary", "linear_bias",
                                              "none"};
constexpr std::string_view kGptNorms[] = {"layer_norm", "rms_norm"};
constexpr std::string_view kResiduals[] = {"pre_norm", "post_norm", "parallel"};

void check_rotary_scaling(const GptConfig& c) {
  if (c.rotary_scaling == RotaryScalingKind::none) return;
  const std::string_view kind = choice_name(c.rotary_scaling);
  if (c.positions != GptPositions::rotary) {
    throw ArgumentError(fmt::format("rotary_scaling {} needs rotary positions, not {}", kind,
                                    choice_name(c.positions)));
  }
  if (!(c.rotary_factor >= 1))
    throw ArgumentError(fmt::format("rotary_factor must be at least 1, not {}", c.rotary_factor));
  if (c.rotary_scaling == RotaryScalingKind::linear) return;
  if (c.rotary_context < 1) {
    throw ArgumentError(fmt::format(
        "rotary_scaling {} needs a rotary_context of at least 1, not {}", kind, c.rotary_context));
  }
  if (c.rotary_scaling == RotaryScalingKind::dynamic) return;
  if (!(c.rotary_low_factor > 0 && c.rotary_high_factor > c.rotary_low_factor)) {
    throw ArgumentError(
        fmt::format("rotary_high_factor {} must be larger than rotary_low_factor {}, which must be "
                    "positive",
                    c.rotary_high_factor, c.rotary_low_factor));
  }
}

}  // namespace

ChoiceNames choice_names(GptPositions) { return {"positions", kGptPositions}; }
ChoiceNames choice_names(GptNorm) { return {"norm", kGptNorms}; }
ChoiceNames choice_names(GptResidual) { return {"residual", kResiduals}; }

GptConfig GptConfig::llama() {
  GptConfig config;
  config.vocab = 32000;
  config.activation = Activation::silu;
  config.gated = true;
  config.bias = false;
  config.tied_head = false;
  config.norm = GptNorm::rms_norm;
  config.positions = GptPositions::rotary;
  config.projection = QkvProjection::separate;
  config.transposed = false;
  return config;
}

void GptConfig::check() const {
  check::at_least("vocab", vocab, 1);
  check::at_least("layers", layers, 1);
  check::at_least("heads", heads, 1);
  check::at_least("width", width, 1);
  check::at_least("context", context, 1);
  check::at_most({{"vocab", vocab, size_limits::kVocab},
                  {"layers", layers, size_limits::kLayers},
                  {"heads", heads, size_limits::kHeads},
                  {"kv_heads", kv_heads, size_limits::kHeads},
                  {"head_dim", head_dim, size_limits::kWidth},
                  {"width", width, size_limits::kWidth},
                  {"inner", inner, size_limits::kInner},
                  {"context", context, size_limits::kPositions},
                  {"rotary_context", rotary_context, size_limits::kPositions}});
  if (inner < 0)
    throw ArgumentError(fmt::format("inner must be 0 (4 * width) or more, not {}", inner));
  if (head_dim < 0)
    throw ArgumentError(
        fmt::format("head_dim must be 0 (width / heads) or more, not {}", head_dim));
  if (head_dim == 0 && width % heads != 0) {
    throw ArgumentError(fmt::format(
        "width {} is not a multiple of heads {}: all heads must have the same size", width, heads));
  }
  if (kv_heads < 0 || heads % key_heads() != 0) {
    throw ArgumentError(fmt::format("kv_heads {} must divide heads {}", kv_heads, heads));
  }
  if (key_heads() != heads && projection != QkvProjection::separate) {
    throw ArgumentError(fmt::format(
        "kv_heads {} differs from heads {}: projection must be separate", kv_heads, heads));
  }
  if (positions == GptPositions::rotary) {
    if (!(rotary_share > 0 && rotary_share <= 1))
      throw ArgumentError(fmt::format("rotary_share must be in (0, 1], not {}", rotary_share));
    if (!(rotary_base > 0))
      throw ArgumentError(fmt::format("rotary_base must be positive, not {}", rotary_base));
    if (rotary_size() < 2 || rotary_size() % 2 != 0) {
      throw ArgumentError(fmt::format(
          "rotary_share {} of head size {} is {} features: the number must be even and at least 2",
          rotary_share, head_size(), rotary_size()));
    }
  }
  check_rotary_scaling(*this);
  if (window < 0)
    throw ArgumentError(fmt::format("window must not be negative, but is {}", window));
  if (padding_id < -1 || padding_id >= vocab)
    throw ArgumentError(
        fmt::format("padding_id {} is outside the vocabulary of {} ids", padding_id, vocab));
  check::rate("embedding_dropout", embedding_dropout);
  check::rate("attention_dropout", attention_dropout);
  check::rate("residual_dropout", residual_dropout);
  check::positive("layer_norm_eps", layer_norm_eps);
  check::not_negative("initializer_range", initializer_range);
}

const FieldList<GptConfig>& GptConfig::fields() {
  static const auto list =
      FieldList<GptConfig>("the model config", "gpt")
          .add("vocab", &GptConfig::vocab, "vocabulary size")
          .add("layers", &GptConfig::layers, "number of blocks")
          .add("heads", &GptConfig::heads, "attention heads; must divide width if head-dim is 0")
          .added("kv_heads", &GptConfig::kv_heads,
                 "number of key/value heads; must divide heads; 0 = same as heads")
          .added("head_dim", &GptConfig::head_dim, "features per head; 0 = width / heads")
          .add("width", &GptConfig::width, "width of embeddings and hidden states")
          .add("context", &GptConfig::context, "context length in tokens")
          .add("inner", &GptConfig::inner, "width of the feed-forward block; 0 = 4 * width")
          .add("activation", &GptConfig::activation, "activation of the feed-forward block")
          .added("gated", &GptConfig::gated, "use a gated feed-forward block (SwiGLU with silu)")
          .add("bias", &GptConfig::bias, "biases in linear layers and norms")
          .added("attention_bias", &GptConfig::attention_bias,
                 "biases in attention even without --bias")
          .added("mlp_bias", &GptConfig::mlp_bias,
                 "biases in the feed-forward block even without --bias")
          .add("tied_head", &GptConfig::tied_head,
               "use the token embedding as the output projection")
          .added("norm", &GptConfig::norm, "type of the norms")
          .add("layer_norm_eps", &GptConfig::layer_norm_eps, "epsilon of the norms")
          .added("residual", &GptConfig::residual, "arrangement of norms and residual connections")
          .added("positions", &GptConfig::positions, "position encoding; linear_bias means ALiBi")
          .added("rotary_base", &GptConfig::rotary_base, "base of the rotary position frequencies")
          .added("rotary_share", &GptConfig::rotary_share,
                 "fraction of a head's features that are rotated")
          .added("rotary_scaling", &GptConfig::rotary_scaling,
                 "scaling of rotary frequencies for longer texts")
          .added("rotary_factor", &GptConfig::rotary_factor,
                 "factor by which scaling divides frequencies or extends the context")
          .added("rotary_low_factor", &GptConfig::rotary_low_factor,
                 "llama3: wavelengths above rotary-context / rotary-low-factor are scaled")
          .added("rotary_high_factor", &GptConfig::rotary_high_factor,
                 "llama3: wavelengths below rotary-context / rotary-high-factor are kept")
          .added("rotary_context", &GptConfig::rotary_context,
                 "dynamic, llama3: context length of the original model, in tokens")
          .added("projection", &GptConfig::projection, "how queries, keys and values are projected")
          .added("transposed", &GptConfig::transposed,
                 "store the matrices of the blocks as [in, out]")
          .added("qk_norm", &GptConfig::qk_norm,
                 "normalise the queries and keys of each head before rotary positions")
          .added("window", &GptConfig::window,
                 "a token attends to itself and the window - 1 tokens before it; 0 = all")
          .add("scale_attention", &GptConfig::scale_attention, "divide scores by sqrt(head size)")
          .add("scale_attention_by_inverse_layer", &GptConfig::scale_attention_by_inverse_layer,
               "also divide scores of layer i by i + 1")
          .added("padding_id", &GptConfig::padding_id,
                 "padding id; its embedding is not trained; -1 = none")
          .add("embedding_dropout", &GptConfig::embedding_dropout, "dropout on the embeddings")
          .add("attention_dropout", &GptConfig::attention_dropout,
               "dropout on the attention probabilities")
          .add("residual_dropout", &GptConfig::residual_dropout,
               "dropout on the outputs of attention and feed-forward")
          .add("initializer_range", &GptConfig::initializer_range,
               "standard deviation of the initial weight matrices");
  return list;
}

std::string GptConfig::to_json() const { return fields().to_json(*this); }

GptConfig GptConfig::from_json(std::string_view text) { return fields().from_json(text); }

}  // namespace weft
