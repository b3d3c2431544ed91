#include "weft/models/families/encoder_heads.h"

#include <limits>

#include "weft/graph/functions.h"
#include "weft/models/layers/batch_sum.h"

namespace weft {
namespace {

LinearOptions head_linear(const EncoderConfig& config, bool bias = true) {
  return {.bias = bias, .initializer = Initializer::normal(config.initializer_range)};
}

Norm head_norm(const Scope& scope, const EncoderConfig& config, std::int64_t width, double eps) {
  return make_norm(scope, DType::f32, width,
                   {.eps = eps, .bias = config.norm_bias, .rms = config.rms_norm});
}

Value mean_over(Value h, Value mask) {
  return mask.defined() ? mean_of_tokens(h, mask) : mean(h, {1});
}

}  // namespace

Value Pooler::hidden(Value h) const {
  h = activate(activation, dense(h));
  return norm ? (*norm)(h) : h;
}

Value Pooler::operator()(Value h, Value mask, SourceLocation loc) const {
  Graph::Frame frame(dense.scope.graph(), "pooler", loc, dense.scope.path());
  switch (pooling) {
    case HeadPooling::mean: return hidden(mean_over(h, mask));
    case HeadPooling::late: return mean_over(hidden(h), mask);
    case HeadPooling::first: break;
  }
  return hidden(select(h, 1, Dim(0)));
}

Linear make_head(const Scope& scope, const EncoderConfig& config, std::int64_t outputs,
                 SourceLocation loc) {
  return make_linear(scope, DType::f32, config.width, outputs, head_linear(config), loc);
}

Pooler make_pooler(const Scope& scope, const EncoderConfig& config, Activation activation,
                   SourceLocation loc) {
  Pooler pooler{make_linear(scope, DType::f32, config.width, config.width,
                            head_linear(config, config.head_bias), loc),
                activation};
  if (config.head_norm)
    pooler.norm = head_norm(scope / "norm", config, config.width, config.layer_norm_eps);
  pooler.pooling = config.head_pooling;
  return pooler;
}

Value TokenScores::operator()(Value h, SourceLocation loc) const {
  Graph::Frame frame(out.scope.graph(), "token_scores", loc, out.scope.path());
  return out(pooler ? pooler->hidden(h) : h);
}

TokenScores make_token_scores(const Scope& scope, const std::string& name,
                              const EncoderConfig& config, std::int64_t outputs,
                              SourceLocation loc) {
  std::optional<Pooler> pooler;
  if (config.token_head)
    pooler = make_pooler(scope / "pooler", config, config.activation_in_heads(), loc);
  return {pooler, make_head(scope / name, config, outputs, loc)};
}

Value mean_of_tokens(Value h, Value mask, SourceLocation loc) {
  Graph::Frame frame(h.graph(), "mean_of_tokens", loc);
  const Value counts = unsqueeze(cast(mask, h.dtype()), -1);
  return sum(h * counts, {1}) / sum(counts, {1});
}

Value max_of_tokens(Value h, Value mask, SourceLocation loc) {
  Graph::Frame frame(h.graph(), "max_of_tokens", loc);
  const Value padding = unsqueeze(equal(mask, 0), -1);
  return max(masked_fill(h, padding, std::numeric_limits<float>::lowest()), {1});
}

MaskedLmOptions masked_lm_options(const EncoderConfig& config) {
  return {.activation = config.activation_in_heads(), .layer_norm_eps = config.layer_norm_eps};
}

Value MaskedLmHead::operator()(Value h, SourceLocation loc) const {
  Graph::Frame frame(scope.graph(), "masked_lm", loc, scope.path());
  if (dense) h = (*norm)(activate(activation, (*dense)(h)));
  return bias.defined() ? linear(h, decoder, bias) : linear(h, decoder);
}

Value first_token_attention(const EncoderConfig& config, Value ids) {
  if (!config.global_attention) return {};
  return equal(iota(ids.graph(), {ids.size(0), ids.size(1)}, 1, DType::i64), 0);
}

Value question_attention(const EncoderConfig& config, Value ids) {
  if (!config.global_attention) return {};
  return equal(cumsum(cast(equal(ids, config.separator_id), DType::i64), 1), 0);
}

MaskedLmHead make_masked_lm_head(const Scope& scope, const Encoder& encoder,
                                 const MaskedLmOptions& options, SourceLocation loc) {
  Graph& graph = scope.graph();
  Graph::Frame frame(graph, "masked_lm", loc, scope.path());
  const EncoderConfig& config = encoder.config();
  const std::int64_t width = config.embeddings();
  MaskedLmHead head{scope, {}, options.activation, {}, encoder.token_table(), {}};
  if (config.head_transform) {
    head.dense = make_linear(scope / "dense", DType::f32, config.width, width,
                             head_linear(config, config.head_bias));
    head.norm = head_norm(scope / "norm", config, width, options.layer_norm_eps);
  } else if (width != config.width) {
    graph.fail(ArgumentError("a head without a hidden layer (head_transform false) needs "
                             "embeddings as wide as the layers"),
               "masked_lm", {}, loc);
  }
  if (config.decoder_bias) head.bias = scope.variable("bias", DType::f32, {config.vocab});
  const Scope decoder = scope / "decoder";
  if (config.decoder_bias) graph.alias(decoder.join("bias"), head.bias);
  if (config.tied_head) {
    graph.alias(decoder.join("weight"), head.decoder);
  } else {
    head.decoder = decoder.variable("weight", DType::f32, {config.vocab, width},
                                    {.initializer = Initializer::normal(config.initializer_range)});
  }
  return head;
}

Value ReplacedTokenHead::operator()(Value h, SourceLocation loc) const {
  Graph::Frame frame(dense.scope.graph(), "replaced_token", loc, dense.scope.path());
  return select(out(activate(activation, dense(h))), 2, Dim(0));
}

ReplacedTokenHead make_replaced_token_head(const Scope& scope, const EncoderConfig& config,
                                           SourceLocation loc) {
  Graph::Frame frame(scope.graph(), "replaced_token", loc, scope.path());
  return {make_linear(scope / "dense", DType::f32, config.width, config.width, head_linear(config)),
          config.activation,
          make_linear(scope / "out", DType::f32, config.width, 1, head_linear(config))};
}

SpanLogits split_span(Value logits) {
  return {select(logits, 2, Dim(0)), select(logits, 2, Dim(1))};
}

Value label_loss(Value logits, Value labels, Reduction reduction, SourceLocation loc) {
  Graph::Frame frame(logits.graph(), "label_loss", loc);
  return cross_entropy(logits, labels,
                       {.class_axis = -1, .ignore_index = -100, .reduction = reduction});
}

Value span_loss(const SpanLogits& logits, Value start, Value end, Reduction reduction,
                SourceLocation loc) {
  Graph& graph = logits.start.graph();
  Graph::Frame frame(graph, "span_loss", loc);
  const Value length = dim_value(graph, logits.start.size(1), DType::i64);
  const auto one = [&](Value scores, Value position) {
    position = cast(position, DType::i64);
    const Value target = where(position >= length, -100, maximum(position, 0));
    return label_loss(scores, target, reduction);
  };
  return (one(logits.start, start) + one(logits.end, end)) * 0.5;
}

Value replaced_token_loss(Value logits, Value labels, Value mask, Reduction reduction,
                          SourceLocation loc) {
  Graph::Frame frame(logits.graph(), "replaced_token_loss", loc);
  const Value each = bce_with_logits(logits, cast(labels, logits.dtype()),
                                     mask.defined() ? Reduction::none : reduction);
  if (!mask.defined()) return each;
  const Value counts = cast(mask, logits.dtype());
  return batch_sum(sum(each * counts), reduction) / batch_sum(sum(counts), reduction);
}

Value sequence_loss(Problem problem, Value logits, Value labels, SourceLocation loc) {
  Graph::Frame frame(logits.graph(), "sequence_loss", loc);
  switch (problem) {
    case Problem::single_label: return label_loss(logits, labels);
    case Problem::multi_label: return bce_with_logits(logits, cast(labels, logits.dtype()));
    case Problem::regression: break;
  }
  const Value wanted = cast(labels, logits.dtype());
  return mse(labels.rank() == 1 ? select(logits, 1, Dim(0)) : logits, wanted);
}

}  // namespace weft
