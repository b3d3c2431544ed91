// Experiment on induction heads (Elhage et al. 2021; Olsson et al. 2022). A decoder with two
// attention layers and no feed-forward layers is trained on texts in which a random block of tokens
// repeats. The next token can be predicted only by looking up the token that followed the previous
// occurrence of the current token. A head of the second layer learns to attend to this token.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "weft/graph/run/session.h"
#include "weft/models/zoo/experiments/small_decoder.h"

namespace weft::zoo {

/// Texts that repeat a block of distinct random tokens. Every text has a different block and a
/// different block length (period), so that attending to a fixed distance does not solve the task.
struct RepeatedBlocks {
  std::int64_t vocab = 64, length = 48;
  /// The range of the period, which must not exceed `length` and `vocab`.
  std::int64_t shortest = 8, longest = 20;
};

struct InductionOptions {
  RepeatedBlocks texts = {};
  SmallDecoder decoder = {
      .width = 64, .layers = 2, .heads = 4, .feed_forward = false, .rotary = true};
  std::int64_t batch = 64, steps = 1000;
  double learning_rate = 2e-3;
  std::uint64_t seed = 1;
  int threads = 0;
};

/// A score for every head of every layer: [layer][head].
using HeadScores = std::vector<std::vector<double>>;

struct InductionFigures {
  /// Mean loss of the unpredictable tokens, which are the tokens of the first block and the first
  /// token of the second block.
  double first = 0;
  /// Mean loss of all later tokens. These tokens can be predicted.
  double repeated = 0;
  /// Mean attention from a token to the tokens that followed its previous occurrences.
  HeadScores induction = {};
  /// Mean attention from a token to the preceding token.
  HeadScores previous = {};
};

class InductionExperiment {
 public:
  explicit InductionExperiment(const InductionOptions& options);

  /// Runs one training step on new texts and returns its loss.
  double train();
  /// Evaluates the decoder on new texts.
  InductionFigures evaluate();

  /// The attention of all heads in a single text.
  struct Map {
    std::int64_t period = 0;  // period of the text
    /// Attention probabilities as [layer][head], each f32 [length, length]. Each row belongs to a
    /// query and sums to 1.
    std::vector<std::vector<Tensor>> layers = {};
  };
  /// Generates a new text and returns the attention of all heads.
  Map map();

 private:
  InductionOptions options_;
  Graph graph_;
  Program draw_{"draw"}, draw_fresh_{"draw_fresh"}, train_{"train"}, evaluate_{"evaluate"},
      attention_{"look"};
  std::optional<Session> session_;
};

}  // namespace weft::zoo
