// The command `weft vectors train`, and the output of a similarity evaluation.
#pragma once

#include <string>

#include "weft/models/program/options/action.h"
#include "weft/models/vectors/word_similarity.h"

namespace CLI {
class App;
}

namespace weft::program {

void add_vectors_train(CLI::App& parent, Action& action);

/// Prints "Spearman  0.5456 on 347 of 353 pairs of FILE".
void say_similarity(const std::string& file, const WordSimilarity& found);

}  // namespace weft::program
