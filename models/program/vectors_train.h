// weft vectors train, and how a measurement of vectors is said.
#pragma once

#include <string>

#include "weft/models/program/commands.h"
#include "weft/models/vectors/word_similarity.h"

namespace weft::program {

void add_vectors_train(CLI::App& parent, Action& action);

/// "Spearman 0.5456 of 347 of 353 pairs of FILE".
void say_similarity(const std::string& file, const WordSimilarity& found);

}  // namespace weft::program
