// Memory checks before allocation. Sizes that exceed the memory of the machine are reported as
// errors.
#pragma once

#include <string_view>

#include "weft/graph/ir/graph.h"
#include "weft/models/families/encoder_config.h"
#include "weft/models/families/encoder_decoder_config.h"
#include "weft/models/families/gpt_config.h"
#include "weft/models/families/image_text_config.h"
#include "weft/models/families/swin_config.h"
#include "weft/models/families/vit_config.h"

namespace weft::program {

/// Returns the number of bytes of memory available to this process: the memory and swap space of
/// the machine, or the limit of the control group or RLIMIT_AS if that is lower.
double machine_memory();

/// Throws UsageError if `bytes` exceeds machine_memory(). The message is "WHAT needs 59.6 GiB, but
/// only 15.6 GiB is available: REMEDY". `bytes` is a double, because products of sizes may overflow
/// an integer.
void check_memory(std::string_view what, double bytes, std::string_view remedy);

/// Returns the approximate number of parameters of a model. Only the large matrices, which
/// determine its size, are counted.
double estimated_parameters(const GptConfig& config);
double estimated_parameters(const EncoderConfig& config);
double estimated_parameters(const EncoderDecoderConfig& config);
double estimated_parameters(const VitConfig& config);
double estimated_parameters(const ImageTextConfig& config);
double estimated_parameters(const SwinConfig& config);

/// Throws UsageError if weights, gradients and the two moments of AdamW do not fit into memory.
void check_trainable_size(double parameters);

/// Sizes of the key/value caches during decoding: rows, ids per row, and, for an encoder-decoder,
/// ids of the source text. Layers with a window keep Generator::kPiece more ids than the window.
struct CacheSizes {
  double rows = 0, capacity = 0, source = 0;
  bool moved = false;  // beam search reorders rows, which needs two copies of growing caches
};
/// Returns the total size in bytes of all caches of a graph.
double cache_bytes(const Graph& graph, const CacheSizes& sizes);

}  // namespace weft::program
