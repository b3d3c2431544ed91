// Routers of mixtures of experts: they choose the experts of each token and their weights.
#pragma once

#include <cstdint>

#include "weft/models/layers/linear.h"

namespace WEFT_API weft {

/// The function that turns router logits into scores.
enum class RouterScores : std::uint8_t {
  softmax,  // over all experts
  sigmoid,  // of each expert separately
};

struct RouterOptions {
  std::int64_t experts = 8;
  /// The number of experts per token, k: those with the largest scores. If scores are equal, the
  /// expert with the smaller index is chosen.
  std::int64_t experts_per_token = 2;
  RouterScores scores = RouterScores::softmax;
  /// Divides the k scores of a token by their sum, so that its weights sum to 1.
  bool normalize_weights = true;
};

/// The experts of each token.
struct Routing {
  Value logits;   // [tokens, experts]
  Value scores;   // [tokens, experts]
  Value experts;  // i64 [tokens, k]: in descending order of their scores
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

/// The parameters of a router: "<scope>.weight" [experts, width].
struct Router {
  Linear logits;
  RouterOptions options;

  /// Routes x [tokens, width].
  Routing operator()(Value x, SourceLocation loc = SourceLocation::current()) const;
};

/// Declares the parameters. Throws ArgumentError unless 1 <= experts_per_token <= experts.
Router make_router(const Scope& scope, DType dtype, std::int64_t width,
                   const RouterOptions& options = {},
                   SourceLocation loc = SourceLocation::current());

}  // namespace weft
