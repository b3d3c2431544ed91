// Serialisation of generated texts and scores, for the exchange between ranks.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weft/models/generate/score.h"
#include "weft/models/tasks/common/uses.h"

namespace WEFT_API weft {

/// Serialises generated texts; the inverse is parse_written_texts().
std::string to_word(const std::vector<WrittenText>& texts);
std::vector<WrittenText> written_texts_of(std::string_view word);
/// Serialises scores; the inverse is parse_scores().
std::string to_word(const std::vector<ContinuationScore>& scores);
std::vector<ContinuationScore> scores_of(std::string_view word);

}  // namespace weft
