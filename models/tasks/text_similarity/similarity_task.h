// Training and evaluation of similarity models, and a TF-IDF baseline.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "weft/graph/run/session.h"
#include "weft/models/tasks/text_similarity/similarity_model.h"
#include "weft/models/training/trainer.h"

namespace WEFT_API weft {

/// Returns the scores that the model predicts for the lines, on the scale of the data. The scores
/// in `lines` are ignored. `session` must run the model's graph with its store. Throws the same
/// exceptions as similarity_inputs().
std::vector<double> score_pairs(Session& session, const SimilarityModel& model,
                                std::span<const ScoredPair> lines);
/// As above, for lines that were read before (similarity_rows()).
std::vector<double> score_rows(Session& session, const SimilarityModel& model,
                               std::span<const SimilarityRows* const> lines);

/// Returns the correlations between predicted and expected scores: the metrics "pearson" and
/// "spearman", which do not depend on the scale of the scores. If all predicted scores are equal,
/// the correlations are 0. If all expected scores are equal, the correlations are undefined, and no
/// metrics are returned.
std::vector<Metric> correlations(std::span<const double> scores, std::span<const double> expected);

/// Evaluates the model on scored lines: the mean loss and correlations().
Evaluation evaluate(Session& session, const SimilarityModel& model, const ScoredPairs& data);

/// Returns the training task. Training runs in epochs, which are shuffled independently.
/// Evaluations use `held_out` (may be null): all of it, or an evenly spaced sample during training.
/// All arguments must outlive the task.
TrainTask similarity_task(Session& session, const SimilarityModel& model, const ScoredPairs& train,
                          const ScoredPairs* held_out);

/// Returns the scores of a baseline that does not use training scores: for every pair in `data`,
/// the cosine of the TF-IDF vectors of both texts. Word weights are computed from all texts in
/// `train`.
std::vector<double> tfidf_cosines(const ScoredPairs& train, const ScoredPairs& data);

}  // namespace weft
