// A piece of a model that goes by scores.
#pragma once

#include <cstdint>
#include <string_view>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// What a text may do with a piece.
enum class PieceUse : std::uint8_t {
  normal,
  forced,  // a user's symbol: wins over all that covers the same text
  step,    // of byte pairs: joined on the way to others, taken apart again where it is left
  none     // no text becomes it: control ids, bytes
};

struct ScoredPiece {
  std::string_view text;
  double score = 0;
  PieceUse use = PieceUse::normal;
};

}  // namespace weft
