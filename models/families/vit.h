// Vision transformers: ViT (Dosovitskiy et al. 2021) and DeiT (Touvron et al. 2021), which differ
// by a token.
//
//   h = [class token, distillation token, patches * W + b] + positions
//   for every layer:  h = h + attention(attention_norm(h))
//                     h = h + down(activation(up(feed_forward_norm(h))))
//   last_hidden_state = norm(h)
//
// Parameters, below the scope; matrices are [out, in]:
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
#include "weft/models/layers/feed_forward.h"
#include "weft/models/layers/multi_head_attention.h"
#include "weft/models/layers/norm.h"

namespace WEFT_API weft {

struct VitOutputs {
  Value last_hidden_state;  // [batch, tokens, width]
  /// layers + 1 values [batch, tokens, width]: the embeddings, and what every layer gives.
  std::vector<Value> hidden;
};

/// The parameters of a vision transformer.
class Vit {
 public:
  /// Declares all parameters below `scope`, a mask token only if `masked_patches`. Throws
  /// ArgumentError where the config makes no sense.
  Vit(const Scope& scope, const VitConfig& config, bool masked_patches = false,
      SourceLocation loc = SourceLocation::current());

  const VitConfig& config() const { return config_; }

  /// images: f32 [batch, channels, height, width] of the config's sizes (ShapeError); `mask`
  /// [batch, patches], any dtype, may be undefined: patches where it is 1 become the mask token.
  /// `training` applies the config's dropouts, drawn from the key "dropout".
  VitOutputs operator()(Value images, Value mask = {}, bool training = false,
                        SourceLocation loc = SourceLocation::current()) const;
  /// What stands for the image: last_hidden_state [batch, tokens, width] -> [batch, width].
  Value pool(Value last_hidden_state) const;

 private:
  struct Layer {
    MultiHeadAttention attention;
    Norm attention_norm;
    FeedForward feed_forward;
    Norm feed_forward_norm;
  };
  Layer make_layer(const Scope& scope) const;
  Value drop(Value x, bool training) const;
  Value embed(Value images, Value mask, bool training) const;
  Value position_table() const;

  Scope scope_;
  VitConfig config_;
  Variable patches_, patches_bias_, class_token_, distillation_token_, mask_token_, positions_;
  std::vector<Layer> layers_;
  Norm norm_;
};

/// Learned positions for images of another size: the table [1, extra + rows * columns, width] of
/// `from` resized to `to` by bicubic interpolation with half-pixel centres (a = -0.75, as PyTorch);
/// tokens in front keep theirs. Throws ShapeError where the table is not that of `from`.
Tensor interpolate_positions(const Tensor& table, const VitConfig& from, const VitConfig& to);

/// Pixels from patches: "<scope>.weight" [channels * stride^2, width, 1, 1], "<scope>.bias", and a
/// pixel shuffle (Xie et al. 2022, "SimMIM").
struct PixelHead {
  Scope scope;
  Variable weight, bias;
  std::int64_t stride;

  /// h [batch, rows * columns, width] -> [batch, channels, rows * stride, columns * stride].
  Value operator()(Value h, std::int64_t rows, std::int64_t columns) const;
};
PixelHead make_pixel_head(const Scope& scope, const VitConfig& config, std::int64_t stride);

/// 1 for the pixels of masked patches, else 0: mask [batch, patches] of any dtype -> `dtype`
/// [batch, 1, height, width].
Value masked_pixels(const VitConfig& config, Value mask, DType dtype);

/// Mean absolute error of pixels in masked patches, a sum over (their number + 1e-5) and channels.
/// images and pixels [batch, channels, height, width], mask [batch, patches]. The sums are over all
/// shards of a batch with Reduction::shard_mean. Throws ArgumentError as batch_sum().
Value masked_pixel_loss(const VitConfig& config, Value images, Value pixels, Value mask,
                        Reduction reduction = Reduction::mean,
                        SourceLocation loc = SourceLocation::current());

}  // namespace weft
