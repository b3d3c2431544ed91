// Trains several decoders on the same batches in turn, to compare their losses and speeds.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "weft/models/data/batching/token_batches.h"
#include "weft/models/families/gpt_config.h"
#include "weft/models/text/tokenizers/tokenizer.h"
#include "weft/models/training/settings.h"

namespace weft::zoo {

/// Returns a mixture of experts with the same number of active parameters as `dense`, apart from
/// the routers: in every layer, `chosen` of `experts` experts process a token, and the inner width
/// of an expert is the `chosen`-th part of the feed-forward block's, which must be divisible.
GptConfig mixture_of(const GptConfig& dense, std::int64_t experts, std::int64_t chosen);

struct ComparedModel {
  std::int64_t parameters = 0, active = 0;  // active: for one token
  double loss = 0;                          // on all held-out windows, after the last step
  double seconds = 0;                       // median duration of a training step
};

/// Trains a model for each config with the same settings, seed and batches, and evaluates it on the
/// validation part. The models take turns after every step, so that other programs on the machine
/// slow all of them down equally. `progress` is called after every step and may be empty.
std::vector<ComparedModel> compare_training(const std::vector<GptConfig>& configs,
                                            const TrainSettings& settings,
                                            const Tokenizer& tokenizer, const TextData& data,
                                            int threads,
                                            const std::function<void(std::int64_t)>& progress = {});

}  // namespace weft::zoo
