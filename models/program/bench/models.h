// The models that `weft bench` knows by name, with random weights and inputs: no files are needed.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "weft/graph/ir/program.h"
#include "weft/graph/run/results.h"

namespace weft::program {

/// A program over a graph of its own, and what to feed it.
struct BenchModel {
  std::unique_ptr<Graph> graph;
  Program program{"bench"};
  NamedTensors feeds;
  /// What one run works on: batch times tokens, or images.
  double items = 0;
  std::string item_name;  // "tokens" or "images"
};

inline constexpr std::int64_t kDefaultSeq = 256;

/// One training step, its batch cut into so many shards (a power of two): forward without dropout,
/// mean cross-entropy, backward, clipping to norm 1, AdamW. Throws UsageError for a name that is
/// not known (it lists those that are) or a `seq` that the model cannot take.
BenchModel bench_training_step(std::string_view model, std::int64_t batch, std::int64_t seq,
                               int shards);

/// The forward pass with all its results (all logits of a language model), of a preset or of a
/// published model. A `seq` of 0 is kDefaultSeq; one that is given for images is a UsageError.
BenchModel bench_forward_pass(std::string_view model, std::int64_t batch, std::int64_t seq);

/// One step of decoding a token per row with a key/value cache. Inputs "tokens" (i32 [batch, new])
/// and "position" (i64 scalar), output "logits"; the symbol "capacity" is the size of the caches.
/// `feeds` stays empty.
BenchModel bench_decoding_step(std::string_view model, std::int64_t batch, std::int64_t capacity);

/// i32 ids in [0, vocab), the same in every run of the program.
Tensor bench_ids(const Sizes& sizes, std::int64_t vocab, std::uint64_t seed);

}  // namespace weft::program
