// Collective exchanges of byte blocks: all-to-all, broadcast and all-gather.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "weft/core/world/transport.h"
#include "weft/core/world/world.h"

namespace WEFT_API weft {

/// One block of bytes for each rank.
using Blocks = std::vector<std::span<std::byte>>;
using ConstBlocks = std::vector<std::span<const std::byte>>;

/// Performs an all-to-all exchange: sends `to[r]` to every other rank r and receives `from[r]` from
/// that rank. The blocks for this rank itself are not copied, and empty blocks are not sent.
/// This is a collective operation: sent and expected sizes must match, and all ranks must use the
/// same channel. Throws WorldError.
void exchange(Transport& transport, int channel, const ConstBlocks& to, const Blocks& from);

/// The number of channels for start_broadcast(), numbered from 0. Forwarded messages use the next
/// kBroadcastChannels channels.
constexpr int kBroadcastChannels = 16;

/// Starts broadcasting `bytes` from this rank along the levels of the world. Every other rank must
/// call receive_broadcast() for this broadcast. The transfers are appended to `open`.
void start_broadcast(const World& world, int channel, std::span<const std::byte> bytes,
                     std::vector<Transfer>& open);
/// Starts receiving a broadcast from rank `origin` into `place`. Broadcasts from one rank on one
/// channel must be received in the order in which they were sent. Broadcasts from several ranks
/// must be received in the same order on all ranks. If this rank forwards the data to other ranks,
/// the forwarding transfers are appended to `open`, and `place` must not change until they are
/// done.
Transfer receive_broadcast(const World& world, int channel, int origin, std::span<std::byte> place,
                           std::vector<Transfer>& open);

/// Performs an all-gather: sends `blocks[rank()]` to all ranks and receives the other blocks from
/// them. This is a collective operation: all ranks must pass blocks of the same sizes. `channel` is
/// one of the broadcast channels. Throws WorldError.
void all_gather(const World& world, int channel, const Blocks& blocks);

}  // namespace weft
