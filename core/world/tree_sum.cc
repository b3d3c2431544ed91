#include "weft/core/world/tree_sum.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "weft/core/rounding.h"
#include "weft/core/world/exchange.h"

namespace weft {
namespace {

constexpr int kTotalChannel = 0;
static_assert(kFirstShareChannel >= 2 * kSpreadChannels);

// The total of what each rank owns, one run each, on all ranks.
void gather_totals(const World& world, const Owners& owners, std::span<std::byte> total) {
  Blocks blocks(static_cast<std::size_t>(world.size()));
  for (std::size_t i = 0; i < owners.size(); ++i) {
    const std::size_t end = i + 1 < owners.size() ? owners[i + 1].begin : total.size();
    blocks[static_cast<std::size_t>(owners[i].owner)] =
        total.subspan(owners[i].begin, end - owners[i].begin);
  }
  all_gather(world, kTotalChannel, blocks);
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
                     std::vector<SubtreeSums> own, const SumBuckets& buckets, SumMemory memory)
    : transport_(*world.transport()),
      levels_(world.levels()),
      first_channel_(buckets.first_channel),
      own_(std::move(own)) {
  const int group = levels_.group_of(transport_.rank());
  for (std::size_t i = 0; i < owners.size(); ++i) {
    const std::size_t end = i + 1 < owners.size() ? owners[i + 1].begin : own_.at(0).bytes.size();
    for (std::size_t begin = owners[i].begin; begin < end;) {
      buckets_.push_back({.bytes = {begin, owners[i].owner},
                          .collector = levels_.stands_for(owners[i].owner, group)});
      begin = end - begin > buckets.bytes ? begin + buckets.bytes : end;
    }
  }
  for (std::size_t b = 0; b < buckets_.size(); ++b) {
    buckets_[b].early = std::any_of(
        buckets.early.begin(), buckets.early.end(),
        [&](const ByteRange& r) { return r.begin <= begin_of(b) && begin_of(b + 1) <= r.end; });
  }
  receive(shards, memory);
}

// Each rank of its own group, and one of every other group, for all of that one; in order of the
// shards.
std::vector<OwnerSums::Source> OwnerSums::sources_of(int shards) const {
  const int rank = transport_.rank(), size = transport_.size();
  std::vector<Source> sources;
  for (int g = 0; g < levels_.groups(); ++g) {
    const RankRun& group = levels_.group(g);
    if (group.contains(rank)) {
      for (int r = group.begin; r < group.end; ++r)
        sources.push_back({r, subtrees_of(run_of_rank(r, size, shards))});
    } else {
      sources.push_back({levels_.stands_for(rank, g),
                         subtrees_of({run_of_rank(group.begin, size, shards).begin,
                                      run_of_rank(group.end - 1, size, shards).end})});
    }
  }
  return sources;
}

// Whether this rank adds up what comes from there.
bool OwnerSums::adds(const Bucket& bucket, const Source& source) const {
  if (mine(bucket)) return true;
  const RankRun& group = levels_.neighbours(transport_.rank());
  return bucket.collector == transport_.rank() && group.size() > 1 && group.contains(source.rank);
}

void OwnerSums::receive(int shards, SumMemory memory) {
  const int rank = transport_.rank();
  const std::vector<Source> sources = sources_of(shards);
  std::size_t bytes = 0;
  for (std::size_t b = 0; b < buckets_.size(); ++b) {
    for (const Source& source : sources) {
      if (!adds(buckets_[b], source)) continue;
      for (const Subtree& subtree : source.subtrees) {
        Part part{.subtree = subtree, .bytes = {}};
        if (source.rank == rank) {
          for (const SubtreeSums& sums : own_) {
            if (sums.subtree == subtree) part.bytes = in_bucket(sums, b);
          }
        } else {
          bytes += begin_of(b + 1) - begin_of(b);
        }
        part.from = source.rank;
        part.last = subtree == source.subtrees.back();
        buckets_[b].parts.push_back(std::move(part));
      }
    }
  }
  received_ = memory(bytes);
  std::byte* next = received_->data();
  for (std::size_t b = 0; b < buckets_.size(); ++b) {
    for (Part& part : buckets_[b].parts) {
      if (part.from == rank) continue;
      part.bytes = {next, begin_of(b + 1) - begin_of(b)};
      next += part.bytes.size();
      part.coming = ComingSums(transport_, part.from, channel_of(buckets_[b]), part.bytes,
                               buckets_[b].early && part.last);
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

void OwnerSums::send(const Bucket& bucket, int to, std::span<const std::byte> sums) {
  sent_.push_back(transport_.send(to, channel_of(bucket), sums));
}

void OwnerSums::send_changes(const Bucket& bucket, int to, std::vector<std::byte> changes) {
  changes_.emplace_back(transport_, to, channel_of(bucket), std::move(changes));
}

// Of a bucket that this rank does not add up.
int OwnerSums::receiver_of(const Bucket& bucket) const {
  return bucket.collector == transport_.rank() ? bucket.bytes.owner : bucket.collector;
}

bool OwnerSums::takes_early(std::size_t b) const {
  const Bucket& bucket = buckets_[b];
  return bucket.early && bucket.parts.empty() && bucket.sent.empty() && !bucket.given;
}

void OwnerSums::give_early(std::size_t b, std::span<const std::byte> last) {
  Bucket& bucket = buckets_[b];
  const int to = receiver_of(bucket);
  for (std::size_t i = 0; i + 1 < own_.size(); ++i) send(bucket, to, in_bucket(own_[i], b));
  send(bucket, to, last);
  bucket.sent = last;
}

void OwnerSums::give(std::size_t b) {
  Bucket& bucket = buckets_[b];
  bucket.given = true;
  if (!bucket.parts.empty()) return;
  const int to = receiver_of(bucket);
  std::vector<std::byte> changes;
  if (bucket.sent.empty()) {
    for (const SubtreeSums& sums : own_) send(bucket, to, in_bucket(sums, b));
  } else {
    changes = changes_between(bucket.sent, in_bucket(own_.back(), b));
  }
  if (bucket.early) send_changes(bucket, to, std::move(changes));
}

bool OwnerSums::has_come(Bucket& bucket) {
  return std::all_of(bucket.parts.begin(), bucket.parts.end(),
                     [&](Part& part) { return part.coming.come(transport_); });
}

void OwnerSums::progress(AddSums add) {
  for (Bucket& bucket : buckets_) {
    if (bucket.parts.empty() || !bucket.given || bucket.added) continue;
    if (has_come(bucket)) this->add(bucket, add);
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
  if (!mine(bucket)) {
    for (const std::span<std::byte> sums : stack) send(bucket, bucket.bytes.owner, sums);
    if (bucket.early) send_changes(bucket, bucket.bytes.owner, {});
    return;
  }
  const std::span<std::byte> total = stack.at(0);
  std::byte* const place = own_[0].bytes.data() + bucket.bytes.begin;
  if (total.data() != place) std::memcpy(place, total.data(), total.size());
}

void OwnerSums::finish(AddSums add) {
  // First what others wait for.
  for (Bucket& bucket : buckets_) {
    if (!mine(bucket)) wait_and_add(bucket, add);
  }
  for (Bucket& bucket : buckets_) {
    if (mine(bucket)) wait_and_add(bucket, add);
  }
  for (const Transfer& t : sent_) transport_.wait(t);
  for (const SentChanges& changes : changes_) changes.wait(transport_);
}

void OwnerSums::wait_and_add(Bucket& bucket, AddSums add) {
  if (bucket.added || bucket.parts.empty()) return;
  for (Part& part : bucket.parts) part.coming.wait(transport_);
  this->add(bucket, add);
}

void sum_over_ranks(const World& world, int shards, const std::vector<SubtreeSums>& own,
                    AddSums add, SumMemory memory) {
  if (world.size() == 1) return;
  const std::size_t bytes = own.at(0).bytes.size();
  const Owners owners = even_owners(world.size(), bytes);
  OwnerSums sums(world, shards, owners, own,
                 {.bytes = round_up(bytes, kTensorAlignment), .first_channel = kFirstShareChannel},
                 memory);
  // From the next rank on, so that not all begin with the same one.
  const std::size_t buckets = sums.buckets();
  for (std::size_t i = 1; i <= buckets; ++i)
    sums.give((static_cast<std::size_t>(world.rank()) + i) % buckets);
  sums.finish(add);
  gather_totals(world, owners, own[0].bytes);
}

}  // namespace weft
