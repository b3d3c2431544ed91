#include "weft/models/tasks/text_similarity/similarity_head.h"

#include <fmt/format.h>

#include "weft/core/error.h"

namespace weft {
namespace {

constexpr std::string_view kSimilarityPoolings[] = {"cls", "mean"};
constexpr std::string_view kComparisons[] = {"joint", "cosine"};

}  // namespace

ChoiceNames choice_names(Pooling) { return {"pooling", kSimilarityPoolings}; }
ChoiceNames choice_names(Comparison) { return {"comparison", kComparisons}; }

void SimilarityHead::check() const {
  if (comparison == Comparison::cosine && !pairs) {
    throw ArgumentError("comparison 'cosine' requires text pairs: use 'joint' for single texts");
  }
  if (static_cast<float>(low) < static_cast<float>(high)) return;
  throw ArgumentError(fmt::format(
      "the highest score must be greater than the lowest score in float32, but they are {} and {}",
      high, low));
}

const FieldList<SimilarityHead>& SimilarityHead::fields() {
  static const auto list =
      FieldList<SimilarityHead>("the head of a similarity model")
          .added("comparison", &SimilarityHead::comparison,
                 "how two texts are compared: joint = in one row, with a linear layer; cosine = by "
                 "the cosine of their embeddings")
          .add("pooling", &SimilarityHead::pooling,
               "how token vectors are pooled: [CLS] (for joint, with a pooler), or the mean over "
               "all tokens")
          .add("pairs", &SimilarityHead::pairs, "text pairs instead of single texts")
          .add("low", &SimilarityHead::low, "the lowest training score")
          .add("high", &SimilarityHead::high, "the highest training score")
          .added("pooler", &SimilarityHead::pooler,
                 "activation of the pooler over [CLS]; weights from a folder determine it");
  return list;
}

}  // namespace weft
