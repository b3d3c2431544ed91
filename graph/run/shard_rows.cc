#include "weft/graph/run/shard_rows.h"

#include <cstring>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <utility>

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
  std::vector<Transfer> transfers;
  for (std::size_t i = 0; i < own_.size(); ++i) {
    const Tensor& like = own_[i].at(0);
    Sizes sizes = like.sizes();
    std::vector<std::size_t> begin{0};  // in bytes, by rank, and the end
    for (const std::int64_t n : rows[i]) {
      sizes[0] = n;
      begin.push_back(begin.back() + tensor_bytes(like.dtype(), sizes));
    }
    sizes[0] = std::accumulate(rows[i].begin(), rows[i].end(), std::int64_t{0});
    Tensor all = Tensor::empty(like.dtype(), sizes);
    const std::span<std::byte> bytes(static_cast<std::byte*>(all.mutable_raw()), all.bytes());
    const auto of_rank = [&](int r) {
      const auto k = static_cast<std::size_t>(r);
      return bytes.subspan(begin[k], begin[k + 1] - begin[k]);
    };
    const std::span<std::byte> mine = of_rank(world_.rank());
    std::size_t at = 0;
    for (const Tensor& t : own_[i]) {
      if (t.bytes() > 0) std::memcpy(mine.data() + at, t.raw(), t.bytes());
      at += t.bytes();
    }
    own_[i].clear();
    for (int r = 0; r < world_.size(); ++r) {
      if (r == world_.rank()) continue;
      Transport& transport = *world_.transport();
      if (!of_rank(r).empty()) transfers.push_back(transport.receive(r, kRowsChannel, of_rank(r)));
      if (!mine.empty()) transfers.push_back(transport.send(r, kRowsChannel, mine));
    }
    result.emplace_back(shard_names::rows(stage_.rows[i]), std::move(all));
  }
  for (const Transfer& t : transfers) world_.transport()->wait(t);
  return result;
}

}  // namespace weft
