// Models that compare images and texts: CLIP (Radford et al. 2021) and SigLIP (Zhai et al. 2023).
//
//   t = normalise(project(pool(text tower(ids))))          [texts, projection]
//   i = normalise(project(pool(image tower(images))))      [images, projection]
//   logits = exp(logit_scale) * i t^T + logit_bias         [images, texts]
//
// Parameters below the scope; matrices are [out, in]:
//   text.<parameters of encoder.h>, image.<parameters of vit.h>
//   text_projection.{weight,bias}, image_projection.weight
//   logit_scale [] (softmax loss) or [1] (sigmoid loss), logit_bias [1] (sigmoid loss)
#pragma once

#include <optional>

#include "weft/graph/functions/loss.h"
#include "weft/models/families/encoder.h"
#include "weft/models/families/image_text_config.h"
#include "weft/models/families/vit.h"
#include "weft/models/layers/linear.h"

namespace WEFT_API weft {

/// The outputs of a text tower.
struct TextTowerOutputs {
  EncoderOutputs encoder;
  Value pooled;   // [texts, text width]
  Value vectors;  // [texts, projection], not normalised; equal to `pooled` without a projection
};
/// The outputs of an image tower.
struct ImageTowerOutputs {
  VitOutputs vit;
  Value pooled;   // [images, pooled width]
  Value vectors;  // [images, projection], not normalised; equal to `pooled` without a projection
};

/// A model with an image tower and a text tower: declares its parameters and applies them.
class ImageText {
 public:
  /// Declares all parameters below `scope`. Throws ArgumentError if the config is invalid.
  ImageText(const Scope& scope, const ImageTextConfig& config,
            SourceLocation loc = SourceLocation::current());

  const ImageTextConfig& config() const { return config_; }

  /// Returns this model with its Scope in the given mode, which determines whether dropout is
  /// applied. The parameters are shared.
  ImageText in(Mode mode) const;

  /// Encodes texts. TextTowerPooling::last takes the last token of the row, so that rows must be
  /// padded to the whole context, as they were in training. Throws ArgumentError if the model has
  /// no text tower.
  TextTowerOutputs text(const EncoderInputs& inputs,
                        SourceLocation loc = SourceLocation::current()) const;
  /// Encodes images [images, channels, height, width]. Throws ArgumentError if the model has no
  /// image tower.
  ImageTowerOutputs image(Value images, SourceLocation loc = SourceLocation::current()) const;
  /// Returns the logits [images, texts] of normalised vectors [images, projection] and [texts,
  /// projection]. With `largest_scale` above 0, exp(logit_scale) is limited to it; CLIP is trained
  /// with the limit 100.
  Value logits(Value images, Value texts, double largest_scale = 0) const;

 private:
  Scope scope_;
  ImageTextConfig config_;
  std::optional<Encoder> text_;
  std::optional<Vit> image_;
  std::optional<Linear> text_projection_, image_projection_;
  Variable logit_scale_, logit_bias_;
};

/// The limit of exp(logit_scale) in training (Radford et al. 2021, section 2.5).
inline constexpr double kLargestLogitScale = 100;

/// Scales vectors [rows, width] to length 1. Vectors shorter than 1e-12 are divided by 1e-12.
Value unit_vectors(Value vectors, SourceLocation loc = SourceLocation::current());

/// CLIP's loss for logits [n, n] of n images and their texts, which are in the same order: the mean
/// of the cross entropies of choosing the text of every image and the image of every text (Radford
/// et al. 2021, figure 3). With Reduction::shard_mean, the loss is the mean over the shards of a
/// batch; the images and texts of a shard are compared with each other only. Throws ArgumentError
/// for reductions other than these and Reduction::mean.
Value clip_loss(Value logits, Reduction reduction = Reduction::mean,
                SourceLocation loc = SourceLocation::current());

/// SigLIP's loss for logits [n, n]: the sum over all images and texts of -ln sigmoid(z * logit)
/// with z = 1 for an image and its own text, and -1 otherwise, divided by n (Zhai et al. 2023,
/// algorithm 1). For reductions, see clip_loss().
Value siglip_loss(Value logits, Reduction reduction = Reduction::mean,
                  SourceLocation loc = SourceLocation::current());

}  // namespace weft
