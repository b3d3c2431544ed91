// What ranks write, as they tell it to one another.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weft/models/generate/score.h"
#include "weft/models/tasks/common/uses.h"

namespace WEFT_API weft {

/// Texts as a word, and the inverse.
std::string to_word(const std::vector<WrittenText>& texts);
std::vector<WrittenText> written_texts_of(std::string_view word);
/// The same of scores.
std::string to_word(const std::vector<ContinuationScore>& scores);
std::vector<ContinuationScore> scores_of(std::string_view word);

}  // namespace weft
