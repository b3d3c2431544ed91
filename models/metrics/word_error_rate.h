// The word error rate of speech recognition.
#pragma once

#include <string>
#include <vector>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// Returns the word error rate (Levenshtein distance in words): the number of words that must be
/// substituted, deleted and inserted to turn outputs[i] into references[i], summed over all i and
/// divided by the number of reference words. Words are separated by white space; nothing else is
/// normalised. The result may exceed 1, and is 0 if there are neither words nor references. Throws
/// ArgumentError unless there is one output per reference, and DataError if the references have no
/// words but the outputs have.
double word_error_rate(const std::vector<std::string>& outputs,
                       const std::vector<std::string>& references);

}  // namespace weft
