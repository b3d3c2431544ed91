#include "weft/core/world/tree_sum.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "weft/core/rounding.h"
#include "weft/core/world/exchange.h"

namespace weft {
namespace {

constexpr int kTotalChannel = 0;
static_assert(kFirstShareChannel >= 2 * kBroadcastChannels);

// All-gathers the totals. Requires that each rank owns at most one contiguous range.
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
  // Returns the index of the first 64-byte line of rank r, lines * r / all, computed without an
  // intermediate product that could overflow.
  const auto line = [&](std::size_t r) { return lines / all * r + lines % all * r / all; };
  Owners owners;
  for (std::size_t r = 0; r < all; ++r) {
    if (line(r) < line(r + 1)) owners.push_back({line(r) * kTensorAlignment, static_cast<int>(r)});
  }
  return owners;
}

TreeReduceScatter::TreeReduceScatter(const World& world, int shards, const Owners& owners,
                                     std::size_t bytes, const SumBuckets& buckets, SumMemory memory)
    : transport_(*world.transport()),
      levels_(world.levels()),
      first_channel_(buckets.first_channel),
      bytes_(bytes),
      by_bucket_(buckets.by_bucket),
      memory_(memory) {
  const int group = levels_.group_of(transport_.rank());
  for (std::size_t i = 0; i < owners.size(); ++i) {
    const std::size_t end = i + 1 < owners.size() ? owners[i + 1].begin : bytes;
    for (std::size_t begin = owners[i].begin; begin < end;) {
      buckets_.push_back({.bytes = {begin, owners[i].owner},
                          .collector = levels_.peer_in_group(owners[i].owner, group)});
      begin = end - begin > buckets.bytes ? begin + buckets.bytes : end;
    }
  }
  for (std::size_t b = 0; b < buckets_.size(); ++b) largest_ = std::max(largest_, bytes_of(b));
  make_parts(shards);
  if (by_bucket_) return;
  std::size_t received = 0;
  for (std::size_t b = 0; b < buckets_.size(); ++b)
    received += received_bytes(buckets_[b], bytes_of(b));
  received_ = memory(received);
  std::byte* next = received_->data();
  for (std::size_t b = 0; b < buckets_.size(); ++b) {
    receive(buckets_[b], next);
    next += received_bytes(buckets_[b], bytes_of(b));
  }
}

// Returns the ranks from which this rank may receive sums, in shard order: every rank of its own
// group, and one rank of every other group, which sends the sums of its whole group.
std::vector<TreeReduceScatter::Source> TreeReduceScatter::sources_of(int shards) const {
  const int rank = transport_.rank(), size = transport_.size();
  std::vector<Source> sources;
  for (int g = 0; g < levels_.groups(); ++g) {
    const RankRun& group = levels_.group(g);
    if (group.contains(rank)) {
      for (int r = group.begin; r < group.end; ++r)
        sources.push_back({r, subtrees_of(contiguous_shards(r, size, shards))});
    } else {
      sources.push_back({levels_.peer_in_group(rank, g),
                         subtrees_of({contiguous_shards(group.begin, size, shards).begin,
                                      contiguous_shards(group.end - 1, size, shards).end})});
    }
  }
  return sources;
}

// Returns true if this rank adds up the sums from `source` in the bucket.
bool TreeReduceScatter::adds(const Bucket& bucket, const Source& source) const {
  if (mine(bucket)) return true;
  const RankRun& group = levels_.neighbours(transport_.rank());
  return bucket.collector == transport_.rank() && group.size() > 1 && group.contains(source.rank);
}

void TreeReduceScatter::make_parts(int shards) {
  for (const Source& source : sources_of(shards)) {
    for (Bucket& bucket : buckets_) {
      if (!adds(bucket, source)) continue;
      for (const Subtree& subtree : source.subtrees)
        bucket.parts.push_back({.subtree = subtree, .from = source.rank});
    }
  }
}

// Returns the number of bytes required for the parts of a bucket that are received from other
// ranks, with `each` bytes per part.
std::size_t TreeReduceScatter::received_bytes(const Bucket& bucket, std::size_t each) const {
  const auto from_others =
      std::count_if(bucket.parts.begin(), bucket.parts.end(),
                    [&](const Part& part) { return part.from != transport_.rank(); });
  return static_cast<std::size_t>(from_others) * each;
}

void TreeReduceScatter::receive(Bucket& bucket, std::byte* into) {
  const std::size_t bytes = bytes_of(number_of(bucket));
  for (Part& part : bucket.parts) {
    if (part.from == transport_.rank()) continue;
    part.bytes = {into, bytes};
    into += bytes;
    part.coming = transport_.receive(part.from, channel_of(bucket), part.bytes);
  }
}

std::size_t TreeReduceScatter::begin_of(std::size_t bucket) const {
  return bucket < buckets_.size() ? buckets_[bucket].bytes.begin : bytes_;
}

std::size_t TreeReduceScatter::bucket_of(std::size_t byte) const {
  const auto after =
      std::upper_bound(buckets_.begin(), buckets_.end(), byte,
                       [](std::size_t at, const Bucket& b) { return at < b.bytes.begin; });
  return static_cast<std::size_t>(after - buckets_.begin()) - 1;
}

void TreeReduceScatter::send(Bucket& bucket, int to, std::span<const std::byte> sums) {
  bucket.sent.push_back(transport_.send(to, channel_of(bucket), sums));
}

// Returns the rank to which this rank sends its sums in a bucket that it does not add up itself.
// This is the collector of its group or, in a group with one rank, the owner of the bucket.
int TreeReduceScatter::receiver_of(const Bucket& bucket) const {
  return bucket.collector == transport_.rank() ? bucket.bytes.owner : bucket.collector;
}

void TreeReduceScatter::submit(std::size_t b, SumsInBucket sums) {
  Bucket& bucket = buckets_[b];
  open_.push_back(b);
  if (!bucket.parts.empty()) {
    auto own = sums.begin();
    for (Part& part : bucket.parts) {
      if (part.from == transport_.rank()) part.bytes = *own++;
    }
    if (!by_bucket_) return;
    // Use the same size for all buckets, so that the memory of one bucket can be reused for the
    // next one.
    if (const std::size_t bytes = received_bytes(bucket, largest_); bytes > 0) {
      bucket.received = memory_(bytes);
      receive(bucket, bucket.received->data());
    }
    return;
  }
  for (const std::span<std::byte> s : sums) send(bucket, receiver_of(bucket), s);
}

bool TreeReduceScatter::has_arrived(const Bucket& bucket) const {
  return std::all_of(bucket.parts.begin(), bucket.parts.end(),
                     [&](const Part& part) { return transport_.done(part.coming); });
}

void TreeReduceScatter::progress(AddSums add) {
  for (const std::size_t b : open_) {
    Bucket& bucket = buckets_[b];
    if (!bucket.parts.empty() && !bucket.added && has_arrived(bucket)) this->add(bucket, add);
  }
}

void TreeReduceScatter::add(Bucket& bucket, AddSums add) {
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
    return;
  }
  const std::span<std::byte> total = stack.at(0);
  const auto own = std::find_if(bucket.parts.begin(), bucket.parts.end(),
                                [&](const Part& part) { return part.from == transport_.rank(); });
  if (total.data() != own->bytes.data()) std::memcpy(own->bytes.data(), total.data(), total.size());
}

