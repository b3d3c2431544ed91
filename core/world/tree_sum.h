// Sums over the shards of all ranks.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "weft/core/export.h"
#include "weft/core/parallel.h"
#include "weft/core/tensor.h"
#include "weft/core/world/early_sums.h"
#include "weft/core/world/shard_tree.h"
#include "weft/core/world/world.h"

namespace WEFT_API weft {

/// The sums of a complete subtree of shards: any number of bytes, as many in all subtrees of all
/// ranks.
struct SubtreeSums {
  Subtree subtree;
  std::span<std::byte> bytes;
};

/// Adds sums: those of `x` to those of `into`, both from byte `begin` of all sums on.
using AddSums =
    FunctionRef<void(std::size_t begin, std::span<std::byte> into, std::span<const std::byte> x)>;

/// Bytes `begin` to `end` - 1 of sums.
struct ByteRange {
  std::size_t begin = 0, end = 0;
};

/// Some bytes of sums, and the rank that adds them up for all.
struct OwnedBytes {
  std::size_t begin = 0;  // they end where the next ones begin; a multiple of 64
  int owner = 0;
};
/// All bytes of sums: ascending, from 0 on.
using Owners = std::vector<OwnedBytes>;
/// One run of `bytes` bytes for each rank, which differ by 64 at most.
Owners even_owners(int ranks, std::size_t bytes);

/// The channel of an owner's first bucket: in sum_over_ranks(), and in sums that owners alone get,
/// behind those of worlds of 4,096 ranks.
constexpr int kFirstShareChannel = 32, kFirstBucketChannel = kFirstShareChannel + 4096;

/// Memory of so many bytes, for as long as it is held.
using SumMemory = FunctionRef<std::shared_ptr<Buffer>(std::size_t bytes)>;

/// Adds the sums of all shards along their tree and gives every rank the total, in own[0].bytes;
/// what is in the others of `own` is lost. `own` is what a TreeFold has left of the rank's shards
/// (run_of_rank). The bits are those that one rank alone would get: every rank adds up its share of
/// the bytes, in the tree's order, and sends it to the others. A rank sends and receives 2 (W - 1)
/// / W times the bytes where W, the number of ranks, is a power of two, and no more than twice that
/// elsewhere, and takes `memory` for a share of the sums of the others. Collective: all ranks call
/// it with as many bytes; throws WorldError.
void sum_over_ranks(const World& world, int shards, const std::vector<SubtreeSums>& own,
                    AddSums add, SumMemory memory);

/// How sums are cut into buckets, and when they are received.
struct SumBuckets {
  std::size_t bytes;  // at most: a multiple of 64
  int first_channel;  // bucket i goes by this one + i
  /// Sums of which an early version may be given: of buckets that lie in them.
  std::vector<ByteRange> early = {};
  /// Takes memory for what comes from others in a bucket when this rank gives it, and until it is
  /// closed, not for all buckets from the start. All ranks give the buckets in the same order.
  bool by_bucket = false;
};

/// What a rank has in a bucket, by the subtrees of its shards (run_of_rank).
using SumsInBucket = std::span<const std::span<std::byte>>;

/// The same, but every rank gets the total of what it owns alone, which is half of the bytes, and
/// in buckets: what is in one is on its way while the sums of others are still computed. Groups of
/// ranks (Levels) add up a bucket among themselves, one of them for all, before it goes to an owner
/// in another group.
/// Collective: all ranks have as many bytes, the same owners and buckets.
class OwnerSums {
 public:
  /// Of `bytes` bytes of sums. Buckets are ranges with one owner. `memory` must outlive it.
  OwnerSums(const World& world, int shards, const Owners& owners, std::size_t bytes,
            const SumBuckets& buckets, SumMemory memory);

