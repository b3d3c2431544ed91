// What is asked for, beside what the machine has: said before memory is taken.
#pragma once

#include <string_view>

#include "weft/graph/ir/graph.h"
#include "weft/models/families/encoder_config.h"
#include "weft/models/families/encoder_decoder_config.h"
#include "weft/models/families/gpt_config.h"
#include "weft/models/families/vit_config.h"

namespace weft::program {

/// Bytes that this process could have: memory and swap of the machine, or less where its control
/// group or a limit of the shell says so.
double machine_memory();

/// UsageError where `bytes` are more than that: "WHAT takes 59.6 GiB, and there are 15.6 GiB:
/// CURE". A double, as products of sizes need not fit an integer.
void check_memory(std::string_view what, double bytes, std::string_view cure);

/// Parameters of a model, without its head and small change: what its size is decided by.
double estimated_parameters(const GptConfig& config);
double estimated_parameters(const EncoderConfig& config);
double estimated_parameters(const EncoderDecoderConfig& config);
double estimated_parameters(const VitConfig& config);

/// UsageError where weights, gradients and the two moments of AdamW do not fit.
void check_trainable_size(double parameters);

/// What caches are made for: rows, ids of each, and ids of the text that an encoder-decoder
/// answers.
struct CacheSizes {
  double rows = 0, capacity = 0, source = 0;
  bool moved = false;  // beams: where rows go on from others, all of them are there twice
};
/// Bytes of all caches of a graph.
double cache_bytes(const Graph& graph, const CacheSizes& sizes);

}  // namespace weft::program
