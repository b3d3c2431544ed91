// Prediction of the time and memory of a training step on several ranks, calculated from a plan.
#pragma once

namespace weft::program {

/// The network between ranks. All ranks can send and receive at this bandwidth simultaneously.
struct Network {
  double bytes_per_second = 1.25e9;  // 10 Gbit/s
  double latency = 50e-6;            // seconds from send to arrival
};

/// The cost of one shard of a training step, and of the parameter update after all shards.
struct StepCost {
  double shard_flops = 0;
  double step_flops = 0;       // all updates
  double parameter_bytes = 0;  // trainable parameters; their gradients have the same size
  double table_bytes = 0;      // part of parameter_bytes: embedding tables, which are read first
  /// Part of table_bytes: tables that are used only for lookups. Their gradients complete last.
  double rows_bytes = 0;
  double frozen_bytes = 0;
  double state_bytes = 0;  // optimizer state
  double sum_bytes = 0;    // gradients, summed over the shards
  double early_bytes = 0;  // part of sum_bytes: early versions, sent before the sums are complete
  double arena_bytes = 0;  // working memory of a shard, without its sums
};

struct StepPrediction {
  int shards_of_busiest = 1;  // number of shards on the rank with the most shards
  double bytes_sent = 0;      // per rank
  // In seconds. `hidden` is the part of `communicate` that overlaps with the computation of shards.
  double compute = 0, communicate = 0, hidden = 0;
  double seconds() const { return compute + communicate - hidden; }
  // In bytes, for the rank that needs the most memory.
  double parameters = 0, state = 0, sums = 0, arena = 0;
  double bytes() const { return parameters + state + sums + arena; }
};

/// The values that differ from StepPrediction if sums are owned (GradientSums::owned).
struct OwnedSumsPrediction {
  double bytes_sent = 0;  // per rank
  double sums = 0;        // bytes, per rank
};

/// Returns the maximum over all ranks of the memory (in bytes) for sums over shards. The step sums
/// gradients of `sum_bytes` bytes. For `early_bytes` of these, early versions are sent before the
/// sums are complete.
double sums_of_rank(double sum_bytes, double early_bytes, int ranks, int shards);

/// As above, if sums are owned (GradientSums::owned) and sent in buckets of `bucket_bytes` bytes.
double owned_sums_of_rank(double sum_bytes, double bucket_bytes, int ranks, int shards);

/// Predicts a step with `shards` shards on `ranks` ranks that each compute `flops` FLOP/s. The
/// ranks exchange the gradient sums and then the parameters. If the number of ranks W is a power of
/// two, each rank sends (W - 1) / W of both. Otherwise the shards of a rank do not form one
/// complete subtree, and the sums of all its subtrees are sent. Gradient sums are sent during the
/// backward pass of the last shard, which is two thirds of its work. The exceptions are embeddings
/// that are used only for lookups. Parameters, except all embeddings, are sent during the forward
/// pass of the first shard of the next step. The CPU time for moving bytes is not counted.
StepPrediction predict_step(const StepCost& cost, int ranks, int shards, double flops,
                            const Network& network);
/// Predicts a step with owned sums. `ranks` must be a power of two. Assumes the default bucket size
/// of SessionOptions.
OwnedSumsPrediction predict_owned_sums(const StepCost& cost, int ranks, int shards);

}  // namespace weft::program
