// In-context learning of tasks from examples. A text is x_1 y_1 x_2 y_2 ..., and every y is the
// symbol `shift` positions after its x in the alphabet. The shift is 0 ("copy"), 1 ("+1") or more,
// and it is the same throughout a text. The shift is not given, and some of the examples are wrong.
// A decoder that is trained only to predict the next symbol learns to infer the shift from the
// examples.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "weft/graph/run/session.h"
#include "weft/models/zoo/experiments/small_decoder.h"

namespace weft::zoo {

struct ShiftPrompts {
  std::int64_t symbols = 16;
  std::int64_t shifts = 8;     // shifts 0 to shifts - 1, equally likely, modulo `symbols`
  std::int64_t examples = 16;  // pairs per text
  double wrong = 0.25;         // fraction of the examples in which y is a different symbol
};

struct PromptOptions {
  ShiftPrompts texts = {};
  SmallDecoder decoder = {.width = 64, .layers = 3, .heads = 4, .context = 64};
  std::int64_t batch = 64, steps = 3000;
  double learning_rate = 2e-3;
  std::uint64_t seed = 1;
  int threads = 0;
};

/// Accuracies by the number of preceding examples. The answer is the most likely y. It is correct
/// if it equals x plus the shift of the text, even if the example in the text is wrong.
struct PromptAccuracies {
  std::vector<double> copy, plus_one;  // accuracy in texts of these two tasks
  std::vector<double> all;             // accuracy in texts of all tasks
  std::vector<double> bayes;           // accuracy of Bayes' rule in all texts, an upper bound
};

class PromptExperiment {
 public:
  explicit PromptExperiment(const PromptOptions& options);

  /// Runs one training step on new texts and returns its loss, which is the mean over all symbols.
  double train();
  /// Evaluates the decoder on `texts` new texts, rounded up to whole batches.
  PromptAccuracies evaluate(std::int64_t texts);

 private:
  PromptOptions options_;
  Graph graph_;
  Program draw_{"draw"}, draw_fresh_{"draw_fresh"}, train_{"train"}, evaluate_{"evaluate"};
  std::optional<Session> session_;
};

}  // namespace weft::zoo
