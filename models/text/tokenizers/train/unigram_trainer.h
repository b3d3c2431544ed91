// Trains unigram models (Kudo 2018) in the same way as SentencePiece.
#pragma once

#include <span>
#include <string>

#include "weft/core/parallel.h"
#include "weft/models/text/tokenizers/sentence_piece/sentence_piece.h"
#include "weft/models/text/tokenizers/train/sentence_piece_training.h"
#include "weft/models/text/tokenizers/train/text_source.h"

namespace WEFT_API weft {

/// Trains a model on the lines of `texts`. The result depends only on the texts and options, not on
/// the number of threads. Memory usage grows with the number of distinct words, not with the size
/// of the texts. Pieces contain no space except at the start, have characters of one script only,
/// and have at most 16 characters. Throws ArgumentError if an option is out of range or the
/// vocabulary is too small for the characters.
SentencePieceTokenizer train_unigram(TextSource& texts, const SentencePieceTraining& options,
                                     Workers& workers);
/// As above, for texts in memory. Uses all threads.
SentencePieceTokenizer train_unigram(std::span<const std::string> texts,
                                     const SentencePieceTraining& options = {});

}  // namespace weft
