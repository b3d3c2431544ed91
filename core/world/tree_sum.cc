#include "weft/core/world/tree_sum.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "weft/core/rounding.h"
#include "weft/core/world/exchange.h"

namespace weft {
namespace {

constexpr int kTotalChannel = 0, kFirstBucketChannel = 16;

// Every rank's share of the total, on all ranks.
void spread(Transport& transport, const Shares& shares, std::span<std::byte> total) {
  Blocks blocks;
  for (std::size_t r = 0; r + 1 < shares.size(); ++r)
    blocks.push_back(total.subspan(shares[r], shares[r + 1] - shares[r]));
  all_gather(transport, kTotalChannel, blocks);
}

}  // namespace

Shares even_shares(int ranks, std::size_t bytes) {
  const std::size_t lines = divide_up(bytes, kTensorAlignment),
                    all = static_cast<std::size_t>(ranks);
  Shares shares;
  for (std::size_t r = 0; r <= all; ++r) {
    // Without a product that could overflow.
    const std::size_t line = lines / all * r + lines % all * r / all;
    shares.push_back(std::min(line * kTensorAlignment, bytes));
  }
  return shares;
}

OwnerSums::OwnerSums(const World& world, int shards, Shares shares, std::vector<SubtreeSums> own,
                     std::size_t bucket_bytes, SumMemory memory)
    : transport_(*world.transport()),
      shares_(std::move(shares)),
      own_(std::move(own)),
      bucket_bytes_(bucket_bytes),
      buckets_(std::max<std::size_t>(1, divide_up(own_.at(0).bytes.size(), bucket_bytes))) {
  const int rank = transport_.rank(), size = transport_.size();
  std::vector<std::vector<Subtree>> subtrees;  // by rank
  std::size_t foreign = 0;
  for (int r = 0; r < size; ++r) {
    subtrees.push_back(subtrees_of(run_of_rank(r, size, shards)));
    if (r != rank) foreign += subtrees.back().size();
  }
  const auto mine = static_cast<std::size_t>(rank);
  received_ = memory(foreign * (shares_[mine + 1] - shares_[mine]));
  std::size_t next = 0;
  for (std::size_t b = 0; b < buckets_.size(); ++b) {
    const std::span<std::byte> share = in_bucket(own_[0].bytes, b, rank);
    buckets_[b].begin = static_cast<std::size_t>(share.data() - own_[0].bytes.data());
    for (int r = 0; r < size; ++r) {
      for (const Subtree& subtree : subtrees[static_cast<std::size_t>(r)]) {
        Part& part = buckets_[b].parts.emplace_back(Part{.subtree = subtree, .bytes = {}});
        if (r == rank) continue;
        part.bytes = {received_->data() + next, share.size()};
        next += share.size();
        part.coming = transport_.receive(r, kFirstBucketChannel + static_cast<int>(b), part.bytes);
      }
    }
    // This rank's.
    for (Part& part : buckets_[b].parts) {
      for (const SubtreeSums& sums : own_) {
        if (sums.subtree == part.subtree) part.bytes = in_bucket(sums.bytes, b, rank);
      }
    }
  }
}

std::size_t OwnerSums::begin_of(std::size_t bucket) const {
  return std::min(bucket * bucket_bytes_, own_[0].bytes.size());
}

// What of a rank's share lies in a bucket.
std::span<std::byte> OwnerSums::in_bucket(std::span<std::byte> bytes, std::size_t bucket,
                                          int rank) const {
  const auto r = static_cast<std::size_t>(rank);
  const std::size_t begin = std::max(shares_[r], begin_of(bucket));
  const std::size_t end = std::min(shares_[r + 1], begin_of(bucket + 1));
  return begin < end ? bytes.subspan(begin, end - begin)
                     : bytes.subspan(std::min(begin, bytes.size()), 0);
}

void OwnerSums::give(std::size_t bucket) {
  buckets_[bucket].given = true;
  const int size = transport_.size();
  // From the next rank on, so that not all begin with the same one.
  for (int i = 1; i < size; ++i) {
    const int other = (transport_.rank() + i) % size;
    for (const SubtreeSums& sums : own_) {
      sent_.push_back(transport_.send(other, kFirstBucketChannel + static_cast<int>(bucket),
                                      in_bucket(sums.bytes, bucket, other)));
    }
  }
}

bool OwnerSums::has_come(const Bucket& bucket) const {
  return std::all_of(bucket.parts.begin(), bucket.parts.end(),
                     [&](const Part& part) { return transport_.done(part.coming); });
}

void OwnerSums::progress(AddSums add) {
  for (Bucket& bucket : buckets_) {
    if (bucket.given && !bucket.added && has_come(bucket)) this->add(bucket, add);
  }
}

void OwnerSums::add(Bucket& bucket, AddSums add) {
  bucket.added = true;
  TreeFold tree;
  std::vector<std::span<std::byte>> stack;
  for (const Part& part : bucket.parts) {
    std::span<std::byte> sum = part.bytes;
    for (int more = tree.push(part.subtree); more > 0; --more) {
      if (!sum.empty()) add(bucket.begin, stack.back(), sum);
      sum = stack.back();
      stack.pop_back();
    }
    stack.push_back(sum);
  }
  const std::span<std::byte> total = stack.at(0);
  std::byte* const place = own_[0].bytes.data() + bucket.begin;
  if (!total.empty() && total.data() != place) std::memcpy(place, total.data(), total.size());
}

void OwnerSums::finish(AddSums add) {
  for (Bucket& bucket : buckets_) {
    if (bucket.added) continue;
    for (const Part& part : bucket.parts) transport_.wait(part.coming);
    this->add(bucket, add);
  }
  for (const Transfer& t : sent_) transport_.wait(t);
}

void sum_over_ranks(const World& world, int shards, const std::vector<SubtreeSums>& own,
                    AddSums add, SumMemory memory) {
  if (world.size() == 1) return;
  const std::size_t bytes = own.at(0).bytes.size();
  const Shares shares = even_shares(world.size(), bytes);
  OwnerSums sums(world, shards, shares, own,
                 std::max(kTensorAlignment, round_up(bytes, kTensorAlignment)), memory);
  sums.give(0);
  sums.finish(add);
  spread(*world.transport(), shares, own[0].bytes);
}

}  // namespace weft
