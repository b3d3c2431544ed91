#include "weft/core/world/tree_sum.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "weft/core/rounding.h"
#include "weft/core/world/exchange.h"

namespace weft {
namespace {

constexpr int kTotalChannel = 0, kFirstBucketChannel = 16;

// The total of what each rank owns, one run each, on all ranks.
void spread(Transport& transport, const Owners& owners, std::span<std::byte> total) {
  Blocks blocks(static_cast<std::size_t>(transport.size()));
  for (std::size_t i = 0; i < owners.size(); ++i) {
    const std::size_t end = i + 1 < owners.size() ? owners[i + 1].begin : total.size();
    blocks[static_cast<std::size_t>(owners[i].owner)] =
        total.subspan(owners[i].begin, end - owners[i].begin);
  }
  all_gather(transport, kTotalChannel, blocks);
}

}  // namespace

Owners even_owners(int ranks, std::size_t bytes) {
  const std::size_t lines = divide_up(bytes, kTensorAlignment),
                    all = static_cast<std::size_t>(ranks);
  // Without a product that could overflow.
  const auto line = [&](std::size_t r) { return lines / all * r + lines % all * r / all; };
  Owners owners;
  for (std::size_t r = 0; r < all; ++r) {
    if (line(r) < line(r + 1)) owners.push_back({line(r) * kTensorAlignment, static_cast<int>(r)});
  }
  return owners;
}

OwnerSums::OwnerSums(const World& world, int shards, const Owners& owners,
                     std::vector<SubtreeSums> own, std::size_t bucket_bytes, SumMemory memory)
    : transport_(*world.transport()), own_(std::move(own)) {
  for (std::size_t i = 0; i < owners.size(); ++i) {
    const std::size_t end = i + 1 < owners.size() ? owners[i + 1].begin : own_.at(0).bytes.size();
    for (std::size_t begin = owners[i].begin; begin < end;) {
      buckets_.push_back({{begin, owners[i].owner}});
      begin = end - begin > bucket_bytes ? begin + bucket_bytes : end;
    }
  }
  receive(shards, memory);
}

void OwnerSums::receive(int shards, SumMemory memory) {
  const int rank = transport_.rank(), size = transport_.size();
  std::vector<std::vector<Subtree>> subtrees;  // by rank
  std::size_t foreign = 0, bytes = 0;
  for (int r = 0; r < size; ++r) {
    subtrees.push_back(subtrees_of(run_of_rank(r, size, shards)));
    if (r != rank) foreign += subtrees.back().size();
  }
  for (std::size_t b = 0; b < buckets_.size(); ++b) {
    if (mine(buckets_[b])) bytes += begin_of(b + 1) - begin_of(b);
  }
  received_ = memory(foreign * bytes);
  std::size_t next = 0;
  for (std::size_t b = 0; b < buckets_.size(); ++b) {
    if (!mine(buckets_[b])) continue;
    for (int r = 0; r < size; ++r) {
      for (const Subtree& subtree : subtrees[static_cast<std::size_t>(r)]) {
        Part& part = buckets_[b].parts.emplace_back(Part{.subtree = subtree, .bytes = {}});
        if (r == rank) continue;
        part.bytes = {received_->data() + next, begin_of(b + 1) - begin_of(b)};
        next += part.bytes.size();
        part.coming = transport_.receive(r, kFirstBucketChannel + static_cast<int>(b), part.bytes);
      }
    }
    // This rank's.
    for (Part& part : buckets_[b].parts) {
      for (const SubtreeSums& sums : own_) {
        if (sums.subtree == part.subtree) part.bytes = in_bucket(sums, b);
      }
    }
  }
}

std::size_t OwnerSums::begin_of(std::size_t bucket) const {
  return bucket < buckets_.size() ? buckets_[bucket].bytes.begin : own_[0].bytes.size();
}

std::size_t OwnerSums::bucket_of(std::size_t byte) const {
  const auto after =
      std::upper_bound(buckets_.begin(), buckets_.end(), byte,
                       [](std::size_t at, const Bucket& b) { return at < b.bytes.begin; });
  return static_cast<std::size_t>(after - buckets_.begin()) - 1;
}

std::span<std::byte> OwnerSums::in_bucket(const SubtreeSums& sums, std::size_t bucket) const {
  return sums.bytes.subspan(begin_of(bucket), begin_of(bucket + 1) - begin_of(bucket));
}

void OwnerSums::give(std::size_t bucket) {
  buckets_[bucket].given = true;
  if (mine(buckets_[bucket])) return;
  for (const SubtreeSums& sums : own_) {
    sent_.push_back(transport_.send(buckets_[bucket].bytes.owner,
                                    kFirstBucketChannel + static_cast<int>(bucket),
                                    in_bucket(sums, bucket)));
  }
}

bool OwnerSums::has_come(const Bucket& bucket) const {
  return std::all_of(bucket.parts.begin(), bucket.parts.end(),
                     [&](const Part& part) { return transport_.done(part.coming); });
}

void OwnerSums::progress(AddSums add) {
  for (Bucket& bucket : buckets_) {
    if (bucket.given && !bucket.added && mine(bucket) && has_come(bucket)) this->add(bucket, add);
  }
}

void OwnerSums::add(Bucket& bucket, AddSums add) {
  bucket.added = true;
  TreeFold tree;
  std::vector<std::span<std::byte>> stack;
  for (const Part& part : bucket.parts) {
    std::span<std::byte> sum = part.bytes;
    for (int more = tree.push(part.subtree); more > 0; --more) {
      add(bucket.bytes.begin, stack.back(), sum);
      sum = stack.back();
      stack.pop_back();
    }
    stack.push_back(sum);
  }
  const std::span<std::byte> total = stack.at(0);
  std::byte* const place = own_[0].bytes.data() + bucket.bytes.begin;
  if (total.data() != place) std::memcpy(place, total.data(), total.size());
}

void OwnerSums::finish(AddSums add) {
  for (Bucket& bucket : buckets_) {
    if (bucket.added || !mine(bucket)) continue;
    for (const Part& part : bucket.parts) transport_.wait(part.coming);
    this->add(bucket, add);
  }
  for (const Transfer& t : sent_) transport_.wait(t);
}

void sum_over_ranks(const World& world, int shards, const std::vector<SubtreeSums>& own,
                    AddSums add, SumMemory memory) {
  if (world.size() == 1) return;
  const std::size_t bytes = own.at(0).bytes.size();
  const Owners owners = even_owners(world.size(), bytes);
  OwnerSums sums(world, shards, owners, own, round_up(bytes, kTensorAlignment), memory);
  // From the next rank on, so that not all begin with the same one.
  const std::size_t buckets = sums.buckets();
  for (std::size_t i = 1; i <= buckets; ++i)
    sums.give((static_cast<std::size_t>(world.rank()) + i) % buckets);
  sums.finish(add);
  spread(*world.transport(), owners, own[0].bytes);
}

}  // namespace weft