void TreeReduceScatter::close(AddSums add, std::size_t max_open,
                              FunctionRef<void(std::size_t bucket)> closed) {
  progress(add);
  const auto is_done = [&](std::size_t b) {
    Bucket& bucket = buckets_[b];
    const auto sent = [&](const Transfer& t) { return transport_.done(t); };
    if (!bucket.parts.empty() && !bucket.added) return false;
    if (!std::all_of(bucket.sent.begin(), bucket.sent.end(), sent)) return false;
    wait_and_close(bucket);
    closed(b);
    return true;
  };
  std::erase_if(open_, is_done);
  // Wait in the order in which all ranks submit the buckets. A rank that has submitted a bucket
  // then waits only for ranks that have not, so that waits cannot form a cycle.
  while (open_.size() > max_open) {
    const std::size_t b = open_.front();
    wait_and_add(buckets_[b], add);
    wait_and_close(buckets_[b]);
    open_.erase(open_.begin());
    closed(b);
  }
}

void TreeReduceScatter::finish(AddSums add) {
  // First, process the buckets for which other ranks are waiting.
  for (Bucket& bucket : buckets_) {
    if (!mine(bucket)) wait_and_add(bucket, add);
  }
  for (Bucket& bucket : buckets_) {
    if (mine(bucket)) wait_and_add(bucket, add);
  }
  for (Bucket& bucket : buckets_) wait_and_close(bucket);
  open_.clear();
}

void TreeReduceScatter::wait_and_add(Bucket& bucket, AddSums add) {
  if (bucket.added || bucket.parts.empty()) return;
  for (const Part& part : bucket.parts) transport_.wait(part.coming);
  this->add(bucket, add);
}

// Requires that all sums in the bucket have arrived.
void TreeReduceScatter::wait_and_close(Bucket& bucket) {
  for (const Transfer& t : bucket.sent) transport_.wait(t);
  bucket.sent.clear();
  bucket.received.reset();
}

void sum_over_ranks(const World& world, int shards, const std::vector<SubtreeSums>& own,
                    AddSums add, SumMemory memory) {
  if (world.size() == 1) return;
  const std::size_t bytes = own.at(0).bytes.size();
  const Owners owners = even_owners(world.size(), bytes);
  TreeReduceScatter sums(
      world, shards, owners, bytes,
      {.bytes = round_up(bytes, kTensorAlignment), .first_channel = kFirstShareChannel}, memory);
  // Start with the bucket after this rank's own bucket, so that the ranks do not all send to the
  // same owner first.
  const std::size_t buckets = sums.buckets();
  for (std::size_t i = 1; i <= buckets; ++i) {
    const std::size_t b = (static_cast<std::size_t>(world.rank()) + i) % buckets;
    std::vector<std::span<std::byte>> in_bucket;
    for (const SubtreeSums& s : own)
      in_bucket.push_back(s.bytes.subspan(sums.begin_of(b), sums.bytes_of(b)));
    sums.submit(b, in_bucket);
  }
  sums.finish(add);
  gather_totals(world, owners, own[0].bytes);
}

}  // namespace weft
