// Induction heads (Elhage et al. 2021; Olsson et al. 2022): a decoder of two layers of attention
// and nothing else reads random blocks that repeat. What follows a token can be known only from
// what followed it before, and a head of the second layer learns to look there.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "weft/graph/run/session.h"
#include "weft/models/zoo/experiments/small_decoder.h"

namespace weft::zoo {

/// A text is a block of different random tokens, again and again; each has a block and a period of
/// its own, so that no fixed distance says where to look.
struct RepeatedBlocks {
  std::int64_t vocab = 64, length = 48;
  std::int64_t shortest = 8, longest = 20;  // periods; at most length and vocab
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

/// A number for each head of each layer.
using HeadScores = std::vector<std::vector<double>>;

struct InductionFigures {
  double first = 0;     // loss where a token stands for the first time, or the second block begins
  double repeated = 0;  // loss of all later tokens, which are known
  HeadScores induction = {};  // mean attention from a token to those that came after it before
  HeadScores previous = {};   // mean attention from a token to the one before it
};

class InductionExperiment {
 public:
  explicit InductionExperiment(const InductionOptions& options);

  /// One step on new texts; returns its loss.
  double train();
  /// Over new texts.
  InductionFigures evaluate();

  /// A text and what each head looks at in it.
  struct Map {
    std::int64_t period = 0;                       // of the text
    std::vector<std::vector<Tensor>> layers = {};  // of every layer those of its heads, f32
                                                   // [length, length]: a query's row sums to 1
  };
  Map map();

 private:
  InductionOptions options_;
  Graph graph_;
  Program draw_{"draw"}, draw_fresh_{"draw_fresh"}, train_{"train"}, evaluate_{"evaluate"},
      look_{"look"};
  std::optional<Session> session_;
};

}  // namespace weft::zoo
