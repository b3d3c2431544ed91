// Scores of text pairs, and ranking of texts for a query, by cross-encoders: models that read both
// texts in one row.
//
//     const auto model = load_model_for(Use::rerank, "ms-marco-minilm").model;
//     Session session(*model->graph, model->store);
//     for (const RankedText& found : rerank(session, *model, "where is bob ?", texts, {.most = 3}))
//       std::printf("%.4f %s\n", found.score, texts[found.text].c_str());
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "weft/graph/run/session.h"
#include "weft/models/inputs/long_texts.h"
#include "weft/models/tasks/common/text_encoder.h"
#include "weft/models/training/model.h"

namespace WEFT_API weft {

/// Two texts that a cross-encoder reads together.
struct PairTexts {
  std::string first = {}, second = {};
};

/// The input rows of a pair: one row with both texts, or two rows for models that compare the
/// vectors of the texts.
using PairRows = std::vector<TextRow>;

/// Interface of the models that score text pairs.
class PairScorer {
 public:
  /// Returns the names of the scores of a pair: the labels of a classifier.
  virtual std::vector<std::string> score_names() const = 0;
  /// Encodes pairs. Throws ArgumentError if the model reads only single texts, and TextError if a
  /// text cannot be encoded. Texts that are too long are truncated; `on_cut` may be empty.
  virtual std::vector<PairRows> read_pairs(std::span<const PairTexts> pairs,
                                           const OnCut& on_cut) const = 0;
  /// Returns the outputs of the model's head for every pair: one per score name.
  virtual std::vector<std::vector<double>> pair_outputs(
      Session& session, std::span<const PairRows* const> pairs) const = 0;

 protected:
  ~PairScorer() = default;
};

/// Implements PairScorer for encoders from folders, with one row per pair. Pairs longer than the
/// maximum number of tokens in the folder are truncated, starting with the longer text.
/// `scores` is the number of score names; `output` [pairs] or [pairs, scores] is an output of
/// `program`.
std::vector<PairRows> rows_of_pairs(const EncoderModel& model, std::span<const PairTexts> pairs,
                                    const OnCut& on_cut, std::size_t scores);
std::vector<std::vector<double>> outputs_for_pairs(Session& session, const EncoderModel& model,
                                                   const Program& program,
                                                   const std::string& output,
                                                   std::span<const PairRows* const> pairs,
                                                   std::size_t scores);

/// Returns the scores of every pair, one per score name, as `CrossEncoder.predict` of Sentence
/// Transformers does: the outputs of the model after the activation function of its folder (by
/// default, the sigmoid for one label and none for several). Models trained by Weft return scores
/// on the scale of their data. `session` must run the model's graph with its store. Texts that are
/// too long are truncated; `on_cut` may be empty. Throws FormatError if the model does not score
/// pairs, and the same exceptions as PairScorer::read_pairs() and cross_encoder_settings().
std::vector<std::vector<double>> pair_scores(Session& session, const TrainedModel& model,
                                             std::span<const PairTexts> pairs,
                                             const OnCut& on_cut = {});
/// As above, for pairs that were read before (PairScorer::read_pairs()).
std::vector<std::vector<double>> pair_scores(Session& session, const TrainedModel& model,
                                             std::span<const PairRows* const> pairs);

/// A text and its score.
struct RankedText {
  std::size_t text = 0;  // index among the given texts
  double score = 0;
};
struct RerankOptions {
  std::optional<std::int64_t> most = {};  // maximum number of texts; empty: all
  /// The label whose score is used, for models with several labels.
  std::optional<std::string> label = {};
  OnCut on_cut = {};
};
/// Returns the index of the score that ranks texts, among PairScorer::score_names(). Throws
/// ArgumentError if the model has several labels and no label is given, or if it does not have this
/// label.
std::size_t ranking_score(const TrainedModel& model, const std::optional<std::string>& label);
/// Returns the texts with the greatest scores, in descending order; equal scores keep the order of
/// the texts.
std::vector<RankedText> ranked(std::span<const double> scores, std::optional<std::int64_t> most);
/// Scores the pairs of `query` and each text, and ranks the texts. Throws the same exceptions as
/// pair_scores() and ranking_score().
std::vector<RankedText> rerank(Session& session, const TrainedModel& model,
                               const std::string& query, std::span<const std::string> texts,
                               const RerankOptions& options = {});

}  // namespace weft
