// Deterministic sums over the shards of all ranks: all-reduce and reduce-scatter along a fixed
// tree.
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

/// The sums of a complete subtree of shards. All subtrees on all ranks have the same number of
/// bytes.
struct SubtreeSums {
  Subtree subtree;
  std::span<std::byte> bytes;
};

/// Adds the sums in `x` to those in `into`. Both begin at byte `begin` of all sums.
using AddSums =
    FunctionRef<void(std::size_t begin, std::span<std::byte> into, std::span<const std::byte> x)>;

/// Bytes `begin` to `end` - 1 of the sums.
struct ByteRange {
  std::size_t begin = 0, end = 0;
};

/// A contiguous run of bytes of the sums, and the rank that owns it, which computes its total.
struct OwnedBytes {
  std::size_t begin = 0;  // a multiple of 64; the run ends at the begin of the next one
  int owner = 0;
};
/// A partition of all bytes of the sums, in ascending order starting at 0.
using Owners = std::vector<OwnedBytes>;
/// Divides `bytes` bytes into one run per rank; the sizes of the runs differ by at most 64. Ranks
/// whose run would be empty own nothing.
Owners even_owners(int ranks, std::size_t bytes);

/// The channels of the first bucket: in sum_over_ranks(), and in reduce-scatters. The latter leave
/// room for the channels of sum_over_ranks() in worlds of up to 4,096 ranks.
constexpr int kFirstShareChannel = 32, kFirstBucketChannel = kFirstShareChannel + 4096;

/// Returns memory of the given size, which is released with the returned pointer.
using SumMemory = FunctionRef<std::shared_ptr<Buffer>(std::size_t bytes)>;

/// All-reduce: adds the sums of all shards along their tree and stores the total in own[0].bytes on
/// every rank. The other elements of `own` are overwritten. `own` holds the sums that a TreeFold
/// leaves of the rank's shards (contiguous_shards()). The result is bit-identical to that of a
/// single rank: every rank adds up its share of the bytes in the order of the tree and sends it to
/// the others. With W ranks, a rank sends and receives 2 (W - 1) / W times the bytes if W is a
/// power of two, and at most twice that otherwise. `memory` provides the buffer for the other
/// ranks' sums of this rank's share. Collective: all ranks must pass the same number of bytes.
/// Throws WorldError.
void sum_over_ranks(const World& world, int shards, const std::vector<SubtreeSums>& own,
                    AddSums add, SumMemory memory);

/// How sums are divided into buckets, and when receives are started.
struct SumBuckets {
  std::size_t bytes;  // maximum size of a bucket; a multiple of 64
  int first_channel;  // bucket i uses channel first_channel + i
  /// Ranges of sums with early sends. Buckets that are entirely within one of them accept an early
  /// version.
  std::vector<ByteRange> early = {};
  /// Allocates memory for the sums of other ranks separately for each bucket, from the time this
  /// rank submits it until it is closed, instead of for all buckets from the start. All ranks must
  /// submit the buckets in the same order.
  bool by_bucket = false;
};

/// The sums of a rank in one bucket, one for each subtree of its shards (contiguous_shards()).
using SumsInBucket = std::span<const std::span<std::byte>>;

/// Reduce-scatter: as sum_over_ranks(), but every rank receives only the totals that it owns, which
/// halves the transferred bytes. The sums are divided into buckets, so that a bucket is transferred
/// while others are still being computed. Within a group of ranks (Levels), one rank adds up a
/// bucket for the whole group before it is sent to an owner in another group.
///
/// A bucket is submitted when this rank's sums in it are complete, and closed when they have been
/// sent and, on its owner, added up. Collective: all ranks must pass the same number of bytes,
/// owners and buckets.
class TreeReduceScatter {
 public:
  /// For sums of `bytes` bytes in total. A bucket is a range with a single owner. `memory` must
  /// outlive this object.
  TreeReduceScatter(const World& world, int shards, const Owners& owners, std::size_t bytes,
                    const SumBuckets& buckets, SumMemory memory);

  std::size_t buckets() const { return buckets_.size(); }
  /// The first byte of a bucket; for `bucket` == buckets(), the end of the sums.
  std::size_t begin_of(std::size_t bucket) const;
  std::size_t bytes_of(std::size_t bucket) const { return begin_of(bucket + 1) - begin_of(bucket); }
  /// The bucket that contains a byte.
  std::size_t bucket_of(std::size_t byte) const;
  /// Returns true if this rank owns the bucket and receives its total.
  bool mine(std::size_t bucket) const { return mine(buckets_[bucket]); }
  /// Returns true if an early version of a bucket is useful: the bucket is entirely within an early
  /// range and is sent to another rank, and this rank has not submitted it, early or finally.
  bool accepts_early(std::size_t bucket) const;
  /// Sends an early, nearly complete version of this rank's sums in a bucket. All sums but the last
  /// one must already be final. For the last one, only the delta is sent when the bucket is
  /// submitted. The early version must not change until finish() has returned.
  void submit_early(std::size_t bucket, std::span<const std::span<const std::byte>> sums);
  /// Submits this rank's final sums of all its shards in a bucket. Sends them, or keeps them to add
  /// those of other ranks. This object uses their memory until the bucket is closed. If this rank
  /// owns the bucket, the first of them becomes the total.
  void submit(std::size_t bucket, SumsInBucket sums);
  /// Adds up the submitted buckets for which all sums have arrived; does not block.
  void progress(AddSums add);
  /// Waits until at most `most_open` submitted buckets are not closed, and calls closed(bucket) for
  /// each bucket that it closes. Only the total of a closed bucket is still needed.
  void close(AddSums add, std::size_t most_open, FunctionRef<void(std::size_t bucket)> closed);
  /// Waits for all remaining buckets and closes them. All buckets must have been submitted.
  void finish(AddSums add);

 private:
  // A rank that contributes sums to a bucket, and the subtrees of its sums.
  struct Source {
    int rank;
    std::vector<Subtree> subtrees;
  };
  // The sums of one subtree in a bucket.
  struct Part {
    Subtree subtree;
    std::span<std::byte> bytes = {};
    int from = 0;              // the rank that contributes it
    bool last = false;         // the last subtree of that rank
    IncomingSums coming = {};  // default-constructed for the sums of this rank
  };
  struct Bucket {
    OwnedBytes bytes;
    // The rank that adds up the bucket for this rank's group; the owner, if it is in the group.
    int collector = 0;
    // The parts that this rank adds up, as the owner or as the collector of its group.
    std::vector<Part> parts = {};
    bool early = false;  // a delta follows the sums
    // The early version of the last of this rank's sums.
    std::span<const std::byte> sent_early = {};
    bool submitted = false, added = false;
    std::shared_ptr<Buffer> received = {};  // if memory is allocated by bucket
    std::vector<Transfer> sent = {};
    std::vector<OutgoingDelta> changes = {};
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
  void send_delta(Bucket& bucket, int to, std::vector<std::byte> changes);
  void make_parts(int shards);
  std::size_t received_bytes(const Bucket& bucket, std::size_t each) const;
  void receive(Bucket& bucket, std::byte* into);
  bool has_arrived(Bucket& bucket);
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
  std::size_t largest_ = 0;  // size of the largest bucket in bytes
  // Buckets that are submitted and not closed, in order of submission.
  std::vector<std::size_t> open_;
};

}  // namespace weft
