#include "weft/core/world/transport.h"

#include <fmt/format.h>

namespace weft {

std::string describe_rank(const Transport& transport, int rank) {
  return fmt::format("rank {} (host {})", rank, transport.host(rank));
}

}  // namespace weft
