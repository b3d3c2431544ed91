// Metrics of rankings: nDCG, reciprocal rank and recall, as computed by trec_eval and BEIR.
#pragma once

#include <cstddef>
#include <map>
#include <span>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// The relevant documents of a query: relevance grades above 0 by document index. Most data sets
/// have only the grade 1.
using Relevance = std::map<std::size_t, double>;

// In the functions below, `ranking` contains document indices, the best document first, without
// duplicates. It may contain only the first documents, but then at least k of them. `k` is the
// number of documents that count. All results are in [0, 1]. The functions throw ArgumentError if
// `k` is 0 or no document is relevant, because the metrics are then undefined.

/// Returns the normalised discounted cumulative gain (Jarvelin and Kekalainen 2002): the sum of
/// grade / log2(rank + 1) over the first k documents, with ranks from 1, divided by that of the
/// best possible ranking.
double ndcg(std::span<const std::size_t> ranking, const Relevance& relevant, std::size_t k);

/// Returns 1 / rank of the first relevant document, or 0 if it is not among the first k. The mean
/// over queries is MRR@k.
double reciprocal_rank(std::span<const std::size_t> ranking, const Relevance& relevant,
                       std::size_t k);

/// Returns the fraction of the relevant documents that are among the first k.
double recall(std::span<const std::size_t> ranking, const Relevance& relevant, std::size_t k);

}  // namespace weft
