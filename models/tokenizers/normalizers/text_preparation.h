// Text changes that published tokenizer classes make before SentencePiece.
#pragma once

#include "weft/core/export.h"
#include "weft/models/tokenizers/split_text.h"

namespace WEFT_API weft {

/// The text changes of ALBERT's and DeBERTa's tokenizers. All are off by default.
struct TextPreparation {
  bool single_blanks = false;      // collapse runs of whitespace to one space, strip the ends
  bool quotes = false;             // replace `` and '' with "
  bool strip_accents = false;      // convert to NFKD and drop combining characters
  bool lowercase = false;          // with correct final sigmas
  bool split_punctuation = false;  // isolate punctuation; text in between is encoded separately
  /// Applied after segmentation: a piece that ends in a digit and a comma is segmented again
  /// without the comma.
  bool commas_apart = false;

  friend bool operator==(const TextPreparation&, const TextPreparation&) = default;
};

/// Applies all changes to `text` except `commas_apart`, which concerns pieces.
void prepare(SplitText& text, const TextPreparation& preparation);

}  // namespace weft
