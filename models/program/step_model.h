// Prediction of the time and memory of a training step on several ranks, calculated from a plan.
#pragma once

#include <cstddef>

namespace weft::program {

/// The network between ranks. Every rank sends and receives at this speed, all at the same time.
struct Network {
  double bytes_per_second = 1.25e9;  // 10 Gbit/s
  double latency = 50e-6;            // seconds from a send to its arrival
};

/// The cost of one shard of a training step, and of the update after all shards.
struct StepCost {
  double shard_flops = 0;
  double step_flops = 0;       // all updates
  double parameter_bytes = 0;  // trainable parameters; their gradients are of the same size
  double table_bytes = 0;      // of these: embedding tables, read first
  double rows_bytes = 0;       // of these: tables that are only looked up; gradients complete last
  double frozen_bytes = 0;
  double state_bytes = 0;  // optimizer state
  double sum_bytes = 0;    // gradients, summed over the shards
  double early_bytes = 0;  // of these: early versions, sent before the sums are complete
  double arena_bytes = 0;  // working memory of a shard, without its sums
};

struct StepPrediction {
  int shards_of_busiest = 1;  // shards of the rank that computes the most
  double bytes_sent = 0;      // per rank
  // In seconds; `hidden` is the part of `communicate` that overlaps with computing shards:
  double compute = 0, communicate = 0, hidden = 0;
  double seconds() const { return compute + communicate - hidden; }
  // In bytes, for the rank that needs the most:
  double parameters = 0, state = 0, sums = 0, arena = 0;
  double bytes() const { return parameters + state + sums + arena; }
};

/// The differences if sums are owned (GradientSums::owned).
struct OwnedSumsPrediction {
  double bytes_sent = 0;  // per rank
  double sums = 0;        // bytes, per rank
};

/// Returns the bytes for sums over shards on the rank that needs the most, for a step that sums
/// `sum_bytes` and sends early versions of `early_bytes` of them before they are complete.
double sums_of_rank(double sum_bytes, double early_bytes, int ranks, int shards);

/// As above, if sums are owned (GradientSums::owned) and sent in buckets of `bucket_bytes`.
double owned_sums_of_rank(double sum_bytes, double bucket_bytes, int ranks, int shards);

/// Predicts a step of `shards` shards on `ranks` ranks that compute `flops` FLOP/s each. Ranks
/// exchange the sums of gradients, then parameters: (W - 1) / W of each if W, the number of ranks,
/// is a power of two. Otherwise the shards of a rank do not form one complete subtree, and the sums
/// of all its subtrees are sent. Sums are sent during the backward pass of the last shard, which is
/// two thirds of its work, except those of embeddings that nothing else reads. Parameters are sent
/// during the forward pass of the first shard of the next step, except all embeddings. The CPU time
/// for moving bytes is not counted.
StepPrediction predict_step(const StepCost& cost, int ranks, int shards, double flops,
                            const Network& network);
/// Predicts a step with owned sums. `ranks` must be a power of two. Assumes the default bucket size
/// of SessionOptions.
OwnedSumsPrediction predict_owned_sums(const StepCost& cost, int ranks, int shards);

}  // namespace weft::program
