#include "weft/graph/run/shard_rows.h"

#include <cstring>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>

#include "weft/core/world/exchange.h"

namespace weft {
namespace {

constexpr int kRowsChannel = 4;

}  // namespace

StageRows::StageRows(const ShardedProgram::Stage& stage, World world)
    : stage_(stage), world_(std::move(world)), own_(stage.rows.size()) {}

void StageRows::add(const Results& results) {
  for (std::size_t i = 0; i < own_.size(); ++i)
    own_[i].push_back(results[shard_names::rows(stage_.rows[i])]);
}

// How many rows each rank has, by concat.
std::vector<std::vector<std::int64_t>> StageRows::counts() const {
  std::vector<std::int64_t> own;
  for (const std::vector<Tensor>& of_shards : own_) {
    own.push_back(0);
    for (const Tensor& t : of_shards) own.back() += t.size(0);
  }
  const std::string_view text(reinterpret_cast<const char*>(own.data()),
                              own.size() * sizeof(own[0]));
  std::vector<std::vector<std::int64_t>> result(own.size());
  for (const std::string& of_rank : world_.gather(text)) {
    std::vector<std::int64_t> rows(own.size());
    std::memcpy(rows.data(), of_rank.data(), text.size());  // all ranks have the same program
    for (std::size_t i = 0; i < rows.size(); ++i) result[i].push_back(rows[i]);
  }
  return result;
}

NamedTensors StageRows::of_all() {
  NamedTensors result;
  if (own_.empty()) return result;
  const std::vector<std::vector<std::int64_t>> rows = counts();
  for (std::size_t i = 0; i < own_.size(); ++i) {
    const Tensor& like = own_[i].at(0);
    Sizes sizes = like.sizes();
    sizes[0] = std::accumulate(rows[i].begin(), rows[i].end(), std::int64_t{0});
    Tensor all = Tensor::empty(like.dtype(), sizes);
    Blocks blocks;
    std::byte* at = all.mutable_raw();
    for (const std::int64_t n : rows[i]) {
      sizes[0] = n;
      blocks.emplace_back(at, tensor_bytes(like.dtype(), sizes));
      at += blocks.back().size();
    }
    std::byte* own = blocks[static_cast<std::size_t>(world_.rank())].data();
    for (const Tensor& t : own_[i]) {
      if (t.bytes() > 0) std::memcpy(own, t.raw(), t.bytes());
      own += t.bytes();
    }
    own_[i].clear();
    if (world_.size() > 1) all_gather(world_, kRowsChannel, blocks);
    result.emplace_back(shard_names::rows(stage_.rows[i]), std::move(all));
  }
  return result;
}

}  // namespace weft
