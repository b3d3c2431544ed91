// TrainSettings: everything that decides the numbers of a training run, besides model and text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/models/families/gpt_config.h"
#include "weft/ops/precision.h"

namespace weft {

// For JSON.
inline std::string_view field_name(Precision p) { return precision_name(p); }
inline void parse_field(std::string_view name, Precision& p) { p = parse_precision(name); }

/// How a language model is trained: AdamW, warm-up and cosine decay to min_lr at the last step.
struct TrainSettings {
  std::int64_t steps = 2000;
  std::int64_t batch = 12;  // windows per step; a window has the model's context
  double lr = 1e-3;
  double min_lr = 1e-4;
  std::int64_t warmup = 100;  // steps of linear warm-up
  double beta1 = 0.9;
  double beta2 = 0.99;
  double weight_decay = 0.1;  // of parameters with two or more axes
  double clip = 1.0;          // of the global gradient norm; 0 = never
  double validation_fraction = 0.1;
  std::uint64_t seed = 1337;
  Precision precision = Precision::highest;  // of matrix products
  std::int64_t eval_every = 250;             // steps between evaluations; 0 = only at the end
  /// Batches of a periodic evaluation, spread evenly over the validation part; 0 = all of them. The
  /// final validation loss always covers the whole part.
  std::int64_t eval_batches = 20;
  std::int64_t save_every = 500;  // steps between checkpoints; 0 = only at the end

  /// Throws ArgumentError naming the field, its value and what is allowed.
  void check() const;
  std::string to_json() const;
  /// Throws FormatError for a missing, unknown or wrongly typed field, ArgumentError as check().
  static TrainSettings from_json(std::string_view json);
  friend bool operator==(const TrainSettings&, const TrainSettings&) = default;
};

/// Losses so far: what the loss curve shows. Travels with checkpoints.
struct TrainHistory {
  std::vector<std::pair<std::int64_t, double>> train;       // (step, loss) of every step
  std::vector<std::pair<std::int64_t, double>> validation;  // (step, loss) of every evaluation

  std::string to_json() const;
  /// Throws FormatError.
  static TrainHistory from_json(std::string_view json);
  /// The loss curve as an SVG document.
  std::string svg(std::string_view title) const;
};

/// A model and how to train it, under a name.
struct GptPreset {
  std::string name;
  std::string about;  // one line
  GptConfig model;
  TrainSettings training;
};

/// char-small, nanogpt-cpu, nanogpt-baby, gpt2. The vocabulary is set by the text.
const std::vector<GptPreset>& gpt_presets();
/// Throws ArgumentError that lists the presets.
const GptPreset& find_gpt_preset(std::string_view name);

}  // namespace weft
