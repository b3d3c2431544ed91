#include "weft/core/world/tree_sum.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace weft {
namespace {

constexpr std::size_t kLine = 64;  // bytes: of all dtypes whole elements
constexpr int kPartChannel = 0, kTotalChannel = 1;

class Exchange {
 public:
  Exchange(const World& world, int shards, const std::vector<SubtreeSums>& own, AddSums add,
           TakeMemory memory)
      : transport_(*world.transport()), shards_(shards), own_(own), add_(add), memory_(memory) {}

  void run() {
    std::vector<Transfer> sent = send_parts();
    const std::span<std::byte> total = add_parts();
    // What was sent of own_[0] may be written over when it is gone.
    for (const Transfer& t : sent) transport_.wait(t);
    const std::span<std::byte> mine = share(own_[0].bytes, rank());
    if (total.data() != mine.data()) std::memcpy(mine.data(), total.data(), mine.size());
    spread(mine);
  }

 private:
  int rank() const { return transport_.rank(); }
  int size() const { return transport_.size(); }

  std::span<std::byte> share(std::span<std::byte> bytes, int rank) const {
    const std::size_t begin = begin_of_share(rank, size(), bytes.size());
    return bytes.subspan(begin, begin_of_share(rank + 1, size(), bytes.size()) - begin);
  }

  // To others in turn from the next rank on, so that not all begin with the same one.
  template <class F>
  void for_others(F&& body) const {
    for (int i = 1; i < size(); ++i) body((rank() + i) % size());
  }

  std::vector<Transfer> send_parts() {
    std::vector<Transfer> sent;
    for_others([&](int other) {
      for (const SubtreeSums& sums : own_) {
        sent.push_back(transport_.send(other, kPartChannel, share(sums.bytes, other)));
      }
    });
    return sent;
  }

  // The total of this rank's share.
  std::span<std::byte> add_parts() {
    const std::size_t bytes = share(own_[0].bytes, rank()).size();
    std::vector<std::vector<Subtree>> parts;  // by rank
    std::size_t foreign = 0;
    for (int r = 0; r < size(); ++r) {
      parts.push_back(subtrees_of(run_of_rank(r, size(), shards_)));
      if (r != rank()) foreign += parts.back().size();
    }
    received_ = memory_(foreign * bytes);
    const std::span<std::byte> received(received_->data(), foreign * bytes);
    std::vector<std::vector<Transfer>> transfers(parts.size());
    std::vector<std::size_t> place(parts.size());
    std::size_t next = 0;
    for (std::size_t r = 0; r < parts.size(); ++r) {
      place[r] = next;
      if (static_cast<int>(r) == rank()) continue;
      for (std::size_t i = 0; i < parts[r].size(); ++i, next += bytes) {
        transfers[r].push_back(
            transport_.receive(static_cast<int>(r), kPartChannel, received.subspan(next, bytes)));
      }
    }
    const std::size_t begin = begin_of_share(rank(), size(), own_[0].bytes.size());
    TreeFold tree;
    std::vector<std::span<std::byte>> stack;
    for (std::size_t r = 0; r < parts.size(); ++r) {
      for (std::size_t i = 0; i < parts[r].size(); ++i) {
        std::span<std::byte> part;
        if (static_cast<int>(r) == rank()) {
          part = share(own_[i].bytes, rank());
        } else {
          transport_.wait(transfers[r][i]);
          part = received.subspan(place[r] + i * bytes, bytes);
        }
        for (int more = tree.push(parts[r][i]); more > 0; --more) {
          if (bytes > 0) add_(begin, stack.back(), part);
          part = stack.back();
          stack.pop_back();
        }
        stack.push_back(part);
      }
    }
    return stack.at(0);
  }

  void spread(std::span<std::byte> mine) {
    std::vector<Transfer> transfers;
    for_others([&](int other) {
      transfers.push_back(transport_.receive(other, kTotalChannel, share(own_[0].bytes, other)));
    });
    for_others(
        [&](int other) { transfers.push_back(transport_.send(other, kTotalChannel, mine)); });
    for (const Transfer& t : transfers) transport_.wait(t);
  }

  Transport& transport_;
  const int shards_;
  const std::vector<SubtreeSums>& own_;
  const AddSums add_;
  const TakeMemory memory_;
  std::shared_ptr<Buffer> received_;  // alive until nothing is added any more
};

}  // namespace

std::size_t begin_of_share(int rank, int ranks, std::size_t bytes) {
  const std::size_t lines = (bytes + kLine - 1) / kLine;
  const auto r = static_cast<std::size_t>(rank), all = static_cast<std::size_t>(ranks);
  // Without a product that could overflow.
  const std::size_t line = lines / all * r + lines % all * r / all;
  return std::min(line * kLine, bytes);
}

void sum_over_ranks(const World& world, int shards, const std::vector<SubtreeSums>& own,
                    AddSums add, TakeMemory memory) {
  if (world.size() > 1) Exchange(world, shards, own, add, memory).run();
}

}  // namespace weft
