// Trains and measures an n-gram model: one row of the comparison table.
#pragma once

#include "weft/models/zoo/compare/measure_network.h"

namespace weft::zoo {

/// Trains an interpolated Kneser-Ney model. The order, from 2 to 10, is the one with the lowest
/// loss on the last tenth of the training set when the model is trained on the rest; the final
/// model is trained on all of it. Its parameters are the stored counts; their number follows from
/// the text and cannot be chosen.
LanguageRow measure_ngram(const Comparison& common);

}  // namespace weft::zoo
