// The models that `weft bench` knows by name, with random weights and inputs, so that no files are
// needed.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "weft/graph/ir/program.h"
#include "weft/graph/run/results.h"

namespace weft::program {

/// A program over its own graph, with the inputs to feed.
struct BenchModel {
  std::unique_ptr<Graph> graph;
  Program program{"bench"};
  NamedTensors feeds;
  /// The items that one run processes: batch times tokens, or images.
  double items = 0;
  std::string item_name;  // "tokens" or "images"
};

inline constexpr std::int64_t kDefaultSeq = 256;

/// Returns one training step whose batch is divided into `shards` shards (a power of two): forward
/// without dropout, mean cross-entropy, backward, clipping to norm 1, AdamW. Throws UsageError for
/// an unknown name (and lists the known ones) or a `seq` that the model does not support.
BenchModel bench_training_step(std::string_view model, std::int64_t batch, std::int64_t seq,
                               int shards);

/// Returns the forward pass of a preset or a published model, with all its results (all logits of a
/// language model). A `seq` of 0 is kDefaultSeq. Throws UsageError for an unknown name, and for a
/// `seq` other than 0 if the model reads images.
BenchModel bench_forward_pass(std::string_view model, std::int64_t batch, std::int64_t seq);

/// Returns a step that decodes one token per row with a key/value cache. The inputs are "tokens"
/// (i32 [batch, new]) and "position" (i64 scalar), the output is "logits"; the symbol "capacity" is
/// the size of the caches. `feeds` is empty.
BenchModel bench_decoding_step(std::string_view model, std::int64_t batch, std::int64_t capacity);

/// Returns pseudo-random i32 ids in [0, vocab), which are the same in every run of the program.
Tensor bench_ids(const Sizes& sizes, std::int64_t vocab, std::uint64_t seed);

}  // namespace weft::program
