#include "weft/models/families/gpt.h"

#include <string>

#include "weft/core/error.h"
#include "weft/graph/functions.h"
#include "weft/graph/weights/parameter_count.h"
#include "weft/models/layers/attention/heads.h"
#include "weft/models/layers/attention/positions.h"
#include "weft/models/layers/dropout.h"
#include "weft/models/layers/incremental_state.h"

namespace weft {
namespace {

GptConfig checked(GptConfig config) {
  config.check();
  return config;
}

/// Returns positions, i64 [batch, keys], that count from the first token of each row. `mask` is 0
/// for padding.
Value positions_from_first(Value mask) {
  Graph& graph = mask.graph();
  const Value first = argmax(cast(not_equal(cast(mask, DType::i64), 0), DType::i64), 1, true);
  return iota(graph, {mask.size(1)}, 0, DType::i64) - first;
}

}  // namespace

std::int64_t GptConfig::parameter_count() const {
  Graph graph;
  const Gpt model(Scope(graph), *this);
  return count_parameters(graph);
}

Gpt::Gpt(const Scope& scope, const GptConfig& config, GptHead head, SourceLocation loc)
    : scope_(scope),
      config_(checked(config)),
      wte_(make_embedding(
          scope / "transformer" / "wte",
          {.vocab = config.vocab,
           .width = config.embeddings(),
           .initializer = Initializer::normal(config.initializer_range),
           .padding_id = config.padding_id < 0 ? std::nullopt : std::optional(config.padding_id)},
          loc)) {
  Graph::Frame frame(scope.graph(), "gpt", loc, scope.path());
  const Scope body = scope / "transformer";
  const double std = config.initializer_range;
  if (config.positions == GptPositions::learned) {
    wpe_ = make_embedding(body / "wpe", {.vocab = config.context + config.position_offset,
                                         .width = config.width,
                                         .initializer = Initializer::normal(std)});
  }
  const bool projected = config.embeddings() != config.width;
  const LinearOptions projection{.bias = false, .initializer = Initializer::normal(std)};
  if (projected) {
    project_in_ =
        make_linear(body / "project_in", DType::f32, config.embeddings(), config.width, projection);
  }
  if (config.embedding_norm) wte_norm_ = make_norm(body / "wte_norm");
  for (std::int64_t i = 0; i < config.layers; ++i) blocks_.push_back(make_block(body / "h" / i, i));
  if (config.residual != GptResidual::post_norm && config.final_norm)
    ln_f_ = make_norm(body / "ln_f");
  if (projected) {
    project_out_ = make_linear(body / "project_out", DType::f32, config.width, config.embeddings(),
                               projection);
  }
  if (head == GptHead::none) return;
  if (config.tied_head) {
    head_ = wte_.weight;
    scope.alias("lm_head.weight", head_);
  } else {
    head_ = scope.variable("lm_head.weight", DType::f32, {config.vocab, config.embeddings()},
                           {.initializer = Initializer::normal(std)});
  }
  if (config.head_bias) {
    head_bias_ = scope.variable("lm_head.bias", DType::f32, {config.vocab},
                                {.initializer = Initializer::zeros()});
  }
}

void Gpt::set_padded_causality(const PaddedCausality& padded) {
  for (Block& block : blocks_) block.attn.options.padded = padded;
}

Value Gpt::finish(Value h) const {
  if (ln_f_) h = (*ln_f_)(h);
  return project_out_ ? (*project_out_)(h) : h;
}

Value Gpt::logits(Value h) const {
  Value y = matmul(h, head_, {.transpose_b = true});
  if (head_bias_.defined()) y = y + head_bias_;
  if (config_.logit_multiplier != 1) y = y * config_.logit_multiplier;
  const double cap = config_.logit_soft_cap;
  return cap == 0 ? y : tanh(y / cap) * cap;
}

Value Gpt::embed(Value ids, Value token_type_ids, Value positions) const {
  Value h = wte_(ids);
  if (config_.embedding_multiplier != 1) h = h * config_.embedding_multiplier;
  if (project_in_) h = (*project_in_)(h);
  if (wpe_)
    h = h + (*wpe_)(config_.position_offset == 0 ? positions : positions + config_.position_offset);
  if (config_.positions == GptPositions::sinusoidal)
    h = h + sinusoidal_positions(positions, config_.width, h.dtype());
  if (token_type_ids.defined()) h = h + wte_(token_type_ids);
  return wte_norm_ ? (*wte_norm_)(h) : h;
}

Value Gpt::apply(const Block& block, Value h, const AttentionInputs& attention, Updates* updates,
                 std::vector<Routing>& routings) const {
  const auto branch = [&](Value x) {
    if (config_.residual_multiplier != 1) x = x * config_.residual_multiplier;
    return dropout(scope_, x, config_.residual_dropout);
  };
  const auto attend = [&](Value x) { return block.attn(x, attention, updates); };
  const auto feed = [&](Value x) {
    if (const auto* dense = std::get_if<FeedForward>(&block.mlp)) return (*dense)(x);
    MixtureOfExpertsOutput mixed = std::get<MixtureOfExperts>(block.mlp)(x);
    routings.push_back(std::move(mixed.routing));
    return mixed.y;
  };
  switch (config_.residual) {
    case GptResidual::pre_norm:
      h = h + branch(attend(block.ln_1(h)));
      return h + branch(feed((*block.ln_2)(h)));
    case GptResidual::post_norm:
      h = block.ln_1(h + branch(attend(h)));
      return (*block.ln_2)(h + branch(feed(h)));
    case GptResidual::parallel:
      return branch(feed((*block.ln_2)(h))) + branch(attend(block.ln_1(h))) + h;
    case GptResidual::parallel_one_norm: {
      const Value normed = block.ln_1(h);
      return branch(feed(normed)) + branch(attend(normed)) + h;
    }
    case GptResidual::sandwich:
      h = h + branch((*block.ln_1_post)(attend(block.ln_1(h))));
      return h + branch((*block.ln_2_post)(feed((*block.ln_2)(h))));
    case GptResidual::inner_post_norm: break;
  }
  h = h + branch(block.ln_1(attend(h)));
  return h + branch((*block.ln_2)(feed(h)));
}

Gpt Gpt::in(Mode mode) const {
  Gpt result = *this;
  result.scope_ = scope_.in(mode);
  for (Block& block : result.blocks_) {
    // Routers update their correction biases in training mode.
    if (auto* experts = std::get_if<MixtureOfExperts>(&block.mlp))
      experts->router.logits.scope = experts->router.logits.scope.in(mode);
  }
  return result;
}

GptOutputs Gpt::operator()(const GptInputs& inputs, SourceLocation loc) const {
  Graph& graph = scope_.graph();
  Graph::Frame frame(graph, "gpt", loc, scope_.path());
  const Value ids = inputs.ids;
  Value positions = inputs.position_ids;
  if (!positions.defined()) {
    positions = config_.masked_positions && inputs.attention_mask.defined()
                    ? maximum(cumsum(cast(inputs.attention_mask, DType::i64), 1) - 1, 0)
                    : iota(graph, {ids.size(1)}, 0, DType::i64);
  }
  const Value embedded = embed(ids, inputs.token_type_ids, positions);
  Value h = dropout(scope_, embedded, config_.embedding_dropout);

  AttentionInputs attention{.position_ids = positions};
  if (drops_out(scope_, config_.attention_dropout, loc)) {
    attention.dropout = config_.attention_dropout;
    attention.dropout_key = graph.key("dropout");
  }
  if (inputs.attention_mask.defined()) {
    attention.additive_mask = additive_padding_mask(inputs.attention_mask, h.dtype());
    if (config_.window_chunks)
      attention.chunk_positions = positions_from_first(inputs.attention_mask);
  }
  if (inputs.segments.defined()) {
    if (inputs.attention_mask.defined()) {
      graph.fail(ArgumentError("segments and attention_mask cannot be combined"), "gpt",
                 {inputs.segments}, loc);
    }
    attention.mask =
        unsqueeze(equal(unsqueeze(inputs.segments, 2), unsqueeze(inputs.segments, 1)), 1);
    if (config_.window_chunks)
      attention.chunk_positions = broadcast_to(positions, {ids.size(0), ids.size(1)});
  }

  GptOutputs outputs;
  for (const Block& block : blocks_) {
    outputs.hidden.push_back(h);
    h = apply(block, h, attention, nullptr, outputs.routings);
  }
  outputs.last_hidden_state = finish(h);
  outputs.hidden.push_back(outputs.last_hidden_state);
  if (head_.defined()) outputs.logits = logits(outputs.last_hidden_state);
  return outputs;
}

GptDecoding Gpt::decode(const GptDecodeInputs& inputs, const Dim& capacity,
                        SourceLocation loc) const {
  if (scope_.mode() != Mode::evaluation) return evaluation().decode(inputs, capacity, loc);
  const bool by_slot = inputs.cache_rows.defined();
  const Scope caches = scope_ / (by_slot ? "slots" : "cache");
  require_first_incremental(caches, "decode", loc);
  Graph& graph = scope_.graph();
  Graph::Frame frame(graph, "gpt", loc, scope_.path());
  const Value tokens = inputs.tokens;
  if (!head_.defined())
    graph.fail(ArgumentError("a model without a head has no logits to decode"), "gpt", {tokens},
               loc);
  if (!config_.causal) {
    graph.fail(
        ArgumentError("a model in which tokens attend to later tokens (causal = false) cannot "
                      "generate text; it computes text vectors (weft embed)"),
        "gpt", {tokens}, loc);
  }
  Value positions = inputs.position_ids, text_length = inputs.text_length, end;
  if (inputs.counts.defined()) end = inputs.position + inputs.counts;
  if (!text_length.defined()) text_length = end;
  // The length of each row without its padding.
  if (!text_length.defined() && positions.defined())
    text_length = cast(select(positions, 1, positions.size(1) - 1) + 1, DType::i64);
  if (!positions.defined()) {
    positions = consecutive_positions(inputs.position, tokens.size(1));
    // Padding must not exceed a table of learned positions.
    if (end.defined()) positions = minimum(positions, unsqueeze(maximum(end, 1) - 1, 1));
  }
  Value h = embed(tokens, {}, positions);
  const Dim kept = min(capacity, inputs.piece + (config_.window - 1));
  Value chunk_positions;
  if (config_.window_chunks && inputs.mask.defined())
    chunk_positions = positions_from_first(inputs.mask);
  GptDecoding result;
  std::vector<Routing> routings;
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    const bool circular = inputs.piece != Dim() && config_.has_window(static_cast<std::int64_t>(i));
    const auto cache_of = [&](const char* name, std::int64_t size) {
      const Dim rows = by_slot ? inputs.slots : tokens.size(0);
      const Shape shape{rows, config_.key_heads(), circular ? kept : capacity, size};
      return (caches / "h" / i).variable(name, {h.dtype(), shape}, {.kind = VariableKind::cache});
    };
    AttentionCache cache{cache_of("keys", config_.head_size()),
                         cache_of("values", config_.value_size()),
                         inputs.position,
                         inputs.cache_rows,
                         end,
                         text_length,
                         circular ? capacity : Dim()};
    const AttentionInputs attention{.position_ids = positions,
                                    .chunk_positions = chunk_positions,
                                    .cache = &cache,
                                    .cache_mask = inputs.mask};
    h = apply(blocks_[i], h, attention, &result.updates, routings);
  }
  if (inputs.wanted.defined()) {
    const Value flat = reshape(h, {h.size(0) * h.size(1), h.size(2)});
    result.logits = logits(finish(take(flat, inputs.wanted, 0)));
    return result;
  }
  const Value last =
      inputs.counts.defined()
          ? squeeze(take_along_axis(h,
                                    broadcast_to(reshape(inputs.counts - 1, {h.size(0), 1, 1}),
                                                 {h.size(0), 1, h.size(2)}),
                                    1),
                    1)
          : select(h, 1, h.size(1) - 1);
  result.logits = logits(finish(last));
  return result;
}

