// What published classes of tokenizers change in a text themselves, before SentencePiece sees it.
#pragma once

#include "weft/core/export.h"
#include "weft/models/tokenizers/parted_text.h"

namespace WEFT_API weft {

/// ALBERT's changes, and DeBERTa's. None of them is usual.
struct TextPreparation {
  bool single_blanks = false;      // runs of white space become a blank, those at the ends go
  bool quotes = false;             // `` and '' become "
  bool strip_accents = false;      // NFKD without combining characters
  bool lowercase = false;          // with a final sigma where one belongs
  bool split_punctuation = false;  // signs stand alone, and what is between them begins as a text
  /// Not before, but behind: a piece that ends in a digit and a comma is cut again without it.
  bool commas_apart = false;

  friend bool operator==(const TextPreparation&, const TextPreparation&) = default;
};

/// Changes the parts of `text`, all but the pieces.
void prepare(PartedText& text, const TextPreparation& preparation);

}  // namespace weft
