#include "weft/models/tasks/text_classification/presets.h"

#include <algorithm>

#include "weft/core/rounding.h"
#include "weft/models/tasks/common/encoder_presets.h"

namespace weft {
namespace {

constexpr std::int64_t kMembers = 8;

/// Few texts teach a large model their words by heart. What learns from them is nearly a linear
/// model at first: the vector of a word goes on without a norm, so that a word that says nothing
/// stays small; a convolution adds what a word means between its neighbours ("not good"); of every
/// feature the largest value counts (Kim 2014). Half of all features are dropped, and a fifth of
/// the words. Attention and positions have made it worse: they find ways to know few texts by
/// heart. Few texts leave open much of what a model becomes: eight that differ in how they start
/// and in how many words they see at once (1, 3 or 5) learn beside each other, and their mean errs
/// less than one does.
EncoderConfig text_mini() {
  EncoderConfig config = convolution_mini();
  config.context = 128;
  config.width = 64 * kMembers;
  config.conv_kernel = 5;
  config.conv_least_kernel = 1;
  config.conv_groups = kMembers;
  config.hidden_dropout = 0.5;
  config.attention_dropout = 0.1;
  return config;
}

/// The steps that so many texts take.
TrainSettings text_mini_training(std::int64_t texts, std::int64_t batch) {
  constexpr std::int64_t kPasses = 14, kLeastPasses = 3, kLeastSteps = 400, kMaxSteps = 12'800;
  const auto steps_of = [&](std::int64_t passes) { return divide_up(passes * texts, batch); };
  const std::int64_t steps =
      std::max({std::min(steps_of(kPasses), kMaxSteps), steps_of(kLeastPasses), kLeastSteps});
  return short_training(steps, batch, 2e-3, steps / 10);
}

}  // namespace

TrainSettings TextClassifierPreset::training_for(std::int64_t texts, std::int64_t batch) const {
  return steps_from_data ? text_mini_training(texts, batch) : training;
}

const std::vector<TextClassifierPreset>& text_classifier_presets() {
  static const std::vector<TextClassifierPreset> presets = {
      {{kFromTexts,
        "8 convolutions of width 64 that learn from these texts alone, as many steps as they need: "
        "about a minute for a few thousand sentences on two cores",
        text_mini(), text_mini_training(2400, 32)},
       {.summary = Summary::max,
        .lower_case = true,
        .word_dropout = 0.2,
        .by_length = true,
        .members = kMembers},
       true},
      {{kFromWeights, "3 layers of width 128: a minute or two on two cores", bert_mini(),
        short_training(220, 32, 5e-4, 55)}},
      {bert_base_fine_tuning(3e-5)},
  };
  return presets;
}

}  // namespace weft
