#include "weft/models/tasks/text_similarity/similarity_head.h"

#include <fmt/format.h>

#include "weft/core/error.h"

namespace weft {
namespace {

constexpr std::string_view kPoolings[] = {"cls", "mean"};

}  // namespace

ChoiceNames choice_names(Pooling) { return {"pooling", kPoolings}; }

void SimilarityHead::check() const {
  if (static_cast<float>(low) < static_cast<float>(high)) return;
  throw ArgumentError(fmt::format(
      "the greatest score must be above the least one in float32: they are {} and {}", high, low));
}

const FieldList<SimilarityHead>& SimilarityHead::fields() {
  static const auto list =
      FieldList<SimilarityHead>("the head of a similarity model")
          .add("pooling", &SimilarityHead::pooling,
               "what the score is computed from: [CLS] through a pooler, or the mean of all tokens")
          .add("pairs", &SimilarityHead::pairs, "pairs of texts, not texts that stand alone")
          .add("low", &SimilarityHead::low, "the least score of training")
          .add("high", &SimilarityHead::high, "the greatest score of training");
  return list;
}

std::string SimilarityHead::to_json() const { return fields().to_json(*this); }

SimilarityHead SimilarityHead::from_json(std::string_view json) { return fields().from_json(json); }

}  // namespace weft
