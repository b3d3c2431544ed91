// How a classifier reads a text, and how the encoder's output becomes classes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "weft/models/fields/field_list.h"
#include "weft/models/layers/activation.h"

namespace WEFT_API weft {

/// What of the encoder's output stands for the whole text.
enum class Summary : std::uint8_t {
  cls,   // BERT's pooler over the first token
  mean,  // the mean over all tokens
  max,   // of every feature the largest value over all tokens
};
/// "cls", "mean", "max".
ChoiceNames choice_names(Summary);

/// The defaults are what files without this part do, and BERT's papers.
struct ClassifierHead {
  Summary summary = Summary::cls;
  bool lower_case = false;  // A to Z are read as a to z
  /// Every token of a training text is replaced by the unknown one with this probability, drawn
  /// anew for every step: no decision may rest on one word alone (Iyyer et al. 2015).
  double word_dropout = 0;
  /// Training texts of like length share a batch: little padding. (Without, a batch is drawn from
  /// all texts.)
  bool by_length = false;
  /// What stands for a text is parted into so many equal parts. Each learns the classes by a loss
  /// of its own, as if it were alone; what is said is the mean of their logits. Where the encoder's
  /// features do not meet either (a convolution in as many groups, no layers), these are so many
  /// models in one, which together err less than one does (Hansen and Salamon 1990).
  std::int64_t members = 1;
  /// Of the pooler: tanh, as BERT has it, or what the library's classes of the type have whose
  /// folder the weights came from.
  Activation pooler = Activation::tanh;

  /// Throws ArgumentError unless word_dropout is in [0, 1) and members at least 1.
  void check() const;
  /// Every field, with its help.
  static const FieldList<ClassifierHead>& fields();
  std::string to_json() const;
  /// Throws FormatError for a missing, unknown or wrongly typed field, ArgumentError as check().
  static ClassifierHead from_json(std::string_view json);
  /// The text as the tokenizer gets it.
  std::string read(std::string_view text) const;
  friend bool operator==(const ClassifierHead&, const ClassifierHead&) = default;
};

}  // namespace weft
