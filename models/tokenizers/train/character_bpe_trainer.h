// Byte pairs of characters learned from texts, as models of SentencePiece.
#pragma once

#include "weft/core/parallel.h"
#include "weft/models/tokenizers/sentence_piece.h"
#include "weft/models/tokenizers/train/sentence_piece_training.h"
#include "weft/models/tokenizers/train/text_source.h"

namespace WEFT_API weft {

/// Learns pieces from the lines of `texts` as SentencePiece does: a function of texts and options,
/// whatever the number of threads. Memory grows with the words that differ, not with the texts. No
/// piece has a blank inside, or characters of several scripts, or more than 16 characters. Throws
/// ArgumentError for options out of range and a vocabulary that is too small for the characters.
SentencePieceTokenizer train_character_bpe(TextSource& texts, const SentencePieceTraining& options,
                                           Workers& workers);

/// What SentencePieceTokenizer::train() learns: by rules of Weft's own, and of texts that keep
/// their line ends. Each part of `texts` begins as a text does.
SentencePieceTokenizer train_own_bpe(TextSource& texts, const SentencePieceOptions& options,
                                     Workers& workers);

}  // namespace weft
