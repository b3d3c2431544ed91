// Upper limits for the sizes in a configuration. A file or a command line can contain any number. A
// size far beyond every existing model is a mistake, and building its graph would take minutes
// before an error could be reported. Products of these limits fit in 64 bits.
#pragma once

#include <cstdint>

#include "weft/core/export.h"

namespace WEFT_API weft {
namespace size_limits {

inline constexpr std::int64_t kLayers = 4096;
inline constexpr std::int64_t kHeads = 1 << 16;
inline constexpr std::int64_t kExperts = 1 << 16;
inline constexpr std::int64_t kWidth = 1 << 20;      // hidden states and heads
inline constexpr std::int64_t kInner = 1 << 24;      // feed-forward blocks
inline constexpr std::int64_t kVocab = 1 << 28;      // token ids
inline constexpr std::int64_t kPositions = 1 << 24;  // tokens per row
inline constexpr std::int64_t kPixels = 1 << 16;     // side length of an image, number of channels

}  // namespace size_limits
}  // namespace weft
