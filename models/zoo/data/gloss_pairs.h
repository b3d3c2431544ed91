// Pairs of example sentences and definitions from WordNet, for training text embeddings.
#pragma once

#include <string>

#include "weft/models/data/formats/retrieval_pairs.h"
#include "weft/models/vectors/wordnet.h"

namespace weft::zoo {

/// Returns a pair for each example in quotation marks in the gloss of a synset: the query is the
/// example, and the passage is the definition that precedes the examples. A gloss without a
/// definition or examples gives no pairs.
RetrievalPairs gloss_pairs(const WordNetEntry& entry);

/// Returns the pairs of all synsets in a WordNet folder, which contains data.noun, data.verb,
/// data.adj and data.adv. Throws the same exceptions as for_each_synset().
RetrievalPairs read_gloss_pairs(const std::string& folder);

}  // namespace weft::zoo
