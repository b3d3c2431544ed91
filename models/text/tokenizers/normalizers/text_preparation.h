// Text changes that the tokenizer classes of published models make before SentencePiece
// normalisation.
#pragma once

#include "weft/core/export.h"
#include "weft/models/text/tokenizers/base/split_text.h"

namespace WEFT_API weft {

/// The text changes made by the tokenizers of ALBERT, DeBERTa and SigLIP, in the order in which
/// they are applied. All are disabled by default.
struct TextPreparation {
  bool remove_punctuation = false;  // remove ASCII punctuation (Python: string.punctuation)
  bool single_blanks = false;       // collapse runs of whitespace to one space and strip the ends
  bool quotes = false;              // replace `` and '' with "
  bool strip_accents = false;       // convert to NFKD and remove combining characters
  bool lowercase = false;           // with special handling of final sigmas
  bool split_punctuation = false;  // isolate punctuation; the text in between is encoded separately
  /// After segmentation, a piece that ends in a digit and a comma is segmented again without the
  /// comma.
  bool commas_apart = false;

  friend bool operator==(const TextPreparation&, const TextPreparation&) = default;
};

/// Applies all changes except `commas_apart`, which applies to pieces, to `text`.
void prepare(SplitText& text, const TextPreparation& preparation);

}  // namespace weft
