// Numbers as reports and messages show them.
#pragma once

#include <string>

namespace weft {

/// "812 B", "24.3 MiB".
std::string bytes_text(double bytes);
/// "950 FLOP", "2.10 GFLOP".
std::string flops_text(double flops);

}  // namespace weft
