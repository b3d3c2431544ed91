// Serialisation of generated texts and scores for exchange between ranks.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weft/models/generate/score.h"
#include "weft/models/tasks/common/uses.h"

namespace WEFT_API weft {

/// Serialises generated texts; the inverse is parse_written_texts().
std::string serialise(const std::vector<WrittenText>& texts);
std::vector<WrittenText> parse_written_texts(std::string_view bytes);
/// Serialises scores; the inverse is parse_scores().
std::string serialise(const std::vector<ContinuationScore>& scores);
std::vector<ContinuationScore> parse_scores(std::string_view bytes);

}  // namespace weft
