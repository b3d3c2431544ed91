// Deterministic sums over the shards on all ranks: all-reduce and reduce-scatter along a fixed
// tree.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "weft/core/export.h"
#include "weft/core/function_ref.h"
#include "weft/core/tensor.h"
#include "weft/core/world/shard_tree.h"
#include "weft/core/world/world.h"

namespace WEFT_API weft {

/// The sums over a complete subtree of shards. The sums over all subtrees on all ranks have the
/// same number of bytes.
struct SubtreeSums {
  Subtree subtree;
  std::span<std::byte> bytes;
};

/// Adds the sums in `x` to the sums in `into`. Both ranges begin at byte `begin` of the complete
/// sums.
using AddSums =
    FunctionRef<void(std::size_t begin, std::span<std::byte> into, std::span<const std::byte> x)>;

/// A contiguous range of bytes of the sums, and its owner, which is the rank that computes the
/// total of this range.
struct OwnedBytes {
  std::size_t begin = 0;  // a multiple of 64; the range ends at the `begin` of the next range
  int owner = 0;
};
/// A partition of all bytes of the sums into ranges, in ascending order starting at 0.
using Owners = std::vector<OwnedBytes>;
/// Divides `bytes` bytes into one range per rank. The sizes of the ranges differ by at most 64
/// bytes. Ranks whose range would be empty own nothing.
Owners even_owners(int ranks, std::size_t bytes);

/// The channels of the first bucket in sum_over_ranks() and in a reduce-scatter. The channels
/// between them suffice for sum_over_ranks() in worlds with up to 4,096 ranks.
constexpr int kFirstShareChannel = 32, kFirstBucketChannel = kFirstShareChannel + 4096;

/// Returns a buffer of the given size, which is released with the returned pointer.
using SumMemory = FunctionRef<std::shared_ptr<Buffer>(std::size_t bytes)>;

/// Performs an all-reduce: adds the sums over all shards along their tree and stores the total in
/// own[0].bytes on every rank. The other elements of `own` are overwritten. On entry, `own` holds
/// the sums that remain after folding the rank's shards (contiguous_shards()) with a TreeFold. The
/// result is bit-identical to the result on a single rank, because every rank adds up its part of
/// the bytes in the order of the tree and sends the total to the other ranks. With W ranks, a rank
/// sends and receives 2 (W - 1) / W times the number of bytes if W is a power of two, and at most
/// twice as much otherwise. `memory` provides the buffer for the sums that other ranks send for
/// this rank's part. This is a collective operation: all ranks must pass the same number of bytes.
/// Throws WorldError.
void sum_over_ranks(const World& world, int shards, const std::vector<SubtreeSums>& own,
                    AddSums add, SumMemory memory);

/// Describes how sums are divided into buckets and when receives are started.
struct SumBuckets {
  std::size_t bytes;  // maximum size of a bucket; a multiple of 64
  int first_channel;  // bucket i uses channel first_channel + i
  /// If true, memory for the sums from other ranks is allocated separately for each bucket, when
  /// this rank submits the bucket, and freed when the bucket is closed. Otherwise, memory for all
  /// buckets is allocated at the start. If true, all ranks must submit the buckets in the same
  /// order.
  bool by_bucket = false;
};

/// The sums of a rank in one bucket, with one element for each subtree of its shards
/// (contiguous_shards()).
using SumsInBucket = std::span<const std::span<std::byte>>;

/// A reduce-scatter. In contrast to sum_over_ranks(), every rank receives only the totals that it
/// owns, which halves the number of transferred bytes. The sums are divided into buckets, so that a
/// bucket can be transferred while others are still being computed. If the owner of a bucket is in
/// another group of ranks (Levels), one rank adds up the bucket for its whole group before it is
/// sent to the owner.
///
/// A bucket is submitted when this rank's sums in it are complete. It is closed when these sums
/// have been sent or, on the owner of the bucket, added up. This is a collective operation: all
/// ranks must pass the same number of bytes, owners and buckets.
class TreeReduceScatter {
 public:
  /// Prepares a reduce-scatter of sums with `bytes` bytes in total. A bucket is a range with a
  /// single owner. `memory` must outlive this object.
  TreeReduceScatter(const World& world, int shards, const Owners& owners, std::size_t bytes,
                    const SumBuckets& buckets, SumMemory memory);

  std::size_t buckets() const { return buckets_.size(); }
  /// Returns the first byte of a bucket, or the end of the sums if `bucket` is buckets().
  std::size_t begin_of(std::size_t bucket) const;
  std::size_t bytes_of(std::size_t bucket) const { return begin_of(bucket + 1) - begin_of(bucket); }
  /// Returns the bucket that contains a byte.
  std::size_t bucket_of(std::size_t byte) const;
  /// Returns true if this rank owns the bucket and receives its total.
  bool mine(std::size_t bucket) const { return mine(buckets_[bucket]); }
  /// Submits the final sums over all of this rank's shards in a bucket. The sums are either sent or
  /// kept to be added to the sums from other ranks. Their memory remains in use until the bucket is
  /// closed. If this rank owns the bucket, the first sum becomes the total.
  void submit(std::size_t bucket, SumsInBucket sums);
  /// Adds up all submitted buckets for which all sums have arrived. Does not block.
  void progress(AddSums add);
  /// Closes buckets until at most `max_open` submitted buckets are still open, and calls
  /// closed(bucket) for each of them. After a bucket has been closed, only its total is still
  /// needed.
  void close(AddSums add, std::size_t max_open, FunctionRef<void(std::size_t bucket)> closed);
  /// Waits for all remaining buckets and closes them. All buckets must have been submitted.
  void finish(AddSums add);

 private:
  // A rank that contributes sums to a bucket, and the subtrees to which its sums belong.
  struct Source {
    int rank;
    std::vector<Subtree> subtrees;
  };
  // The sums over one subtree in a bucket.
  struct Part {
    Subtree subtree;
    std::span<std::byte> bytes = {};
    int from = 0;          // the rank that contributes this part
    Transfer coming = {};  // default-constructed for this rank's own sums
  };
  struct Bucket {
    OwnedBytes bytes;
    // The rank that adds up the bucket for this rank's group. This is the owner if the owner
    // belongs to the group.
    int collector = 0;
    // The parts that this rank adds up as the owner of the bucket or the collector of its group.
    std::vector<Part> parts = {};
    bool added = false;
    std::shared_ptr<Buffer> received = {};  // used if memory is allocated by bucket
    std::vector<Transfer> sent = {};
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
  void make_parts(int shards);
  std::size_t received_bytes(const Bucket& bucket, std::size_t each) const;
  void receive(Bucket& bucket, std::byte* into);
  bool has_arrived(const Bucket& bucket) const;
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
  // Buckets that have been submitted but not closed, in the order of submission.
  std::vector<std::size_t> open_;
};

}  // namespace weft
