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

/// How sums are cut into buckets.
struct SumBuckets {
  std::size_t bytes;  // at most: a multiple of 64
  int first_channel;  // bucket i goes by this one + i
  /// Sums of which an early version may be given: of buckets that lie in them.
  std::vector<ByteRange> early = {};
};

/// The same, but every rank gets the total of what it owns alone, which is half of the bytes, and
/// in buckets: what is in one is on its way while the sums of others are still computed. Groups of
/// ranks (Levels) add up a bucket among themselves, one of them for all, before it goes to an owner
/// in another group.
/// Collective: all ranks have as many bytes, the same owners and buckets.
class OwnerSums {
 public:
  /// Buckets are ranges with one owner. Begins to receive. `own` may be written until its bucket is
  /// given.
  OwnerSums(const World& world, int shards, const Owners& owners, std::vector<SubtreeSums> own,
            const SumBuckets& buckets, SumMemory memory);

  std::size_t buckets() const { return buckets_.size(); }
  /// The first byte of a bucket; of `buckets()` the end.
  std::size_t begin_of(std::size_t bucket) const;
  /// The bucket that a byte lies in.
  std::size_t bucket_of(std::size_t byte) const;
  /// Whether an early version of a bucket would be of use: it goes to another rank, was not given,
  /// and all of it may change.
  bool takes_early(std::size_t bucket) const;
  /// Sends what the last of this rank's sums will nearly be in a bucket, as they are mostly
  /// complete long before the rest: only what differs is sent when the bucket is given. `last`
  /// stays as it is until finish() has returned.
  void give_early(std::size_t bucket, std::span<const std::byte> last);
  /// This rank's sums of all its shards are complete in a bucket: sends them.
  void give(std::size_t bucket);
  /// Adds up the buckets that are given and for which all has come; does not wait.
  void progress(AddSums add);
  /// All buckets are given: waits for the rest. The total of what this rank owns is at its place in
  /// own[0].bytes.
  void finish(AddSums add);

 private:
  // Who gives sums of shards: of which subtrees.
  struct Source {
    int rank;
    std::vector<Subtree> subtrees;
  };
  struct Part {  // of a bucket: the sums of one subtree
    Subtree subtree;
    std::span<std::byte> bytes;
    int from = 0;
    bool last = false;       // of what comes from there
    ComingSums coming = {};  // empty where it is this rank's
  };
  struct Bucket {
    OwnedBytes bytes;
    int collector = 0;                     // of this rank's group: the owner, where that is in it
    std::vector<Part> parts = {};          // that this rank adds up: what it owns, or collects
    bool early = false;                    // changes are sent behind it
    std::span<const std::byte> sent = {};  // the early version of the last of `own`
    bool given = false, added = false;
  };
  bool mine(const Bucket& bucket) const { return bucket.bytes.owner == transport_.rank(); }
  int channel_of(const Bucket& bucket) const {
    return first_channel_ + static_cast<int>(&bucket - buckets_.data());
  }
  std::vector<Source> sources_of(int shards) const;
  bool adds(const Bucket& bucket, const Source& source) const;
  int receiver_of(const Bucket& bucket) const;
  void send(const Bucket& bucket, int to, std::span<const std::byte> sums);
  void send_changes(const Bucket& bucket, int to, std::vector<std::byte> changes);
  void wait_and_add(Bucket& bucket, AddSums add);
  std::span<std::byte> in_bucket(const SubtreeSums& sums, std::size_t bucket) const;
  void receive(int shards, SumMemory memory);
  bool has_come(Bucket& bucket);
  void add(Bucket& bucket, AddSums add);

  Transport& transport_;
  const Levels& levels_;
  const int first_channel_;
  const std::vector<SubtreeSums> own_;
  std::shared_ptr<Buffer> received_;
  std::vector<Bucket> buckets_;
  std::vector<Transfer> sent_;
  std::vector<SentChanges> changes_;
};

}  // namespace weft
