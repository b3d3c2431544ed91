// Training similarity models, and what they and guesses are worth.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "weft/graph/run/session.h"
#include "weft/models/tasks/text_similarity/similarity_model.h"
#include "weft/models/train/trainer.h"

namespace WEFT_API weft {

/// What the model says of every line, in the data's scale; the lines' own scores are not read.
/// `session` runs the model's graph over its store. Throws as similarity_inputs().
std::vector<double> score_pairs(Session& session, const SimilarityModel& model,
                                std::span<const ScoredPair> lines);

/// How well scores follow those of the data, in whatever scale: the metrics "pearson" and
/// "spearman". Scores that are all the same follow nothing: 0. There are no metrics where those of
/// the data are all the same, which nothing can follow.
std::vector<Metric> correlations(std::span<const double> scores, std::span<const double> wanted);

/// On lines with scores: the mean loss and correlations().
Evaluation evaluate(Session& session, const SimilarityModel& model, const ScoredPairs& data);

/// Training in epochs, each in an order of its own; evaluation on all of `held_out` (may be null).
/// Everything must outlive the task.
TrainTask similarity_task(Session& session, const SimilarityModel& model, const ScoredPairs& train,
                          const ScoredPairs* held_out);

/// What is said without learning from scores: of every pair of `data` the cosine of its texts as
/// TF-IDF vectors of words, weighted as all texts of `train` say.
std::vector<double> tfidf_cosines(const ScoredPairs& train, const ScoredPairs& data);

}  // namespace weft
