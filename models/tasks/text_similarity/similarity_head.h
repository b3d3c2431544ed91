// Head options for similarity models.
#pragma once

#include <cstdint>

#include "weft/models/fields/field_list.h"
#include "weft/models/layers/activation.h"

namespace WEFT_API weft {

/// How encoder outputs are pooled into one vector.
enum class Pooling : std::uint8_t {
  cls,   // the first token; for Comparison::joint, followed by BERT's pooler
  mean,  // the mean over all tokens
};
/// "cls", "mean".
ChoiceNames choice_names(Pooling);

/// How two texts are compared.
enum class Comparison : std::uint8_t {
  joint,   // both in one row, so that their tokens attend to each other; scored by a linear layer
  cosine,  // each in a separate row; the cosine of their vectors (Reimers and Gurevych 2019)
};
/// "joint", "cosine".
ChoiceNames choice_names(Comparison);

struct SimilarityHead {
  Comparison comparison = Comparison::joint;
  Pooling pooling = Pooling::cls;
  bool pairs = true;  // false: single texts
  /// The lowest and the highest training score. The model is trained on scores scaled to [0, 1].
  double low = 0, high = 1;
  /// Activation of the pooler: tanh, as in BERT, or the activation in the transformers class of the
  /// original folder.
  Activation pooler = Activation::tanh;

  /// Throws ArgumentError unless low < high in float32, and if Comparison::cosine is used for
  /// single texts.
  void check() const;
  /// Returns all fields with their help texts.
  static const FieldList<SimilarityHead>& fields();
  friend bool operator==(const SimilarityHead&, const SimilarityHead&) = default;
};

}  // namespace weft