Dim Gpt::piece() const {
  for (std::int64_t i = 0; i < config_.layers; ++i) {
    if (config_.has_window(i)) return scope_.graph().dim("piece");
  }
  return {};
}

Program Gpt::decode_program(Value tokens, SourceLocation loc) const {
  require_first_incremental(scope_ / "cache", "decode_program", loc);
  Graph& graph = scope_.graph();
  const Dim& batch = tokens.size(0);
  const Dim& added = tokens.size(1);
  const Dim capacity = graph.dim("capacity");
  const Value position = graph.input("position", DType::i64, {}, loc);
  const Value positions = graph.input("positions", ValueType{DType::i64, Shape{batch, added}}, loc);
  const Value visible =
      graph.input("visible", ValueType{DType::boolean, Shape{batch, capacity}}, loc);
  const GptDecoding decoding = decode({.tokens = tokens,
                                       .position = position,
                                       .position_ids = positions,
                                       .mask = visible,
                                       .piece = piece()},
                                      capacity, loc);
  return Program("decode").output("logits", decoding.logits, loc).update(decoding.updates, loc);
}

Program Gpt::slots_program(Value tokens, SourceLocation loc) const {
  require_first_incremental(scope_ / "slots", "slots_program", loc);
  Graph& graph = scope_.graph();
  const auto per_row = [&](std::string_view name) {
    return graph.input(name, ValueType{DType::i64, Shape{tokens.size(0)}}, loc);
  };
  const Shape table{tokens.size(0), graph.dim("slot_columns")};
  const GptDecoding decoding =
      decode({.tokens = tokens,
              .position = per_row("slot_positions"),
              .cache_rows = graph.input("slot_blocks", ValueType{DType::i64, table}, loc),
              .slots = graph.dim("cache_blocks"),
              .counts = per_row("slot_counts"),
              .wanted = graph.input("slot_wanted", DType::i64, {"slot_results"}, loc),
              .text_length = per_row("slot_lengths")},
             graph.dim("cache_block"), loc);
  return Program("slots").output("logits", decoding.logits, loc).update(decoding.updates, loc);
}

