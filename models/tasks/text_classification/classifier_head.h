// Options of a text classifier: text preprocessing, and the head of the encoder.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "weft/models/fields/field_list.h"
#include "weft/models/layers/activation.h"

namespace WEFT_API weft {

/// How encoder outputs are pooled into one vector per text.
enum class Summary : std::uint8_t {
  cls,   // BERT's pooler over the first token
  mean,  // the mean over all tokens
  max,   // the per-feature maximum over all tokens
};
/// "cls", "mean", "max".
ChoiceNames choice_names(Summary);

/// Options of the head. The defaults are from the BERT paper and apply to model files without this
/// part.
struct ClassifierHead {
  Summary summary = Summary::cls;
  bool lower_case = false;  // convert A to Z to lower case
  /// Probability that a token in a training text is replaced by the unknown token, sampled
  /// independently in every step. This keeps predictions from depending on single words (Iyyer et
  /// al. 2015).
  double word_dropout = 0;
  /// If true, training texts of similar length are batched together, which reduces padding. If
  /// false, batches are random.
  bool by_length = false;
  /// Number of equal parts that the text vector is split into. Each part is trained as a separate
  /// classifier with its own loss; the prediction is the mean of their logits. If the encoder does
  /// not mix the parts either (it has no layers, and a convolution with the same number of groups),
  /// the result is an ensemble, which has a lower error than a single model (Hansen and Salamon
  /// 1990).
  std::int64_t members = 1;
  /// Activation of the pooler: tanh, as in BERT, or the activation in the transformers class of the
  /// original folder.
  Activation pooler = Activation::tanh;

  /// Throws ArgumentError unless word_dropout is in [0, 1) and members is at least 1.
  void check() const;
  /// Returns all fields with their help texts.
  static const FieldList<ClassifierHead>& fields();
  /// Returns the preprocessed text, which is passed to the tokenizer.
  std::string read(std::string_view text) const;
  friend bool operator==(const ClassifierHead&, const ClassifierHead&) = default;
};

}  // namespace weft
