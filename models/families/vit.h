// Vision transformers: ViT (Dosovitskiy et al. 2021), DeiT (Touvron et al. 2021), which adds a
// distillation token, and their successors: BEiT (Bao et al. 2022), MAE (He et al. 2022), DINOv2
// (Oquab et al. 2024) with registers (Darcet et al. 2024), DINOv3 (Siméoni et al. 2025).
//
//   h = [class token, distillation token, registers, patches * W + b] + positions
//   for every layer:  h = h + attention(attention_norm(h))
//                     h = h + down(activation(up(feed_forward_norm(h))))
//   last_hidden_state = norm(h)
//
// Parameters, relative to the scope; matrices are [out, in]. Most models have a part of them:
//   patches.weight [width, channels, patch height, patch width], patches.bias [width]
//   class_token, distillation_token, mask_token [1, 1, width], registers [1, registers, width]
//   positions [1, position_count, width]
//   relative_bias [relative_bias_rows, heads]
//   embedding_norm.{weight,bias}
//   layers.<i>.attention.{query,key,value,out}.{weight,bias}, layers.<i>.attention.relative_bias
//   layers.<i>.{attention_norm,feed_forward_norm}.{weight,bias}
//   layers.<i>.feed_forward.{up,down,gate,gate_up}.{weight,bias}
//   layers.<i>.{attention_scale,feed_forward_scale} [width]
//   norm.{weight,bias}
//   pool.query [1, 1, width], pool.attention.{query,key,value,out}.{weight,bias},
//   pool.norm.{weight,bias}, pool.feed_forward.{up,down}.{weight,bias}
#pragma once

#include <optional>
#include <vector>

#include "weft/graph/functions/loss.h"
#include "weft/models/families/vit_layer.h"

namespace WEFT_API weft {

/// Outputs of a vision transformer.
struct VitOutputs {
  Value last_hidden_state;  // [batch, tokens, width]
  /// layers + 1 values [batch, tokens, width]: the embeddings, then the output of every layer.
  std::vector<Value> hidden;
};

/// A vision transformer: declares its parameters and applies them. The mode of its Scope determines
/// whether dropout is applied.
class Vit {
 public:
  /// Declares all parameters below `scope`, including a mask token only if `masked_patches` or
  /// config.mask_token. A `fixed` position table starts with zeros; its values are
  /// sine_cosine_table(). Throws ArgumentError if the config is invalid.
  Vit(const Scope& scope, const VitConfig& config, bool masked_patches = false,
      SourceLocation loc = SourceLocation::current());

  const VitConfig& config() const { return config_; }

  /// Returns this model with its Scope in the given mode, for example
  /// `vit.training()(images)`. The parameters are shared.
  Vit training() const { return in(Mode::training); }
  Vit evaluation() const { return in(Mode::evaluation); }
  Vit in(Mode mode) const;

  /// Builds the whole forward pass. images: f32 [batch, channels, height, width] with the sizes of
  /// the config, otherwise ShapeError. With VitConfig::interpolation, rotary_2d or no positions,
  /// the height and the width may be any constants of at least one patch: positions and relative
  /// biases are resized. `mask` [batch, patches], any dtype, may be undefined: patches with mask 1
  /// are replaced by the mask token. In training mode, applies dropout at the rates of the config,
  /// with random numbers from the key "dropout". Throws GraphError if a rate is not 0 and the Scope
  /// has no mode.
  VitOutputs operator()(Value images, Value mask = {},
                        SourceLocation loc = SourceLocation::current()) const;
  /// Builds the forward pass for some of the patches only (He et al. 2022, "MAE"). `kept` i64
  /// [batch, count] are their indices, in the order of the tokens. Throws ArgumentError for models
  /// with relative biases or rotary positions.
  VitOutputs visible(Value images, Value kept,
                     SourceLocation loc = SourceLocation::current()) const;
  /// Pools last_hidden_state [batch, tokens, width] into one vector per image, [batch,
  /// pooled_width].
  Value pool(Value last_hidden_state) const;

 private:
  /// The attention of a learned query to the tokens, followed by a feed-forward block (Zhai et al.
  /// 2023, "SigLIP").
  struct Pool {
    Variable query;
    MultiHeadAttention attention;
    Norm norm;
    FeedForward feed_forward;
  };
  void check_images(Value images, SourceLocation loc) const;
  PatchGrid grid_of(Value images) const;
  Value embed(Value images, Value mask, Value kept) const;
  Value position_table(PatchGrid grid) const;
  VitOutputs run(Value h, PatchGrid grid, SourceLocation loc) const;

  Scope scope_;
  VitConfig config_;
  Variable patches_, patches_bias_, class_token_, distillation_token_, mask_token_, registers_;
  Variable positions_, relative_bias_;
  std::optional<Norm> embedding_norm_, norm_;
  std::vector<VitLayer> layers_;
  std::optional<Pool> pool_;
};

/// Head that predicts pixels from patches: a 1x1 convolution with the parameters "<scope>.weight"
/// [channels * stride^2, width, 1, 1] and "<scope>.bias", followed by a pixel shuffle (Xie et al.
/// 2022, "SimMIM").
struct PixelHead {
  Scope scope;
  Variable weight, bias;
  std::int64_t stride;

  /// Maps h [batch, rows * columns, width] to [batch, channels, rows * stride, columns * stride].
  Value operator()(Value h, std::int64_t rows, std::int64_t columns) const;
};
PixelHead make_pixel_head(const Scope& scope, const VitConfig& config, std::int64_t stride);

/// Expands mask [batch, patches] of any dtype to pixels: `dtype` [batch, 1, height, width], 1 for
/// the pixels of masked patches, else 0.
Value masked_pixels(const VitConfig& config, Value mask, DType dtype);

/// Returns the mean absolute error over the pixels of masked patches: the sum of errors divided by
/// (number of these pixels + 1e-5) and by the number of channels. images and pixels are [batch,
/// channels, height, width], mask is [batch, patches]. With Reduction::shard_mean, both sums are
/// over all shards of a batch. Throws ArgumentError under the same conditions as batch_sum().
Value masked_pixel_loss(const VitConfig& config, Value images, Value pixels, Value mask,
                        Reduction reduction = Reduction::mean,
                        SourceLocation loc = SourceLocation::current());

}  // namespace weft
