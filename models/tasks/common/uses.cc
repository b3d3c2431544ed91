#include "weft/models/tasks/common/uses.h"

#include <algorithm>

namespace weft {

std::vector<ClassScore> top_classes(const std::vector<std::string>& names,
                                    std::span<const double> probabilities, std::int64_t most) {
  std::vector<ClassScore> scores;
  for (std::size_t c = 0; c < names.size(); ++c) scores.push_back({names[c], probabilities[c]});
  std::stable_sort(scores.begin(), scores.end(), [](const ClassScore& a, const ClassScore& b) {
    return a.probability > b.probability;
  });
  scores.resize(std::min(scores.size(), static_cast<std::size_t>(std::max<std::int64_t>(most, 0))));
  return scores;
}

std::vector<std::vector<ClassScore>> TextsClassifier::most_likely_classes(
    Session& session, const std::vector<std::string>& texts, const ClassifyOptions& options) const {
  const std::vector<TextRow> rows = read_texts(texts, options.on_cut);
  std::vector<const TextRow*> places;
  for (const TextRow& row : rows) places.push_back(&row);
  std::vector<std::vector<ClassScore>> result;
  for (const std::vector<double>& probabilities : class_probabilities(session, places))
    result.push_back(top_classes(class_names(), probabilities, options.most));
  return result;
}

std::vector<std::vector<ClassScore>> most_likely_classes(Session& session,
                                                         const TrainedModel& model,
                                                         const std::vector<std::string>& inputs,
                                                         const ClassifyOptions& options) {
  return model.as<Classifier>(Use::classify).most_likely_classes(session, inputs, options);
}

}  // namespace weft
