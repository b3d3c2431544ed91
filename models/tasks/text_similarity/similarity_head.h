// How an encoder's output becomes a score.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "weft/models/fields/field_list.h"
#include "weft/models/layers/activation.h"

namespace WEFT_API weft {

/// What of the encoder's output the score is computed from.
enum class Pooling : std::uint8_t {
  cls,   // the first token; joint: through BERT's pooler
  mean,  // the mean over all tokens
};
/// "cls", "mean".
ChoiceNames choice_names(Pooling);

/// How two texts are compared.
enum class Comparison : std::uint8_t {
  joint,   // both in one row, so that tokens of one see those of the other; a layer on top
  cosine,  // each in a row of its own: the cosine of their vectors (Reimers and Gurevych 2019)
};
/// "joint", "cosine".
ChoiceNames choice_names(Comparison);

struct SimilarityHead {
  Comparison comparison = Comparison::joint;
  Pooling pooling = Pooling::cls;
  bool pairs = true;  // false: texts that stand alone
  /// The least and the greatest score of training: the model learns them as 0 and 1.
  double low = 0, high = 1;
  /// Of the pooler: tanh, as BERT has it, or what the library's classes of the type have whose
  /// folder the weights came from.
  Activation pooler = Activation::tanh;

  /// Throws ArgumentError unless low is below high, in float32 too, and for a cosine where there is
  /// one text.
  void check() const;
  /// Every field, with its help.
  static const FieldList<SimilarityHead>& fields();
  std::string to_json() const;
  /// Throws FormatError for a missing, unknown or wrongly typed field, ArgumentError as check().
  static SimilarityHead from_json(std::string_view json);
  friend bool operator==(const SimilarityHead&, const SimilarityHead&) = default;
};

}  // namespace weft
