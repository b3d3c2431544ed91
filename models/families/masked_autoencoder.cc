#include "weft/models/families/masked_autoencoder.h"

#include <fmt/format.h>

#include "weft/core/error.h"
#include "weft/graph/functions.h"
#include "weft/models/layers/batch_sum.h"
#include "weft/models/layers/dropout.h"

namespace weft {
namespace {

/// Returns the config of the encoder, which does not read a mask token.
VitConfig encoder_config(VitConfig c) {
  c.mask_token = false;
  return c;
}

/// Returns a config with the layers of the decoder.
VitConfig decoder_config(VitConfig c) {
  if (c.registers > 0 || c.distillation || !c.has_class_token())
    throw ArgumentError(
        "a masked autoencoder has a class token and no other token before the patches: set pooling "
        "to class_token or patch_mean, and registers to 0");
  c.layers = c.decoder_layers;
  c.heads = c.decoder_heads;
  c.width = c.decoder_width;
  c.inner = c.decoder_inner;
  c.drop_path = 0;
  try {
    c.check();
  } catch (const ArgumentError& e) {
    throw ArgumentError(fmt::format("decoder: {}", e.what()));
  }
  return c;
}

Linear decoder_linear(const Scope& scope, const VitConfig& c, std::int64_t in, std::int64_t out) {
  return make_linear(scope, DType::f32, in, out,
                     {.initializer = Initializer::truncated_normal(c.initializer_range)});
}

/// The mean and the standard deviation of each patch.
struct PatchMoments {
  Value mean, deviation;
};
PatchMoments moments_of(Value patches) {
  const auto count = static_cast<double>(patches.size(2).constant());
  const Value middle = mean(patches, 2, true);
  // With a single pixel, the unbiased variance is 0 / 0; it is taken as 0.
  const Value variance = sum(square(patches - middle), 2, true) / std::max(count - 1, 1.0);
  return {middle, sqrt(variance + 1e-6)};
}

}  // namespace

VisiblePatches visible_patches(Value noise, std::int64_t count) {
  const Value order = argsort(noise, 1);
  const Value restore = argsort(order, 1);
  return {slice(order, 1, {.end = Dim(count)}), cast(restore >= count, DType::f32), restore};
}

std::int64_t visible_count(std::int64_t patches, double mask_ratio) {
  return static_cast<std::int64_t>(static_cast<double>(patches) * (1 - mask_ratio));
}

MaskedAutoencoder::MaskedAutoencoder(const Scope& scope, const VitConfig& config,
                                     SourceLocation loc)
    : scope_(scope),
      encoder_(scope, encoder_config(config), false, loc),
      decoder_(decoder_config(config)),
      embed_(decoder_linear(scope / "decoder" / "embed", decoder_, config.width, decoder_.width)),
      pixels_(decoder_linear(scope / "decoder" / "pixels", decoder_, decoder_.width,
                             decoder_.patch_height * decoder_.patch_width * decoder_.channels)),
      norm_(make_norm(scope / "decoder" / "norm", DType::f32, decoder_.width,
                      {.eps = decoder_.layer_norm_eps})) {
  const VitConfig& c = decoder_;
  const Scope decoder = scope / "decoder";
  mask_token_ =
      decoder.variable("mask_token", DType::f32, {1, 1, c.width},
                       {.initializer = Initializer::truncated_normal(c.initializer_range)});
  positions_ = decoder.variable("positions", DType::f32, {1, c.position_count(), c.width},
                                {.trainable = false, .initializer = Initializer::zeros()});
  for (std::int64_t i = 0; i < c.layers; ++i)
    layers_.push_back(make_vit_layer(decoder / "layers" / i, c, 0));
}

MaskedAutoencoder MaskedAutoencoder::in(Mode mode) const {
  MaskedAutoencoder result = *this;
  result.scope_ = scope_.in(mode);
  result.encoder_ = encoder_.in(mode);
  return result;
}

MaskedAutoencoderOutputs MaskedAutoencoder::operator()(Value images, Value noise,
                                                       std::int64_t count,
                                                       SourceLocation loc) const {
  Graph::Frame frame(scope_.graph(), "masked_autoencoder", loc, scope_.path());
  const VitConfig& c = decoder_;
  const auto [kept, mask, restore] = visible_patches(noise, count);
  MaskedAutoencoderOutputs outputs{encoder_.visible(images, kept, loc), {}, mask, restore};
  const Dim& batch = images.size(0);
  const std::int64_t patches = c.rows() * c.columns();
  const Value seen = embed_(outputs.encoder.last_hidden_state);
  const Value all = concat({slice(seen, 1, {.begin = Dim(1)}),
                            broadcast_to(mask_token_, {batch, patches - count, c.width})},
                           1);
  const Value places = broadcast_to(unsqueeze(restore, 2), {batch, patches, c.width});
  Value h = concat({slice(seen, 1, {.end = Dim(1)}), take_along_axis(all, places, 1)}, 1);
  h = h + positions_;
  AttentionOptions attention;
  if (drops_out(scope_, c.attention_dropout, loc)) {
    attention.dropout = c.attention_dropout;
    attention.key = scope_.graph().key("dropout");
  }
  for (const VitLayer& layer : layers_) h = layer(scope_, h, attention);
  outputs.pixels = slice(pixels_(norm_(h)), 1, {.begin = Dim(1)});
  return outputs;
}

Value patches_of(const VitConfig& c, Value images) {
  const std::int64_t rows = c.rows(), columns = c.columns();
  const Dim& batch = images.size(0);
  const Value whole = slice(
      images, {{}, {}, {.end = Dim(rows * c.patch_height)}, {.end = Dim(columns * c.patch_width)}});
  const Value cut =
      reshape(whole, {batch, c.channels, rows, c.patch_height, columns, c.patch_width});
  return reshape(permute(cut, {0, 2, 4, 3, 5, 1}),
                 {batch, rows * columns, c.patch_height * c.patch_width * c.channels});
}

Value images_of(const VitConfig& c, Value patches) {
  const std::int64_t rows = c.rows(), columns = c.columns();
  const Dim& batch = patches.size(0);
  const Value cut =
      reshape(patches, {batch, rows, columns, c.patch_height, c.patch_width, c.channels});
  const std::int64_t height = rows * c.patch_height, width = columns * c.patch_width;
  const Value whole = reshape(permute(cut, {0, 5, 1, 3, 2, 4}), {batch, c.channels, height, width});
  return pad(whole, {{0, 0}, {0, 0}, {0, c.image_height - height}, {0, c.image_width - width}});
}

Value normalised_patches(Value patches) {
  const auto [middle, deviation] = moments_of(patches);
  return (patches - middle) / deviation;
}

Value denormalised_patches(Value predicted, Value patches) {
  const auto [middle, deviation] = moments_of(patches);
  return predicted * deviation + middle;
}

Value masked_patch_loss(const VitConfig& config, Value images, Value pixels, Value mask,
                        Reduction reduction, SourceLocation loc) {
  Graph::Frame frame(images.graph(), "masked_patch_loss", loc);
  Value target = patches_of(config, images);
  if (config.normalise_pixel_loss) target = normalised_patches(target);
  const Value error = mean(square(pixels - target), 2);
  return batch_sum(sum(error * mask), reduction) / batch_sum(sum(mask), reduction);
}

}  // namespace weft
