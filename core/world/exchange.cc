#include "weft/core/world/exchange.h"

#include "weft/core/world/levels.h"

namespace weft {

void exchange(Transport& transport, int channel, const ConstBlocks& to, const Blocks& from) {
  const int ranks = transport.size();
  std::vector<Transfer> transfers;
  // Every rank starts with a different peer, so that the ranks do not all send to the same peer at
  // once.
  for (int i = 1; i < ranks; ++i) {
    const int other = (transport.rank() + i) % ranks;
    const auto o = static_cast<std::size_t>(other);
    if (!from[o].empty()) transfers.push_back(transport.receive(other, channel, from[o]));
    if (!to[o].empty()) transfers.push_back(transport.send(other, channel, to[o]));
  }
  for (const Transfer& t : transfers) transport.wait(t);
}

void start_broadcast(const World& world, int channel, std::span<const std::byte> bytes,
                     std::vector<Transfer>& open) {
  Transport& transport = *world.transport();
  const Levels& levels = world.levels();
  const int rank = world.rank(), own = levels.group_of(rank);
  // Every rank starts with a different peer, so that the ranks do not all send to the same peer at
  // once.
  for (int i = 1; i < levels.groups(); ++i) {
    const int g = (own + i) % levels.groups();
    open.push_back(transport.send(levels.peer_in_group(rank, g), channel, bytes));
  }
  const RankRun& near = levels.group(own);
  for (int i = 1; i < near.size(); ++i) {
    const int other = near.begin + (rank - near.begin + i) % near.size();
    open.push_back(transport.send(other, channel, bytes));
  }
}

Transfer receive_broadcast(const World& world, int channel, int origin, std::span<std::byte> place,
                           std::vector<Transfer>& open) {
  Transport& transport = *world.transport();
  const Levels& levels = world.levels();
  const RankRun& near = levels.neighbours(world.rank());
  if (near.contains(origin)) return transport.receive(origin, channel, place);
  const int passed = kBroadcastChannels + channel;
  const int from = levels.peer_in_group(origin, levels.group_of(world.rank()));
  if (from != world.rank()) return transport.receive(from, passed, place);
  Transfer coming = transport.receive(origin, channel, place);
  for (int other = near.begin; other < near.end; ++other) {
    if (other != world.rank()) open.push_back(transport.forward(coming, other, passed, place));
  }
  return coming;
}

void all_gather(const World& world, int channel, const Blocks& blocks) {
  std::vector<Transfer> transfers;
  for (int origin = 0; origin < world.size(); ++origin) {
    const std::span<std::byte> block = blocks[static_cast<std::size_t>(origin)];
    if (origin != world.rank() && !block.empty())
      transfers.push_back(receive_broadcast(world, channel, origin, block, transfers));
  }
  const std::span<std::byte> own = blocks[static_cast<std::size_t>(world.rank())];
  if (!own.empty()) start_broadcast(world, channel, own, transfers);
  for (const Transfer& t : transfers) world.transport()->wait(t);
}

}  // namespace weft
