// Routers of mixtures of experts: they choose the experts of each token and their weights.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "weft/models/layers/linear.h"

namespace WEFT_API weft {

/// The function that turns router logits into scores.
enum class RouterScores : std::uint8_t {
  softmax,  // over all experts
  sigmoid,  // of each expert separately
};

/// The score of a group of experts, computed from the scores of its experts.
enum class RouterGroupScore : std::uint8_t {
  best,      // the largest score (DeepSeek-V2)
  best_two,  // the sum of the two largest scores (DeepSeek-V3)
};

struct RouterOptions {
  std::int64_t experts = 8;
  /// The number of experts per token, k: those with the largest scores. If scores are equal, the
  /// expert with the smaller index is chosen.
  std::int64_t experts_per_token = 2;
  RouterScores scores = RouterScores::softmax;
  /// Divides the k scores of a token by their sum, so that its weights sum to 1.
  bool normalize_weights = true;
  double scale = 1;   // factor of the weights, after the normalisation
  bool bias = false;  // of the logits

  /// Divides the experts into `groups` of consecutive experts. Only experts from the
  /// `groups_per_token` groups with the largest scores can be chosen (DeepSeek-AI 2024,
  /// "DeepSeek-V2", section 2.2.2). 1 group means no restriction.
  std::int64_t groups = 1;
  std::int64_t groups_per_token = 1;
  RouterGroupScore group_score = RouterGroupScore::best;

  /// Adds the buffer "<scope>.correction" to the scores when groups and experts are chosen. It has
  /// no influence on the weights and no gradient (DeepSeek-AI 2024, "DeepSeek-V3", section 2.1.2).
  bool correction = false;
  /// If not 0, every program that computes the weights in a scope in training mode moves the
  /// correction of each expert by this step: up if the expert was chosen less often than the mean,
  /// down if more often (Wang et al. 2024, "Auxiliary-Loss-Free Load Balancing"). In a sharded
  /// program, the choices of all shards are counted. DeepSeek-V3 uses 0.001. Requires `correction`.
  double correction_speed = 0;

  /// In training mode, each input is multiplied by a random number between 1 - jitter and 1 +
  /// jitter before the logits are computed (Fedus et al. 2021, "Switch Transformers").
  double jitter = 0;

  std::optional<Initializer> initializer = {};  // of the weight, as in LinearOptions
};

/// The experts of each token.
struct Routing {
  Value logits;   // [tokens, experts]
  Value scores;   // [tokens, experts]
  Value experts;  // i64 [tokens, k]: in descending order of their (corrected) scores
  Value weights;  // [tokens, k]: differentiable with respect to the logits
  Value counts;   // i64 [experts]: the number of tokens that chose each expert

  /// Load-balancing loss E sum_e f_e p_e (Fedus et al. 2021, "Switch Transformers", eq. 4). f_e is
  /// the fraction of all tokens * k choices that fell on expert e, which has no gradient. p_e is
  /// the mean over the tokens of the score of expert e, divided by the sum of the scores. The loss
  /// is 1 if choices or scores are uniform, and E / k if the same k experts are always chosen with
  /// certainty. (Hugging Face's load_balancing_loss_func returns k times this value.) 0 without
  /// tokens.
  Value balancing_loss() const;
  /// Router z-loss: the mean over the tokens of logsumexp(logits)^2, which keeps logits small (Zoph
  /// et al. 2022, "ST-MoE", eq. 5). 0 without tokens.
  Value z_loss() const;
};

/// Load-balancing loss of several layers, which must have the same numbers of experts and of
/// experts per token: k times the balancing loss of the tokens of all layers together (Hugging
/// Face's load_balancing_loss_func). `mask`, of any shape with one element per token and of any
/// numeric dtype, is the weight of each token, 0 for padding, in every layer. 0 if all tokens are
/// masked. Throws ArgumentError for an empty list or layers that differ.
Value joint_balancing_loss(const std::vector<Routing>& layers, OptionalArg mask = {},
                           SourceLocation loc = SourceLocation::current());

/// The parameters of a router: "<scope>.weight" [experts, width] and, with bias, "<scope>.bias"
/// [experts]. With correction also the buffer "<scope>.correction" [experts], which starts at 0.
struct Router {
  Linear logits;
  RouterOptions options;
  Variable correction = {};  // undefined without correction

  /// Routes x [tokens, width].
  Routing operator()(Value x, SourceLocation loc = SourceLocation::current()) const;
};

/// Declares the parameters. Throws ArgumentError unless 1 <= experts_per_token <= experts, the
/// groups have equal sizes (at least 2 for best_two), 1 <= groups_per_token <= groups, the groups
/// of a token have at least experts_per_token experts, the scale and the speed are finite, and the
/// jitter is in [0, 1).
Router make_router(const Scope& scope, DType dtype, std::int64_t width,
                   const RouterOptions& options = {},
                   SourceLocation loc = SourceLocation::current());

}  // namespace weft
