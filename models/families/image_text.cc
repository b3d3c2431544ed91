#include "weft/models/families/image_text.h"

#include <fmt/format.h>

#include "weft/core/error.h"
#include "weft/graph/functions.h"

namespace weft {
namespace {

ImageTextConfig checked(ImageTextConfig config) {
  config.check();
  return config;
}

/// Returns the hidden states [texts, width] of one token of each row of h [texts, seq, width].
Value pool_text(const ImageTextConfig& config, Value h, Value ids) {
  if (config.text_pooling == TextTowerPooling::last) return select(h, 1, h.size(1) - 1);
  // Rows without an end-of-text token are pooled at their first token, as in transformers.
  const Value place = config.text_pooling == TextTowerPooling::largest_id
                          ? argmax(ids, 1)
                          : argmax(cast(equal(ids, config.end_id), DType::i64), 1);
  const Value index =
      broadcast_to(reshape(place, Shape{h.size(0), 1, 1}), Shape{h.size(0), 1, h.size(2)});
  return select(take_along_axis(h, index, 1), 1, Dim(0));
}

/// Reduces the losses of the rows of a batch.
Value reduced(Value each, Reduction reduction) {
  if (reduction == Reduction::mean) return mean(each);
  if (reduction == Reduction::shard_mean) return shard_mean(mean(each));
  throw ArgumentError("the reduction of a contrastive loss must be mean or shard_mean");
}

/// Throws ShapeError unless the logits are a square matrix.
void require_square(const char* name, Value logits, SourceLocation loc) {
  if (logits.rank() == 2 && logits.size(0) == logits.size(1)) return;
  logits.graph().fail(
      ShapeError("the logits must be [n, n], for n images and their texts in the same order"), name,
      {logits}, loc);
}

}  // namespace

ImageText::ImageText(const Scope& scope, const ImageTextConfig& config, SourceLocation loc)
    : scope_(scope), config_(checked(config)) {
  Graph::Frame frame(scope.graph(), "image_text", loc, scope.path());
  const ImageTextConfig& c = config_;
  const auto projection = [&](const char* name, std::int64_t in, bool bias, double range) {
    return make_linear(scope / name, DType::f32, in, c.projection,
                       {.bias = bias, .initializer = Initializer::normal(range)});
  };
  if (c.has_text()) {
    text_.emplace(scope / "text", c.text);
    if (c.projection > 0) {
      text_projection_ = projection("text_projection", c.text.width, c.text_projection_bias,
                                    c.text.initializer_range);
    }
  }
  if (c.has_images()) {
    image_.emplace(scope / "image", c.image);
    if (c.projection > 0 && c.image_projection) {
      image_projection_ =
          projection("image_projection", c.image.pooled_width(), false, c.image.initializer_range);
    }
  }
  if (c.towers != ImageTextTowers::both) return;
  const bool sigmoid = c.loss == ImageTextLoss::sigmoid;
  const ValueType type{DType::f32, sigmoid ? Shape{1} : Shape{}};
  logit_scale_ =
      scope.variable("logit_scale", type, {.initializer = Initializer::constant(c.logit_scale)});
  if (sigmoid) {
    logit_bias_ =
        scope.variable("logit_bias", type, {.initializer = Initializer::constant(c.logit_bias)});
  }
}

ImageText ImageText::in(Mode mode) const {
  ImageText result = *this;
  result.scope_ = scope_.in(mode);
  if (text_) result.text_ = text_->in(mode);
  if (image_) result.image_ = image_->in(mode);
  return result;
}

TextTowerOutputs ImageText::text(const EncoderInputs& inputs, SourceLocation loc) const {
  Graph::Frame frame(scope_.graph(), "image_text.text", loc, scope_.path());
  if (!text_) throw ArgumentError("the model has no text tower");
  TextTowerOutputs outputs;
  outputs.encoder = (*text_)(inputs);
  outputs.pooled = pool_text(config_, outputs.encoder.last_hidden_state, inputs.ids);
  outputs.vectors = text_projection_ ? (*text_projection_)(outputs.pooled) : outputs.pooled;
  return outputs;
}

ImageTowerOutputs ImageText::image(Value images, SourceLocation loc) const {
  Graph::Frame frame(scope_.graph(), "image_text.image", loc, scope_.path());
  if (!image_) throw ArgumentError("the model has no image tower");
  ImageTowerOutputs outputs;
  outputs.vit = (*image_)(images);
  outputs.pooled = image_->pool(outputs.vit.last_hidden_state);
  outputs.vectors = image_projection_ ? (*image_projection_)(outputs.pooled) : outputs.pooled;
  return outputs;
}

Value ImageText::logits(Value images, Value texts, double largest_scale) const {
  if (!logit_scale_.defined())
    throw ArgumentError("images and texts can be compared only by models with both towers");
  Value scale = exp(logit_scale_);
  if (largest_scale > 0) scale = minimum(scale, largest_scale);
  const Value scaled = matmul(images, transpose(texts)) * scale;
  return logit_bias_.defined() ? scaled + logit_bias_ : scaled;
}

Value unit_vectors(Value vectors, SourceLocation loc) {
  Graph::Frame frame(vectors.graph(), "unit_vectors", loc);
  constexpr double kLeast = 1e-12;  // as in torch.nn.functional.normalize
  return vectors / maximum(norm(vectors, {-1}, true), kLeast);
}

Value clip_loss(Value logits, Reduction reduction, SourceLocation loc) {
  Graph::Frame frame(logits.graph(), "clip_loss", loc);
  require_square("clip_loss", logits, loc);
  const Value own = iota(logits.graph(), Shape{logits.size(0)}, 0, DType::i64);
  const CrossEntropyOptions each{.reduction = Reduction::none};
  return reduced(
      0.5 * (cross_entropy(logits, own, each) + cross_entropy(transpose(logits), own, each)),
      reduction);
}

Value siglip_loss(Value logits, Reduction reduction, SourceLocation loc) {
  Graph::Frame frame(logits.graph(), "siglip_loss", loc);
  require_square("siglip_loss", logits, loc);
  const Dim& n = logits.size(0);
  const Value own = one_hot(iota(logits.graph(), Shape{n}, 0, DType::i64), n, logits.dtype());
  // -ln sigmoid(x) = softplus(-x)
  return reduced(sum(softplus((1 - 2 * own) * logits), {1}), reduction);
}

}  // namespace weft
