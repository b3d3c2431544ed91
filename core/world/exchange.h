// Blocks of bytes that all ranks exchange at once.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "weft/core/world/transport.h"
#include "weft/core/world/world.h"

namespace WEFT_API weft {

/// Bytes by rank.
using Blocks = std::vector<std::span<std::byte>>;
using ConstBlocks = std::vector<std::span<const std::byte>>;

/// Sends `to[r]` to every other rank r, and fills `from[r]` with what that one sends here; this
/// rank's own block stays where it is. Empty blocks are not sent. Collective: what is sent and what
/// is expected has the same size, on one channel; throws WorldError.
void exchange(Transport& transport, int channel, const ConstBlocks& to, const Blocks& from);

/// Channels that spread() may use: 0 to kSpreadChannels - 1. What is passed on takes as many more.
constexpr int kSpreadChannels = 16;

/// Begins to send `bytes` to every other rank, each of which calls take_spread() for it: along the
/// levels of the world. `open` gets the transfers.
void spread(const World& world, int channel, std::span<const std::byte> bytes,
            std::vector<Transfer>& open);
/// Begins to receive into `place` what rank `origin` spreads. What one rank spreads on a channel is
/// taken in its order, and what several do in the same order on all ranks. Where this rank passes
/// it on to others, `open` gets these transfers, until the end of which `place` must stay as it is.
Transfer take_spread(const World& world, int channel, int origin, std::span<std::byte> place,
                     std::vector<Transfer>& open);

/// Every rank gets the blocks of all: its own is in `blocks[rank]`. Collective: all ranks have
/// blocks of the same sizes; `channel` is one of spread(). Throws WorldError.
void all_gather(const World& world, int channel, const Blocks& blocks);

}  // namespace weft
