// Masked autoencoders (He et al. 2022, "MAE"): the encoder sees only the visible patches of an
// image; a small decoder reconstructs the others.
//
//   visible = the patches with the smallest noise
//   h = encoder(visible)
//   d = [class token, patches of h in their places, mask tokens elsewhere] * W + positions
//   pixels of a patch = norm(decoder layers(d)) * W + b
//
// Parameters, relative to the scope: those of a Vit, and
//   decoder.embed.{weight,bias}, decoder.mask_token [1, 1, decoder_width]
//   decoder.positions [1, position_count, decoder_width], not trained (see sine_cosine_table())
//   decoder.layers.<i>, as layers.<i> of a Vit with the sizes of the decoder
//   decoder.norm.{weight,bias}, decoder.pixels.{weight,bias}
#pragma once

#include "weft/models/families/vit.h"

namespace WEFT_API weft {

/// Outputs of a masked autoencoder.
struct MaskedAutoencoderOutputs {
  VitOutputs encoder;  // of the class token and the visible patches, in the order of their noise
  /// [batch, patches, patch height * patch width * channels]: the pixels of all patches, in the
  /// layout of patches_of().
  Value pixels;
  Value mask;     // f32 [batch, patches], 1 for masked patches
  Value restore;  // i64 [batch, patches]: the place of each patch in the order of the noise
};

/// Which patches are visible, from a number per patch.
struct VisiblePatches {
  Value kept;     // i64 [batch, count]
  Value mask;     // f32 [batch, patches], 1 for masked patches
  Value restore;  // i64 [batch, patches]
};
/// Returns the `count` patches with the smallest noise, f32 [batch, patches], in ascending order.
VisiblePatches visible_patches(Value noise, std::int64_t count);
/// Returns the number of visible patches, floor(patches * (1 - mask_ratio)).
std::int64_t visible_count(std::int64_t patches, double mask_ratio);

/// A masked autoencoder: declares its parameters and applies them.
class MaskedAutoencoder {
 public:
  /// Throws ArgumentError if the config is invalid, or if it has registers or a distillation token.
  MaskedAutoencoder(const Scope& scope, const VitConfig& config,
                    SourceLocation loc = SourceLocation::current());

  const Vit& encoder() const { return encoder_; }
  MaskedAutoencoder training() const { return in(Mode::training); }
  MaskedAutoencoder evaluation() const { return in(Mode::evaluation); }
  MaskedAutoencoder in(Mode mode) const;

  /// images: f32 [batch, channels, height, width] with the sizes of the config, otherwise
  /// ShapeError. The `count` patches with the smallest noise, f32 [batch, patches], are visible.
  MaskedAutoencoderOutputs operator()(Value images, Value noise, std::int64_t count,
                                      SourceLocation loc = SourceLocation::current()) const;

 private:
  Scope scope_;
  Vit encoder_;
  VitConfig decoder_;
  Linear embed_, pixels_;
  Variable mask_token_, positions_;
  std::vector<VitLayer> layers_;
  Norm norm_;
};

/// Cuts images [batch, channels, height, width] into patches [batch, patches, patch height * patch
/// width * channels]. The channel is the fastest axis.
Value patches_of(const VitConfig& config, Value images);
/// The inverse of patches_of(). Partial patches at the edge are zero.
Value images_of(const VitConfig& config, Value patches);
/// Returns patches [batch, patches, n], normalised by the mean and the (unbiased) variance of each
/// patch: (x - mean) / sqrt(variance + 1e-6).
Value normalised_patches(Value patches);
/// The inverse: scales predictions to the mean and the variance of the true `patches`.
Value denormalised_patches(Value predicted, Value patches);

/// Returns the mean squared error of the masked patches. `pixels` are the predictions [batch,
/// patches, n]; `mask` f32 [batch, patches] is 1 for masked patches. With normalise_pixel_loss, the
/// targets are normalised_patches(). `reduction` as in masked_pixel_loss().
Value masked_patch_loss(const VitConfig& config, Value images, Value pixels, Value mask,
                        Reduction reduction = Reduction::mean,
                        SourceLocation loc = SourceLocation::current());

}  // namespace weft