void name_outputs(const GptOutputs& outputs) {
  Graph& graph = outputs.last_hidden_state.graph();
  for (std::size_t i = 0; i < outputs.hidden.size(); ++i)
    graph.set_name("hidden." + std::to_string(i), outputs.hidden[i]);
  graph.set_name("last_hidden_state", outputs.last_hidden_state);
  if (outputs.logits.defined()) graph.set_name("logits", outputs.logits);
}

Value next_token_loss(Value logits, Value labels, SourceLocation loc) {
  Graph::Frame frame(logits.graph(), "next_token_loss", loc);
  // Shift the labels, not the logits: slicing off their last row would copy the largest tensor.
  const Value rest = slice(labels, {Slice{}, Slice{.begin = Dim(1)}});
  const Value targets = pad(rest, {{0, 0}, {0, 1}}, {.value = -100});
  return cross_entropy(logits, targets, {.class_axis = -1, .ignore_index = -100});
}

Value with_router_losses(Value loss, const GptConfig& config, const GptOutputs& outputs, Value mask,
                         Reduction reduction, SourceLocation loc) {
  Graph::Frame frame(loss.graph(), "router_losses", loc);
  const auto add = [&](double weight, Value added) {
    loss = loss + (reduction == Reduction::shard_mean ? shard_mean(added) : added) * weight;
  };
  if (outputs.routings.empty()) return loss;
  if (config.balancing_weight != 0) {
    add(config.balancing_weight, mask.defined() ? joint_balancing_loss(outputs.routings, mask)
                                                : joint_balancing_loss(outputs.routings));
  }
  if (config.router_z_weight == 0) return loss;
  std::vector<Value> losses;
  for (const Routing& routing : outputs.routings) losses.push_back(routing.z_loss());
  add(config.router_z_weight, mean(stack(losses)));
  return loss;
}

}  // namespace weft
