#include "weft/models/tasks/text_classification/presets.h"

#include <algorithm>

#include "weft/core/rounding.h"
#include "weft/models/tasks/common/encoder_presets.h"

namespace weft {
namespace {

constexpr std::int64_t kMembers = 8;

/// Returns the config for training from scratch on a small data set, which a large model would
/// memorise. The model is nearly linear at the start of training: word embeddings are not
/// normalised, so that uninformative words keep small values. A convolution models words in the
/// context of their neighbours ("not good"), followed by max pooling over the tokens (Kim 2014).
/// Half of the features and a fifth of the words are dropped. Attention and position embeddings
/// reduced the accuracy, because they make it easier to memorise a small data set. With few
/// training texts, results depend strongly on the initial weights. Therefore, eight members with
/// different initial weights and kernel sizes (1, 3 or 5 words) are trained in parallel; their mean
/// has a lower error than a single member.
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

/// Returns the settings for `texts` training texts.
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
        "8 convolutional models, width 64, trained from scratch; the number of steps depends on "
        "the data: about a minute for a few thousand sentences on two cores",
        text_mini(), text_mini_training(2400, 32)},
       {.summary = Summary::max,
        .lower_case = true,
        .word_dropout = 0.2,
        .by_length = true,
        .members = kMembers},
       true},
      {{kFromWeights, "3 layers, width 128; trains in a minute or two on two cores", bert_mini(),
        short_training(220, 32, 5e-4, 55)}},
      {bert_base_fine_tuning(3e-5)},
  };
  return presets;
}

}  // namespace weft
