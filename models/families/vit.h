// Vision transformers: ViT (Dosovitskiy et al. 2021) and DeiT (Touvron et al. 2021), which adds a
// distillation token.
//
//   h = [class token, distillation token, patches * W + b] + positions
//   for every layer:  h = h + attention(attention_norm(h))
//                     h = h + down(activation(up(feed_forward_norm(h))))
//   last_hidden_state = norm(h)
//
// Parameters, relative to the scope; matrices are [out, in]:
//   patches.weight [width, channels, patch height, patch width], patches.bias [width]
//   class_token, distillation_token, mask_token [1, 1, width]
//   positions [1, tokens, width]
//   layers.<i>.attention.{query,key,value,out}.{weight,bias}
//   layers.<i>.{attention_norm,feed_forward_norm}.{weight,bias}
//   layers.<i>.feed_forward.{up,down}.{weight,bias}
//   norm.{weight,bias}
#pragma once

#include <vector>

#include "weft/core/tensor.h"
#include "weft/graph/functions/loss.h"
#include "weft/models/families/vit_config.h"
#include "weft/models/layers/attention/multi_head_attention.h"
#include "weft/models/layers/feed_forward.h"
#include "weft/models/layers/norm.h"

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
  /// Declares all parameters below `scope`, including a mask token only if `masked_patches`. Throws
  /// ArgumentError if the config is invalid.
  Vit(const Scope& scope, const VitConfig& config, bool masked_patches = false,
      SourceLocation loc = SourceLocation::current());

  const VitConfig& config() const { return config_; }

  /// Returns this model with its Scope in the given mode, for example
  /// `vit.training()(images)`. The parameters are shared.
  Vit training() const { return in(Mode::training); }
  Vit evaluation() const { return in(Mode::evaluation); }
  Vit in(Mode mode) const;

  /// Builds the whole forward pass. images: f32 [batch, channels, height, width] with the sizes of
  /// the config (otherwise ShapeError). `mask` [batch, patches], any dtype, may be undefined:
  /// patches with mask 1 are replaced by the mask token. In training mode, applies dropout at the
  /// rates of the config, with random numbers from the key "dropout". Throws GraphError if a rate
  /// is not 0 and the Scope has no mode.
  VitOutputs operator()(Value images, Value mask = {},
                        SourceLocation loc = SourceLocation::current()) const;
  /// Pools last_hidden_state [batch, tokens, width] into one vector per image, [batch, width].
  Value pool(Value last_hidden_state) const;

 private:
  struct Layer {
    MultiHeadAttention attention;
    Norm attention_norm;
    FeedForward feed_forward;
    Norm feed_forward_norm;
  };
  Layer make_layer(const Scope& scope) const;
  Value drop(Value x) const;
  Value embed(Value images, Value mask) const;
  Value position_table() const;

  Scope scope_;
  VitConfig config_;
  Variable patches_, patches_bias_, class_token_, distillation_token_, mask_token_, positions_;
  std::vector<Layer> layers_;
  Norm norm_;
};

/// Resizes learned positions to another image size. Converts the table [1, extra + rows * columns,
/// width] for `from` to a table for `to` by bicubic interpolation with half-pixel centres (a =
/// -0.75, as in PyTorch). The positions of the tokens before the patches are copied. Throws
/// ShapeError if the table does not match `from`, or if the configs differ in width or in the
/// tokens before the patches.
Tensor interpolate_positions(const Tensor& table, const VitConfig& from, const VitConfig& to);

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
