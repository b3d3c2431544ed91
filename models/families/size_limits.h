// The largest sizes that a configuration may have. A file or a command line can ask for any number;
// far beyond what has ever been built, it is a mistake, and building the graph of it would take
// minutes before anything else could be said. Products of these sizes fit 64 bits.
#pragma once

#include <cstdint>

#include "weft/core/export.h"

namespace WEFT_API weft {
namespace size_limits {

inline constexpr std::int64_t kLayers = 4096;
inline constexpr std::int64_t kHeads = 1 << 16;
inline constexpr std::int64_t kWidth = 1 << 20;      // of hidden states and heads
inline constexpr std::int64_t kInner = 1 << 24;      // of feed-forward blocks
inline constexpr std::int64_t kVocab = 1 << 28;      // ids
inline constexpr std::int64_t kPositions = 1 << 24;  // tokens of a row
inline constexpr std::int64_t kPixels = 1 << 16;     // of a side of an image, and its channels

}  // namespace size_limits
}  // namespace weft
