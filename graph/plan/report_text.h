// Formatting of numbers in reports and messages.
#pragma once

#include <string>

namespace weft {

/// Formats a number of bytes: "812 B", "24.3 MiB".
std::string bytes_text(double bytes);
/// Formats a number of floating-point operations: "950 FLOP", "2.10 GFLOP".
std::string flops_text(double flops);

}  // namespace weft
