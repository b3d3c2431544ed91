#include "weft/models/zoo/experiments/small_decoder.h"

#include "weft/autodiff/optimizers/optimizers.h"
#include "weft/graph/functions/arithmetic.h"
#include "weft/models/layers/attention/attention.h"
#include "weft/models/layers/embedding.h"
#include "weft/models/layers/feed_forward.h"
#include "weft/models/layers/linear.h"
#include "weft/models/layers/norm.h"

namespace weft::zoo {

Value small_decoder(const Scope& scope, Value h, const SmallDecoder& sizes) {
  if (!sizes.rotary) h = h + learned_positions(scope / "positions", h, {.context = sizes.context});
  for (std::int64_t i = 0; i < sizes.layers; ++i) {
    const Scope layer = scope / "layers" / i;
    h = h + self_attention(
                layer / "attention", layer_norm(layer / "ln_1", h),
                {.heads = sizes.heads, .rotary = sizes.rotary ? sizes.width / sizes.heads : 0});
    if (!sizes.feed_forward) continue;
    h = h + make_feed_forward(layer / "feed_forward", DType::f32,
                              sizes.width)(layer_norm(layer / "ln_2", h));
  }
  return layer_norm(scope / "norm", h);
}

Value small_language_model(const Scope& scope, Value ids, std::int64_t vocab,
                           const SmallDecoder& sizes) {
  const Value h = embedding(scope / "embedding", ids, {.vocab = vocab, .width = sizes.width});
  return linear(scope / "head", small_decoder(scope, h, sizes), vocab, {.bias = false});
}

TrainingStep training_step(Value loss, double learning_rate, std::int64_t steps) {
  const auto all = static_cast<double>(steps);
  return adamw(loss, loss.graph().parameters(),
               {.lr = warmup_cosine(learning_rate, all / 20, all),
                .weight_decay = 0,
                .step = {.clip_norm = 1}});
}

}  // namespace weft::zoo
