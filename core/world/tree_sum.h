// Sums over the shards of all ranks.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "weft/core/export.h"
#include "weft/core/parallel.h"
#include "weft/core/tensor.h"
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

/// Gives memory, which need not be zero.
using TakeMemory = FunctionRef<std::shared_ptr<Buffer>(std::size_t bytes)>;

/// Where a rank's share of `bytes` bytes of sums begins: shares begin at multiples of 64, and
/// differ by 64 bytes at most. That of rank `ranks` is the end.
std::size_t begin_of_share(int rank, int ranks, std::size_t bytes);

/// Adds the sums of all shards along their tree and gives every rank the total, in own[0].bytes;
/// what is in the others of `own` is lost. `own` is what a TreeFold has left of the rank's shards
/// (run_of_rank). The bits are those that one rank alone would get: every rank adds up its share of
/// the bytes, in the tree's order, and sends it to the others. A rank sends and receives 2 (W - 1)
/// / W times the bytes where W, the number of ranks, is a power of two, and no more than twice that
/// elsewhere, and takes `memory` for a share of the sums of the others. Collective: all ranks call
/// it with as many bytes; throws WorldError.
void sum_over_ranks(const World& world, int shards, const std::vector<SubtreeSums>& own,
                    AddSums add, TakeMemory memory);

}  // namespace weft
