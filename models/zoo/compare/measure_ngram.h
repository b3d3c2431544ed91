// Trains and measures an n-gram model for one row of the comparison table.
#pragma once

#include "weft/models/zoo/compare/measure_network.h"

namespace weft::zoo {

/// Trains an interpolated Kneser-Ney model and measures it. To select the order (from 2 to 10),
/// models are trained on the first nine tenths of the training set, and the order with the lowest
/// loss on the last tenth is used. The final model is trained on the whole training set. The stored
/// counts are its parameters; their number depends on the text and cannot be chosen.
LanguageRow measure_ngram(const Comparison& common);

}  // namespace weft::zoo
