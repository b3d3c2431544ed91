#include "weft/models/tasks/masked_tokens/replaced_tokens.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "weft/core/error.h"
#include "weft/graph/functions.h"

namespace weft {

Value sample_ids(Value logits, Value key, SourceLocation loc) {
  Graph::Frame frame(logits.graph(), "sample_ids", loc);
  // uniform() samples from [0, 1). A sample of 0 gives noise of -inf, which argmax never selects.
  const Value noise = -log(-log(uniform(key, logits.shape(), 0, 1, logits.dtype())));
  return argmax(stop_gradient(logits) + noise, -1);
}

EncoderConfig generator_config(const EncoderConfig& config, double share) {
  if (!(share > 0 && share <= 1))
    throw ArgumentError(fmt::format("generator_share must be in (0, 1], not {}", share));
  if (config.embedding_projection == EmbeddingProjection::before_norm) {
    throw ArgumentError(
        "the generator cannot share embeddings that are projected before the norm: "
        "embedding_projection must be none or after_norm");
  }
  EncoderConfig generator = config;
  const auto part = [&](std::int64_t of, double share_of) {
    return std::max<std::int64_t>(1, std::llround(static_cast<double>(of) * share_of));
  };
  generator.heads = part(config.heads, share);
  generator.width =
      config.head_size > 0 ? part(config.width, share) : generator.heads * config.head_width();
  generator.inner =
      part(config.inner, static_cast<double>(generator.width) / static_cast<double>(config.width));
  generator.embedding_width = config.embeddings();
  generator.embedding_projection = generator.width == generator.embedding_width
                                       ? EmbeddingProjection::none
                                       : EmbeddingProjection::after_norm;
  if (generator.conv_kernel > 0 && generator.width % generator.conv_groups != 0) {
    throw ArgumentError(
        fmt::format("a generator with width {} cannot have conv_groups {}: change generator_share",
                    generator.width, generator.conv_groups));
  }
  return generator;
}

ReplacedTokenModel make_replaced_token_model(const Scope& scope, const EncoderConfig& config,
                                             double generator_share, SourceLocation loc) {
  Graph::Frame frame(scope.graph(), "replaced_token_model", loc, scope.path());
  const EncoderConfig small = generator_config(config, generator_share);
  const Encoder encoder(scope, config);
  const ReplacedTokenHead head = make_replaced_token_head(scope / "replaced_token", config);
  const Encoder generator(scope / "generator", small, encoder);
  return {
      encoder, head, generator,
      make_masked_lm_head(scope / "generator" / "masked_lm", generator, masked_lm_options(small))};
}

ReplacedTokens detect_replaced_tokens(const ReplacedTokenModel& model, const EncoderInputs& inputs,
                                      const MaskedTargets& hidden, Value key, Mode mode,
                                      SourceLocation loc) {
  Graph::Frame frame(inputs.ids.graph(), "replaced_tokens", loc);
  ReplacedTokens result;
  const Value guessed = model.generator.in(mode)(inputs).last_hidden_state;
  result.generator_logits = model.generator_head(take(flatten(guessed, 0, 1), hidden.picks));

  const Value drawn = cast(sample_ids(result.generator_logits, key), DType::i32);
  const Value counts = hidden.labels >= 0;
  const Value ids = flatten(inputs.ids);
  const Value none = ids * 0;
  // Add differences of ids instead of writing the ids, because an ignored pick may have the same
  // position as another pick.
  const Value change = where(counts, drawn - take(ids, hidden.picks), 0);
  result.ids = reshape(index_add(ids, hidden.picks, change), inputs.ids.shape());
  const Value wrong = where(counts, cast(not_equal(drawn, hidden.labels), DType::i32), 0);
  result.replaced = reshape(index_add(none, hidden.picks, wrong), inputs.ids.shape());

  EncoderInputs corrupted = inputs;
  corrupted.ids = result.ids;
  result.logits = model.head(model.encoder.in(mode)(corrupted).last_hidden_state);
  return result;
}

}  // namespace weft
