#include "weft/models/families/gpt_config.h"

#include <fmt/format.h>

#include "weft/core/error.h"
#include "weft/models/families/size_limits.h"
#include "weft/models/json_fields.h"

namespace weft {
namespace {

using json_fields::json;

constexpr std::string_view kPositions[] = {"learned", "sinusoidal", "rotary", "linear_bias",
                                           "none"};
constexpr std::string_view kNorms[] = {"layer_norm", "rms_norm"};
constexpr std::string_view kResiduals[] = {"pre_norm", "post_norm", "parallel"};

/// Every field: the one list that writing and reading share.
const auto kFields = [](auto& c, auto&& visit) {
  visit("vocab", c.vocab);
  visit("layers", c.layers);
  visit("heads", c.heads);
  visit("kv_heads", c.kv_heads, json_fields::Added{});
  visit("head_dim", c.head_dim, json_fields::Added{});
  visit("width", c.width);
  visit("context", c.context);
  visit("inner", c.inner);
  visit("activation", c.activation);
  visit("gated", c.gated, json_fields::Added{});
  visit("bias", c.bias);
  visit("attention_bias", c.attention_bias, json_fields::Added{});
  visit("mlp_bias", c.mlp_bias, json_fields::Added{});
  visit("tied_head", c.tied_head);
  visit("norm", c.norm, json_fields::Added{});
  visit("layer_norm_eps", c.layer_norm_eps);
  visit("residual", c.residual, json_fields::Added{});
  visit("positions", c.positions, json_fields::Added{});
  visit("rotary_base", c.rotary_base, json_fields::Added{});
  visit("rotary_share", c.rotary_share, json_fields::Added{});
  visit("rotary_scaling", c.rotary_scaling, json_fields::Added{});
  visit("rotary_factor", c.rotary_factor, json_fields::Added{});
  visit("rotary_low_factor", c.rotary_low_factor, json_fields::Added{});
  visit("rotary_high_factor", c.rotary_high_factor, json_fields::Added{});
  visit("rotary_context", c.rotary_context, json_fields::Added{});
  visit("projection", c.projection, json_fields::Added{});
  visit("transposed", c.transposed, json_fields::Added{});
  visit("window", c.window, json_fields::Added{});
  visit("scale_attention", c.scale_attention);
  visit("scale_attention_by_inverse_layer", c.scale_attention_by_inverse_layer);
  visit("padding_id", c.padding_id, json_fields::Added{});
  visit("embedding_dropout", c.embedding_dropout);
  visit("attention_dropout", c.attention_dropout);
  visit("residual_dropout", c.residual_dropout);
  visit("initializer_range", c.initializer_range);
};

void check_rotary_scaling(const GptConfig& c) {
  if (c.rotary_scaling == RotaryScalingKind::none) return;
  const std::string_view kind = field_name(c.rotary_scaling);
  if (c.positions != GptPositions::rotary) {
    throw ArgumentError(fmt::format("rotary_scaling {} needs rotary positions, not {}", kind,
                                    field_name(c.positions)));
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
        fmt::format("rotary_high_factor {} must be larger than rotary_low_factor {}, and that "
                    "positive",
                    c.rotary_high_factor, c.rotary_low_factor));
  }
}

}  // namespace

std::string_view field_name(GptPositions p) { return kPositions[static_cast<std::size_t>(p)]; }
std::string_view field_name(GptNorm n) { return kNorms[static_cast<std::size_t>(n)]; }
std::string_view field_name(GptResidual r) { return kResiduals[static_cast<std::size_t>(r)]; }
void parse_field(std::string_view name, GptPositions& p) {
  p = json_fields::parse_choice<GptPositions>(kPositions, name, "positions");
}
void parse_field(std::string_view name, GptNorm& n) {
  n = json_fields::parse_choice<GptNorm>(kNorms, name, "norm");
}
void parse_field(std::string_view name, GptResidual& r) {
  r = json_fields::parse_choice<GptResidual>(kResiduals, name, "residual");
}

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

