// Unigram models from texts (Kudo 2018), as SentencePiece learns them.
#pragma once

#include <span>
#include <string>

#include "weft/core/parallel.h"
#include "weft/models/tokenizers/sentence_piece.h"
#include "weft/models/tokenizers/train/sentence_piece_training.h"
#include "weft/models/tokenizers/train/text_source.h"

namespace WEFT_API weft {

/// Learns pieces from the lines of `texts`: a function of texts and options, whatever the number of
/// threads. Memory grows with the words that differ, not with the texts. No piece has a blank
/// inside, or characters of several scripts, or more than 16 characters. Throws ArgumentError for
/// options out of range and a vocabulary that is too small for the characters.
SentencePieceTokenizer train_unigram(TextSource& texts, const SentencePieceTraining& options,
                                     Workers& workers);
/// The same of texts in memory, on all threads.
SentencePieceTokenizer train_unigram(std::span<const std::string> texts,
                                     const SentencePieceTraining& options = {});

}  // namespace weft
