// Blocks of bytes that all ranks exchange at once.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "weft/core/world/transport.h"

namespace WEFT_API weft {

/// Bytes by rank.
using Blocks = std::vector<std::span<std::byte>>;
using ConstBlocks = std::vector<std::span<const std::byte>>;

/// Sends `to[r]` to every other rank r, and fills `from[r]` with what that one sends here; this
/// rank's own block stays where it is. Empty blocks are not sent. Collective: what is sent and what
/// is expected has the same size, on one channel; throws WorldError.
void exchange(Transport& transport, int channel, const ConstBlocks& to, const Blocks& from);

/// Begins to send `bytes` to every other rank; `open` gets the transfers.
void send_to_others(Transport& transport, int channel, std::span<const std::byte> bytes,
                    std::vector<Transfer>& open);

/// Every rank gets the blocks of all: its own is in `blocks[rank]`. Collective: all ranks have
/// blocks of the same sizes; throws WorldError.
void all_gather(Transport& transport, int channel, const Blocks& blocks);

}  // namespace weft