std::int64_t GptConfig::parameter_count() const {
  const std::int64_t norm_size = bias && norm == GptNorm::layer_norm ? 2 * width : width;
  const auto matrix = [](std::int64_t in, std::int64_t out, bool with_bias) {
    return in * out + (with_bias ? out : 0);
  };
  const bool attention_biases = bias || attention_bias;
  const std::int64_t inside = heads * head_size();
  const std::int64_t block = 2 * norm_size + matrix(width, inside, attention_biases) +
                             matrix(inside, width, attention_biases) +
                             2 * matrix(width, key_heads() * head_size(), attention_biases) +
                             (gated ? 2 : 1) * matrix(width, inner_width(), bias || mlp_bias) +
                             matrix(inner_width(), width, bias || mlp_bias);
  return (vocab + (positions == GptPositions::learned ? context : 0)) * width + layers * block +
         (residual == GptResidual::post_norm ? 0 : norm_size) + (tied_head ? 0 : vocab * width);
}

void GptConfig::check() const {
  const auto positive = [](std::string_view name, std::int64_t value) {
    if (value < 1) throw ArgumentError(fmt::format("{} must be at least 1, not {}", name, value));
  };
  positive("vocab", vocab);
  positive("layers", layers);
  positive("heads", heads);
  positive("width", width);
  positive("context", context);
  size_limits::check({{"vocab", vocab, size_limits::kVocab},
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
        "width {} is not a multiple of heads {}: every head needs the same size", width, heads));
  }
  if (kv_heads < 0 || heads % key_heads() != 0) {
    throw ArgumentError(fmt::format("kv_heads {} must divide heads {}", kv_heads, heads));
  }
  if (key_heads() != heads && projection != QkvProjection::separate) {
    throw ArgumentError(fmt::format("kv_heads {} differ from heads {}: projection must be separate",
                                    kv_heads, heads));
  }
  if (positions == GptPositions::rotary) {
    if (!(rotary_share > 0 && rotary_share <= 1))
      throw ArgumentError(fmt::format("rotary_share must be in (0, 1], not {}", rotary_share));
    if (!(rotary_base > 0))
      throw ArgumentError(fmt::format("rotary_base must be positive, not {}", rotary_base));
    if (rotary_size() < 2 || rotary_size() % 2 != 0) {
      throw ArgumentError(
          fmt::format("rotary_share {} of head size {} is {} features: they turn in pairs",
                      rotary_share, head_size(), rotary_size()));
    }
  }
  check_rotary_scaling(*this);
  if (window < 0)
    throw ArgumentError(fmt::format("window must not be negative, but is {}", window));
  if (padding_id < -1 || padding_id >= vocab)
    throw ArgumentError(
        fmt::format("padding_id {} is outside the vocabulary of {}", padding_id, vocab));
  const auto rate = [](std::string_view name, double value) {
    if (!(value >= 0 && value < 1))
      throw ArgumentError(fmt::format("{} must be in [0, 1), not {}", name, value));
  };
  rate("embedding_dropout", embedding_dropout);
  rate("attention_dropout", attention_dropout);
  rate("residual_dropout", residual_dropout);
  if (!(layer_norm_eps > 0))
    throw ArgumentError(fmt::format("layer_norm_eps must be positive, not {}", layer_norm_eps));
  if (!(initializer_range >= 0))
    throw ArgumentError(
        fmt::format("initializer_range must not be negative, not {}", initializer_range));
}

std::string GptConfig::to_json() const {
  auto out = json_fields::write_object(*this, kFields);
  out["family"] = "gpt";
  return out.dump();
}

GptConfig GptConfig::from_json(std::string_view text) {
  const json parsed = json_fields::parse_object(text, "the model config");
  if (const json family = parsed.value("family", json()); family != "gpt")
    throw FormatError(
        fmt::format("the model config is of family {}, not \"gpt\"", json_excerpt(family)));
  GptConfig config;
  json_fields::read_object(parsed, config, kFields, "the model config", "family");
  config.check();
  return config;
}

}  // namespace weft
