// Trains SentencePiece BPE models by merging pairs of characters.
#pragma once

#include "weft/core/parallel.h"
#include "weft/models/text/tokenizers/sentence_piece/sentence_piece.h"
#include "weft/models/text/tokenizers/train/sentence_piece_training.h"
#include "weft/models/text/tokenizers/train/text_source.h"

namespace WEFT_API weft {

/// Trains a model on the lines of `texts` in the same way as SentencePiece. The result depends only
/// on the texts and options, not on the number of threads. Memory usage grows with the number of
/// distinct words, not with the size of the texts. Pieces contain no space except at the start,
/// have characters of one script only, and have at most 16 characters. Throws ArgumentError if an
/// option is out of range or the vocabulary is too small for the characters.
SentencePieceTokenizer train_character_bpe(TextSource& texts, const SentencePieceTraining& options,
                                           Workers& workers);

/// Implements SentencePieceTokenizer::train(), which uses Weft's own rules for pieces and treats
/// line breaks as part of the texts. Each part of `texts` is treated as a separate text.
SentencePieceTokenizer train_own_bpe(TextSource& texts, const SentencePieceOptions& options,
                                     Workers& workers);

}  // namespace weft
