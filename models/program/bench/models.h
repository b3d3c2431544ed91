// Models for `weft bench`, selected by name. Weights and inputs are random, so that no files are
// needed.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "weft/graph/engine/results.h"
#include "weft/graph/ir/program.h"

namespace weft::program {

/// A program with its own graph, and the inputs to feed.
struct BenchModel {
  std::unique_ptr<Graph> graph;
  Program program{"bench"};
  NamedTensors feeds;
  /// The number of items that one run processes: batch size x tokens per row, or images.
  double items = 0;
  std::string item_name;  // "tokens" or "images"
};

inline constexpr std::int64_t kDefaultSeq = 256;

/// Returns one training step with a batch that is divided into `shards` shards (a power of two).
/// The step consists of a forward pass without dropout, mean cross-entropy, a backward pass,
/// gradient clipping to norm 1, and AdamW. Throws UsageError if the name is unknown (with a list of
/// the valid names) or if the model does not support `seq`.
BenchModel bench_training_step(std::string_view model, std::int64_t batch, std::int64_t seq,
                               int shards);

/// Returns the forward pass of a preset or a published model, with all its results (for a language
/// model, the logits of all positions). A `seq` of 0 means kDefaultSeq. Throws UsageError if the
/// name is unknown, or if the model reads images and `seq` is not 0.
BenchModel bench_forward_pass(std::string_view model, std::int64_t batch, std::int64_t seq);

/// Returns a step that decodes one token per row with a key/value cache. The inputs are "tokens"
/// (i32 [batch, new]) and "position" (i64 scalar). The output is "logits". The symbol "capacity" is
/// the size of the caches. `feeds` is empty.
BenchModel bench_decoding_step(std::string_view model, std::int64_t batch, std::int64_t capacity);

/// Returns pseudo-random i32 ids in [0, vocab). They depend only on the arguments.
Tensor bench_ids(const Sizes& sizes, std::int64_t vocab, std::uint64_t seed);

}  // namespace weft::program
