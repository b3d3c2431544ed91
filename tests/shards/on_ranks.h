// Runs a function on several ranks, which are threads of this process, and returns the results of
// all ranks.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "weft/core/world/thread_world.h"
#include "weft/core/world/world.h"
#include "weft/graph/engine/results.h"

namespace weft::testing {

/// Every `per_host` consecutive ranks share a host and form a group.
inline std::vector<NamedTensors> on_ranks(int ranks,
                                          const std::function<NamedTensors(const World&)>& body,
                                          int per_host = 1) {
  ThreadWorld world(ranks, {.seed = static_cast<std::uint64_t>(10 * ranks + per_host),
                            .max_delay = std::chrono::microseconds(100),
                            .per_host = per_host});
  std::vector<NamedTensors> found(static_cast<std::size_t>(ranks));
  world.run([&](const std::shared_ptr<Transport>& end) {
    found[static_cast<std::size_t>(end->rank())] = body(World(end, {.max_direct = 1}));
  });
  return found;
}

}  // namespace weft::testing