  std::size_t buckets() const { return buckets_.size(); }
  /// The first byte of a bucket; of `buckets()` the end.
  std::size_t begin_of(std::size_t bucket) const;
  std::size_t bytes_of(std::size_t bucket) const { return begin_of(bucket + 1) - begin_of(bucket); }
  /// The bucket that a byte lies in.
  std::size_t bucket_of(std::size_t byte) const;
  /// Whether this rank gets its total.
  bool mine(std::size_t bucket) const { return mine(buckets_[bucket]); }
  /// Whether an early version of a bucket would be of use: it goes to another rank, was not given,
  /// and all of it may change.
  bool takes_early(std::size_t bucket) const;
  /// Sends what this rank's sums will nearly be in a bucket, as they are mostly complete long
  /// before the rest: all but the last one are, of which only what differs is sent when the bucket
  /// is given. They stay as they are until finish() has returned.
  void give_early(std::size_t bucket, std::span<const std::span<const std::byte>> sums);
  /// This rank's sums of all its shards are complete in a bucket: sends them, or keeps them to add
  /// those of others. They belong to it until the bucket is closed. Where this rank owns the
  /// bucket, the first of them becomes the total.
  void give(std::size_t bucket, SumsInBucket sums);
  /// Adds up the buckets that are given and for which all has come; does not wait.
  void progress(AddSums add);
  /// Waits until at most so many buckets are given and not closed, and calls closed(bucket) for
  /// each that it closes: nothing of it is needed any more but its total.
  void close(AddSums add, std::size_t most_open, FunctionRef<void(std::size_t bucket)> closed);
  /// All buckets are given: waits for the rest, and closes all.
  void finish(AddSums add);

 private:
  // Who gives sums of shards: of which subtrees.
  struct Source {
    int rank;
    std::vector<Subtree> subtrees;
  };
  struct Part {  // of a bucket: the sums of one subtree
    Subtree subtree;
    std::span<std::byte> bytes = {};
    int from = 0;
    bool last = false;       // of what comes from there
    ComingSums coming = {};  // empty where it is this rank's
  };
  struct Bucket {
    OwnedBytes bytes;
    int collector = 0;             // of this rank's group: the owner, if it is in it
    std::vector<Part> parts = {};  // that this rank adds up: what it owns, or collects
    bool early = false;            // changes are sent behind it
    std::span<const std::byte> sent_early = {};  // of the last of this rank's sums
    bool given = false, added = false;
    std::shared_ptr<Buffer> received = {};  // where it has memory of its own
    std::vector<Transfer> sent = {};
    std::vector<SentChanges> changes = {};
  };
  bool mine(const Bucket& bucket) const { return bucket.bytes.owner == transport_.rank(); }
  std::size_t number_of(const Bucket& bucket) const {
    return static_cast<std::size_t>(&bucket - buckets_.data());
  }
  int channel_of(const Bucket& bucket) const {
    return first_channel_ + static_cast<int>(number_of(bucket));
  }
  std::vector<Source> sources_of(int shards) const;
  bool adds(const Bucket& bucket, const Source& source) const;
  int receiver_of(const Bucket& bucket) const;
  void send(Bucket& bucket, int to, std::span<const std::byte> sums);
  void send_changes(Bucket& bucket, int to, std::vector<std::byte> changes);
  void make_parts(int shards);
  std::size_t received_bytes(const Bucket& bucket, std::size_t each) const;
  void receive(Bucket& bucket, std::byte* into);
  bool has_come(Bucket& bucket);
  void add(Bucket& bucket, AddSums add);
  void wait_and_add(Bucket& bucket, AddSums add);
  void wait_and_close(Bucket& bucket);

  Transport& transport_;
  const Levels& levels_;
  const int first_channel_;
  const std::size_t bytes_;
  const bool by_bucket_;
  const SumMemory memory_;
  std::shared_ptr<Buffer> received_;
  std::vector<Bucket> buckets_;
  std::size_t largest_ = 0;        // bucket, in bytes
  std::vector<std::size_t> open_;  // buckets that are given and not closed, in that order
};

}  // namespace weft
