#include "weft/models/tasks/text_similarity/similarity_head.h"

#include <fmt/format.h>

#include "weft/core/error.h"

namespace weft {
namespace {

constexpr std::string_view kPoolings[] = {"cls", "mean"};
constexpr std::string_view kComparisons[] = {"joint", "cosine"};

}  // namespace

ChoiceNames choice_names(Pooling) { return {"pooling", kPoolings}; }
ChoiceNames choice_names(Comparison) { return {"comparison", kComparisons}; }

void SimilarityHead::check() const {
  if (comparison == Comparison::cosine && !pairs) {
    throw ArgumentError(
        "comparison cosine is of two texts: texts that stand alone have the comparison joint");
  }
  if (static_cast<float>(low) < static_cast<float>(high)) return;
  throw ArgumentError(fmt::format(
      "the greatest score must be above the least one in float32: they are {} and {}", high, low));
}

const FieldList<SimilarityHead>& SimilarityHead::fields() {
  static const auto list =
      FieldList<SimilarityHead>("the head of a similarity model")
          .added("comparison", &SimilarityHead::comparison,
                 "how two texts are compared: joint, in one row with a layer on top, or by the "
                 "cosine of their vectors, which weft embed gives")
          .add("pooling", &SimilarityHead::pooling,
               "what a score or a vector is computed from: [CLS] (joint: through a pooler), or the "
               "mean of all tokens")
          .add("pairs", &SimilarityHead::pairs, "pairs of texts, not texts that stand alone")
          .add("low", &SimilarityHead::low, "the least score of training")
          .add("high", &SimilarityHead::high, "the greatest score of training")
          .added("pooler", &SimilarityHead::pooler,
                 "activation of the pooler over [CLS]; of weights from a folder that of its type");
  return list;
}

std::string SimilarityHead::to_json() const { return fields().to_json(*this); }

SimilarityHead SimilarityHead::from_json(std::string_view json) { return fields().from_json(json); }

}  // namespace weft
