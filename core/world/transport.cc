#include "weft/core/world/transport.h"

#include <fmt/format.h>

#include "weft/core/error.h"

namespace weft {

void check_message(const Transport& transport, int other, int channel) {
  if (other < 0 || other >= transport.size() || other == transport.rank()) {
    throw ArgumentError(fmt::format("rank {} of {} cannot exchange messages with rank {}",
                                    transport.rank(), transport.size(), other));
  }
  if (channel < 0 || channel >= Transport::kChannels) {
    throw ArgumentError(fmt::format("channel {} is not in [0, {})", channel, Transport::kChannels));
  }
}

std::string describe_rank(const Transport& transport, int rank) {
  return fmt::format("rank {} (host {})", rank, transport.host(rank));
}

}  // namespace weft
