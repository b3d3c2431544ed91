#include "weft/core/world/exchange.h"

namespace weft {

void exchange(Transport& transport, int channel, const ConstBlocks& to, const Blocks& from) {
  const int ranks = transport.size();
  std::vector<Transfer> transfers;
  // Every rank begins with another one, so that not all send to the same.
  for (int i = 1; i < ranks; ++i) {
    const int other = (transport.rank() + i) % ranks;
    const auto o = static_cast<std::size_t>(other);
    if (!from[o].empty()) transfers.push_back(transport.receive(other, channel, from[o]));
    if (!to[o].empty()) transfers.push_back(transport.send(other, channel, to[o]));
  }
  for (const Transfer& t : transfers) transport.wait(t);
}

void send_to_others(Transport& transport, int channel, std::span<const std::byte> bytes,
                    std::vector<Transfer>& open) {
  for (int i = 1; i < transport.size(); ++i)
    open.push_back(transport.send((transport.rank() + i) % transport.size(), channel, bytes));
}

void all_gather(Transport& transport, int channel, const Blocks& blocks) {
  const auto own = static_cast<std::size_t>(transport.rank());
  exchange(transport, channel, ConstBlocks(blocks.size(), blocks[own]), blocks);
}

}  // namespace weft
