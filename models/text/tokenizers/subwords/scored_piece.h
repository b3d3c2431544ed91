// A piece of a model that assigns scores to its pieces.
#pragma once

#include <cstdint>
#include <string_view>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// The role of a piece in segmentation.
enum class PieceUse : std::uint8_t {
  normal,
  forced,  // a user-defined symbol: takes precedence over all pieces that overlap it
  step,    // BPE only: an intermediate merge, split again unless it is merged further
  none     // never matched in a text: control and byte pieces
};

struct ScoredPiece {
  std::string_view text;
  double score = 0;
  PieceUse use = PieceUse::normal;
};

}  // namespace weft
