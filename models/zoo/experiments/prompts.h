// Tasks told by examples: a text is x_1 y_1 x_2 y_2 ..., where every y is the symbol some places
// after its x: 0 ("copy"), 1 ("+1") or more, the same number throughout a text. Nothing says which,
// and some of the examples are wrong; a decoder that only ever predicts the next symbol learns to
// find it out.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "weft/graph/run/session.h"
#include "weft/models/zoo/experiments/small_decoder.h"

namespace weft::zoo {

struct ShiftPrompts {
  std::int64_t symbols = 16;
  std::int64_t shifts = 8;     // 0 to shifts - 1, all as likely; symbols are a circle
  std::int64_t examples = 16;  // pairs of a text
  double wrong = 0.25;         // share of the examples whose y is any other symbol
};

struct PromptOptions {
  ShiftPrompts texts = {};
  SmallDecoder decoder = {.width = 64, .layers = 3, .heads = 4, .context = 64};
  std::int64_t batch = 64, steps = 3000;
  double learning_rate = 2e-3;
  std::uint64_t seed = 1;
  int threads = 0;
};

/// Shares of right answers by the number of examples before them. An answer is the likeliest y, and
/// right by the text's rule, also where the example itself is wrong.
struct PromptAccuracies {
  std::vector<double> copy, plus_one;  // in texts of these two tasks
  std::vector<double> all;             // in texts of all tasks
  std::vector<double> bayes;           // of the likeliest shift, by Bayes' rule: nothing is better
};

class PromptExperiment {
 public:
  explicit PromptExperiment(const PromptOptions& options);

  /// One step on new texts; returns its loss, the mean over all symbols.
  double train();
  /// Over `texts` new texts, rounded up to whole batches.
  PromptAccuracies evaluate(std::int64_t texts);

 private:
  PromptOptions options_;
  Graph graph_;
  Program draw_{"draw"}, draw_fresh_{"draw_fresh"}, train_{"train"}, evaluate_{"evaluate"};
  std::optional<Session> session_;
};

}  // namespace weft::zoo
