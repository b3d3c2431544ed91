#include "weft/graph/distributed/stage_rows.h"

#include <cstring>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>

#include "weft/core/world/exchange.h"
#include "weft/core/world/gradient_sums.h"

namespace weft {
namespace {

constexpr int kRowsChannel = 4;

}  // namespace

StageRows::StageRows(const ShardedProgram::Stage& stage, World world, int shards, bool in_turns)
    : stage_(stage), world_(std::move(world)), own_(stage.rows.size()) {
  int next = 0;
  for (int rank = 0; rank < world_.size(); ++rank) {
    const ShardRun run = shards_of_rank(rank, world_.size(), shards, in_turns);
    std::vector<int>& of_rank = shards_.emplace_back();
    for (int i = 0; i < run.size(); ++i) {
      of_rank.push_back(run.shard(i));
      sorted_ = sorted_ && run.shard(i) == next++;
    }
  }
}

void StageRows::add(const Results& results) {
  for (std::size_t i = 0; i < own_.size(); ++i)
    own_[i].push_back(results[shard_names::rows(stage_.rows[i])]);
}

// Returns the row counts of each concat.
std::vector<StageRows::Counts> StageRows::counts() const {
  Counts own;
  std::size_t all = 0;
  for (const std::vector<Tensor>& of_shards : own_) {
    for (const Tensor& t : of_shards) own.push_back(t.size(0));
  }
  for (const std::vector<int>& of_rank : shards_) all += of_rank.size();
  std::vector<Counts> result(own_.size(), Counts(all));
  const std::vector<std::string> texts =
      world_.gather({reinterpret_cast<const char*>(own.data()), own.size() * sizeof(own[0])});
  for (std::size_t rank = 0; rank < texts.size(); ++rank) {
    const char* next =
        texts[rank].data();  // all ranks run the same program, so the layout is the same
    for (Counts& rows : result) {
      for (const int shard : shards_[rank]) {
        std::memcpy(&rows[static_cast<std::size_t>(shard)], next, sizeof(std::int64_t));
        next += sizeof(std::int64_t);
      }
    }
  }
  return result;
}

// Fills `by_rank` with the rows of all ranks, concatenated in rank order.
void StageRows::send_own(std::size_t concat, const Counts& rows, Tensor& by_rank) {
  Sizes sizes = by_rank.sizes();
  Blocks blocks;
  std::byte* at = by_rank.mutable_raw();
  for (const std::vector<int>& of_rank : shards_) {
    sizes[0] = 0;
    for (const int shard : of_rank) sizes[0] += rows[static_cast<std::size_t>(shard)];
    blocks.emplace_back(at, tensor_bytes(by_rank.dtype(), sizes));
    at += blocks.back().size();
  }
  std::byte* own = blocks[static_cast<std::size_t>(world_.rank())].data();
  for (const Tensor& t : own_[concat]) {
    if (t.bytes() > 0) std::memcpy(own, t.raw(), t.bytes());
    own += t.bytes();
  }
  own_[concat].clear();
  if (world_.size() > 1) all_gather(world_, kRowsChannel, blocks);
}

Tensor StageRows::in_order_of_shards(const Tensor& by_rank, const Counts& rows) const {
  Tensor result = Tensor::empty(by_rank.dtype(), by_rank.sizes());
  Sizes one = by_rank.sizes();
  one[0] = 1;
  const std::size_t row = tensor_bytes(by_rank.dtype(), one);
  std::vector<std::size_t> begin(rows.size() + 1);  // first byte of each shard
  for (std::size_t s = 0; s < rows.size(); ++s)
    begin[s + 1] = begin[s] + static_cast<std::size_t>(rows[s]) * row;
  const std::byte* next = by_rank.raw();
  for (const std::vector<int>& of_rank : shards_) {
    for (const int shard : of_rank) {
      const auto s = static_cast<std::size_t>(shard);
      const std::size_t bytes = begin[s + 1] - begin[s];
      if (bytes > 0) std::memcpy(result.mutable_raw() + begin[s], next, bytes);
      next += bytes;
    }
  }
  return result;
}

NamedTensors StageRows::gather_all() {
  NamedTensors result;
  if (own_.empty()) return result;
  const std::vector<Counts> rows = counts();
  for (std::size_t i = 0; i < own_.size(); ++i) {
    const Tensor& like = own_[i].at(0);
    Sizes sizes = like.sizes();
    sizes[0] = std::accumulate(rows[i].begin(), rows[i].end(), std::int64_t{0});
    Tensor all = Tensor::empty(like.dtype(), sizes);
    send_own(i, rows[i], all);
    if (!sorted_) all = in_order_of_shards(all, rows[i]);
    result.emplace_back(shard_names::rows(stage_.rows[i]), std::move(all));
  }
  return result;
}

}  // namespace weft
