#include "weft/models/program/limits/step_model.h"

#include <algorithm>

#include "weft/core/world/shard_tree.h"
#include "weft/graph/distributed/gradient_sums.h"
#include "weft/graph/run/session.h"

namespace weft::program {
namespace {

/// Subtrees of gradient sums. A rank sends its subtree sums to every owner, and an owner receives
/// the subtree sums of all other ranks.
struct SubtreesOfRanks {
  SubtreesOfRanks(int of_ranks, int shards) : ranks(of_ranks) {
    double all = 0, least_sent = shards;
    for (int r = 0; r < ranks; ++r) {
      const ShardRun run = contiguous_shards(r, ranks, shards);
      most_kept = std::max(most_kept, max_live_sums(run));
      const auto subtrees = static_cast<double>(subtrees_of(run).size());
      shards_of_busiest = std::max(shards_of_busiest, run.size());
      most_sent = std::max(most_sent, subtrees);
      least_sent = std::min(least_sent, subtrees);
      all += subtrees;
    }
    most_received = all - least_sent;
  }
  /// See sums_of_rank().
  double sums(double sum_bytes, double early_bytes) const {
    // Sums that wait for their sibling in the tree, and sums that an owner receives.
    const double all = sum_bytes * (most_kept + most_received / ranks);
    if (ranks == 1) return all;
    // The early versions of the sums, and the copies of these early versions to which the sums of
    // other shards are added.
    return all + early_bytes * (shards_of_busiest > 1 ? 2 : 1);
  }
  int ranks, shards_of_busiest = 1, most_kept = 1;
  double most_sent = 1, most_received = 0;
};

}  // namespace

double sums_of_rank(double sum_bytes, double early_bytes, int ranks, int shards) {
  return SubtreesOfRanks(ranks, shards).sums(sum_bytes, early_bytes);
}

double owned_sums_of_rank(double sum_bytes, double bucket_bytes, int ranks, int shards) {
  const double share = sum_bytes / ranks;
  const double totals =
      share * max_live_sums({0, shards / ranks});  // sums that wait for later shards
  // Buckets in flight, and the bucket that is being filled.
  const double open = std::min(sum_bytes, bucket_bytes * (kMaxOpenBuckets + 1));
  return totals + open + open / ranks * (ranks - 1);  // own and received buckets
}

StepPrediction predict_step(const StepCost& cost, int ranks, int shards, double flops,
                            const Network& network) {
  check_shards(shards, ranks);
  StepPrediction result;
  const SubtreesOfRanks subtrees(ranks, shards);
  result.shards_of_busiest = subtrees.shards_of_busiest;
  const double w = ranks, share = cost.parameter_bytes / w, others = w - 1;
  result.bytes_sent = share * others * subtrees.most_sent + share * others;
  result.compute = (cost.shard_flops * result.shards_of_busiest + cost.step_flops / w) / flops;
  if (ranks > 1) {
    const double sums = share * std::max(others * subtrees.most_sent, subtrees.most_received);
    const double send_sums = sums / network.bytes_per_second + network.latency;
    const double send_parameters = share * others / network.bytes_per_second + network.latency;
    result.communicate = send_sums + send_parameters;
    const double forward = cost.shard_flops / flops / 3;
    const auto without = [&](double bytes) {
      return cost.parameter_bytes > 0 ? 1 - bytes / cost.parameter_bytes : 1;
    };
    result.hidden = std::min(without(cost.rows_bytes) * send_sums, 2 * forward) +
                    std::min(without(cost.table_bytes) * send_parameters, forward);
  }
  result.parameters = cost.parameter_bytes + cost.frozen_bytes;
  result.state = cost.state_bytes / w;
  result.sums = subtrees.sums(cost.sum_bytes, cost.early_bytes);
  // A rank holds its partition of the new parameters until all ranks have received it.
  result.arena = cost.arena_bytes + (ranks > 1 ? share : 0);
  return result;
}

OwnedSumsPrediction predict_owned_sums(const StepCost& cost, int ranks, int shards) {
  const double to_others = cost.parameter_bytes / ranks * (ranks - 1);
  const auto bucket = static_cast<double>(SessionOptions{}.bucket_bytes);
  return {.bytes_sent = to_others * (shards / ranks) + to_others,
          .sums = owned_sums_of_rank(cost.sum_bytes, bucket, ranks, shards)};
}

}  // namespace weft::program
