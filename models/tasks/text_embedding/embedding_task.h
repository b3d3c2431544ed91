// Training and evaluation of text encoders on queries and passages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "weft/core/tensor.h"
#include "weft/graph/run/session.h"
#include "weft/models/data/formats/retrieval_pairs.h"
#include "weft/models/metrics/ranking_metrics.h"
#include "weft/models/tasks/text_embedding/embedding_model.h"
#include "weft/models/training/trainer.h"

namespace WEFT_API weft {

/// The distinct queries and passages of a data set. Negatives are passages, too.
struct RetrievalSet {
  std::vector<std::string> queries = {}, passages = {};
  std::vector<Relevance> relevant = {};  // of every query: its positives
  /// The indices of the texts of every line: the query, then the positive and the negatives.
  struct Line {
    std::size_t query = 0;
    std::vector<std::size_t> passages = {};
  };
  std::vector<Line> lines = {};

  explicit RetrievalSet(const RetrievalPairs& pairs);
};

/// Number of passages in rankings.
inline constexpr std::size_t kRankedPassages = 100;
/// The first passages for every query, as indices of RetrievalSet::passages.
using Rankings = std::vector<std::vector<std::size_t>>;

/// Returns the metrics "ndcg@10", "mrr@10", "recall@1", "recall@10" and "recall@100", the means
/// over all queries.
std::vector<Metric> ranking_metrics(const Rankings& rankings, const RetrievalSet& set);
/// Returns the mean recall@k for k = 1, 2, ..., kRankedPassages.
std::vector<double> recall_curve(const Rankings& rankings, const RetrievalSet& set);

/// The vectors of the texts of a set, before the model's own truncation and scaling.
struct SetVectors {
  Tensor queries, passages;
};
/// Computes the vectors of a set, from which rank_passages() and evaluate() compute any number of
/// results. `session` must run the model's graph with its store. Texts that are too long are
/// truncated.
SetVectors embed_set(Session& session, const TextEncoder& model, const RetrievalSet& set);

/// Ranks the passages of a set for every query by the similarity of the model's vectors. If
/// `dimensions` is not 0, only the first values of vectors are used.
Rankings rank_passages(const TextEncoder& model, const SetVectors& vectors,
                       std::int64_t dimensions = 0);
Rankings rank_passages(Session& session, const TextEncoder& model, const RetrievalSet& set,
                       std::int64_t dimensions = 0);

/// Returns the rankings of BM25 (features/bm25.h), with the more successful of two common settings
/// in terms of nDCG@10: k1 = 1.2, b = 0.75 and k1 = 0.9, b = 0.4. `name` describes it.
struct Bm25Baseline {
  std::string name;
  Rankings rankings;
};
Bm25Baseline bm25_baseline(const RetrievalSet& set);

/// Evaluates the model on held-out pairs: the contrastive loss, without dropout, in batches of
/// TrainSettings::batch consecutive lines, and ranking_metrics() over all passages of the pairs.
Evaluation evaluate(const TextEncoder& model, const RetrievalSet& set, const SetVectors& vectors);
Evaluation evaluate(Session& session, const TextEncoder& model, const RetrievalPairs& pairs);

/// Returns the training task. Training runs in epochs, which are shuffled independently.
/// Evaluations use `held_out` (may be null): all of it, or an evenly spaced sample during training.
/// Texts that are too long are truncated. All arguments must outlive the task.
TrainTask embedding_task(Session& session, const TextEncoder& model, const RetrievalPairs& train,
                         const RetrievalPairs* held_out);

}  // namespace weft
