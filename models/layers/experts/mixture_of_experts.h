// Mixture-of-experts layers: every token is processed by the few experts that a router chooses.
#pragma once

#include <cstdint>
#include <optional>

#include "weft/models/layers/experts/experts.h"
#include "weft/models/layers/experts/router.h"
#include "weft/models/layers/feed_forward.h"

namespace WEFT_API weft {

struct MixtureOfExpertsOptions {
  std::int64_t experts = 8;
  std::int64_t experts_per_token = 2;
  RouterScores scores = RouterScores::softmax;
  /// Divides the weights of a token by their sum.
  bool normalize_weights = true;
  double scale = 1;  // factor of the weights
  /// The weights multiply the inputs of the experts instead of their outputs (Llama 4).
  bool weights_on_input = false;
  // See RouterOptions.
  bool router_bias = false;
  std::int64_t groups = 1, groups_per_token = 1;
  RouterGroupScore group_score = RouterGroupScore::best;
  bool correction = false;
  double correction_speed = 0;
  double jitter = 0;

  std::int64_t inner = 0;  // of one expert; 0 means 4 * width
  Activation activation = Activation::silu;
  /// Experts compute down(activation(gate(x)) * up(x)) instead of down(activation(up(x))).
  bool gated = true;
  bool bias = false;  // of the experts
  double limit = 0;   // see ExpertsOptions
  double dropout = 0;
  LinearLayout weight_layout = LinearLayout::in_out;

  /// Inner size of a feed-forward block that processes all tokens and is added to the output (Dai
  /// et al. 2024, "DeepSeekMoE"); 0 means none. It has the activation of the experts, is gated if
  /// they are, and has no biases.
  std::int64_t shared_inner = 0;
  /// Multiplies the output of this block by sigmoid(x w), with one weight per feature (Qwen2-MoE).
  bool shared_gate = false;

  /// Initializers of the router and of all matrices except `down`, and of `down`. By default
  /// uniform in +-1/sqrt(inputs).
  std::optional<Initializer> initializer = {}, down_initializer = {};

  /// Limits the number of tokens per expert to ceil(capacity_factor * tokens * k / experts).
  /// Choices beyond this capacity are dropped: they contribute 0, and the other weights of the
  /// token are unchanged. The first choices of all tokens come before the second choices, and so
  /// on; among equal choices, earlier tokens come first (Lepikhin et al. 2020, "GShard"). Without a
  /// factor, no choice is dropped ("dropless", Gale et al. 2022, "MegaBlocks"), and the result for
  /// a token does not depend on other tokens.
  std::optional<double> capacity_factor = {};
  /// If not 0, limits the number of tokens of one row per expert in the same way. A row is the
  /// second-last axis of the input, usually a text, so that the result for a text does not depend
  /// on other texts (Fedus et al. 2021, "Switch Transformers"). Cannot be combined with a factor.
  std::int64_t row_capacity = 0;
};

/// The results of a layer. In a sharded program (Program::shards), the losses, the counts and the
/// capacity refer to the tokens of one shard, so combine the losses with shard_mean().
struct MixtureOfExpertsOutput {
  Value y;                // the shape of x
  Value balancing_loss;   // scalar: Routing::balancing_loss
  Value z_loss;           // scalar: Routing::z_loss
  Value expert_counts;    // i64 [experts]: choices per expert, before any are dropped
  Value dropped_choices;  // i64 scalar: choices beyond the capacity
  /// With row_capacity: bool [tokens, k], false for dropped choices. Otherwise undefined.
  Value kept;
  Routing routing;  // of the tokens of x in order, for joint_balancing_loss()
};

/// The parameters of a layer: those of Router in "<scope>.router", of Experts in "<scope>.experts",
/// of the shared FeedForward in "<scope>.shared" ("gate.weight", "c_fc.weight", "c_proj.weight"),
/// and "<scope>.shared_gate.weight" [1, width].
struct MixtureOfExperts {
  Scope scope;
  Router router;
  Experts experts;
  std::optional<double> capacity_factor;
  bool weights_on_input = false;
  std::int64_t row_capacity = 0;
  std::optional<FeedForward> shared = {};
  std::optional<Linear> shared_gate = {};

  /// Maps x [..., width]; all axes but the last are tokens. y = sum over the k experts e of a token
  /// of weight_e expert_e(x), in the order of the experts, plus shared(x) if there is a shared
  /// block. With weights_on_input, expert_e(weight_e x) instead. Add y to x for a residual
  /// connection.
  ///
  /// Choices are sorted by expert, and all experts are computed by grouped matrix products: 2 k (2
  /// or 3) width inner floating-point operations per token, and k rows of width and inner per token
  /// of memory, whatever the number of experts and the balance.
  MixtureOfExpertsOutput operator()(Value x, SourceLocation loc = SourceLocation::current()) const;
};

/// Declares the parameters. Throws ArgumentError unless 1 <= experts_per_token <= experts, sizes
/// are positive, the capacity factor is positive and finite, at most one capacity is set, and a
/// shared gate has a shared block.
/// Other errors are those of make_router and make_experts.
MixtureOfExperts make_mixture_of_experts(const Scope& scope, DType dtype, std::int64_t width,
                                         const MixtureOfExpertsOptions& options = {},
                                         SourceLocation loc = SourceLocation::current());

/// Declares a layer and applies it to x, floating [..., width]. To train the router, add the losses
/// to the loss of the model:
///   const auto moe = mixture_of_experts(net / "moe", h, {.experts = 16});
///   h = h + moe.y;
///   loss = loss + 0.01 * moe.balancing_loss + 0.001 * moe.z_loss;
MixtureOfExpertsOutput mixture_of_experts(const Scope& scope, Value x,
                                          const MixtureOfExpertsOptions& options = {},
                                          SourceLocation loc = SourceLocation::current());

}  // namespace weft
