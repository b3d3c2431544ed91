// An n-gram model is counted and measured: a row of the table.
#pragma once

#include "weft/models/zoo/compare/measure_network.h"

namespace weft::zoo {

/// Interpolated Kneser-Ney. The order is that of the least loss, from 2 to 10, over the last tenth
/// of the training part when the rest is counted; then all of it is. Its parameters are the counts
/// that it keeps, whose number nobody chooses.
LanguageRow measure_ngram(const Comparison& common);

}  // namespace weft::zoo
