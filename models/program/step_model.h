// How long a training step takes on several ranks, and what it costs each: arithmetic, from a plan.
#pragma once

#include <cstddef>

namespace weft::program {

/// What connects ranks: every rank sends and receives at this speed, all at once.
struct Network {
  double bytes_per_second = 1.25e9;  // 10 Gbit/s
  double latency = 50e-6;            // seconds from a send to its arrival
};

/// Of one shard of a training step, and of the step behind all shards.
struct StepCost {
  double shard_flops = 0;
  double step_flops = 0;       // of all updates
  double parameter_bytes = 0;  // that are trained: gradients are as many
  double table_bytes = 0;      // of these: embeddings, read first
  double rows_bytes = 0;       // of these: gradients that are nothing but rows, complete last
  double frozen_bytes = 0;
  double state_bytes = 0;  // of the optimizer
  double sum_bytes = 0;    // that are added up over the shards: the gradients
  double early_bytes = 0;  // of these: what is sent before it is complete
  double arena_bytes = 0;  // while a shard runs, besides its sums
};

struct StepPrediction {
  int shards_of_busiest = 1;  // that the rank with most shards computes
  double bytes_sent = 0;      // per rank
  // Seconds; of what is sent a part while shards are computed:
  double compute = 0, communicate = 0, hidden = 0;
  double seconds() const { return compute + communicate - hidden; }
  // Bytes, of the rank that needs most:
  double parameters = 0, state = 0, sums = 0, arena = 0;
  double bytes() const { return parameters + state + sums + arena; }
};

/// What changes where sums are owned (GradientSums).
struct OwnedSumsPrediction {
  double bytes_sent = 0;  // per rank
  double sums = 0;        // bytes, of a rank
};

/// Bytes for sums over shards, on the rank that needs most, of a step that adds up `sum_bytes`, and
/// sends `early_bytes` of them before they are complete.
double sums_of_rank(double sum_bytes, double early_bytes, int ranks, int shards);

/// The same where sums are owned (GradientSums), and sent in buckets of so many bytes.
double owned_sums_of_rank(double sum_bytes, double bucket_bytes, int ranks, int shards);

/// A step of `shards` shards on `ranks` ranks that compute `flops` FLOP/s each. Ranks exchange the
/// sums of gradients, then parameters: (W - 1) / W of each, where W is a power of two; elsewhere
/// the shards of a rank are no whole subtree, and every part of it is sent. Sums are sent during
/// the backward pass of the last shard, which is two thirds of its work, but for those of
/// embeddings that nothing else reads; parameters during the forward pass of the next step's first
/// one, but for all embeddings. The core's time that moving bytes takes is not counted.
StepPrediction predict_step(const StepCost& cost, int ranks, int shards, double flops,
                            const Network& network);
/// `ranks` is a power of two. With buckets of the size that SessionOptions has by default.
OwnedSumsPrediction predict_owned_sums(const StepCost& cost, int ranks, int shards);

}  // namespace weft::program
