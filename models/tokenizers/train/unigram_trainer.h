// Unigram models from texts (Kudo 2018), as SentencePiece learns them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "weft/core/parallel.h"
#include "weft/models/tokenizers/sentence_piece.h"
#include "weft/models/tokenizers/train/text_source.h"

namespace weft {

struct UnigramOptions {
  /// Ids, "<unk>", "<s>" and "</s>" among them: at most so many, fewer where the text does not give
  /// them.
  std::int64_t vocab = 8000;
  /// Always one id each, wherever they stand in a text.
  std::vector<std::string> symbols = {};
  /// Share of the text's characters that the vocabulary must have, in (0, 1]; the rarest of the
  /// rest are unknown.
  double character_coverage = 0.9995;
  /// How texts are changed before: one of the names that character_rules() knows.
  std::string normalization = "nmt_nfkc";
  /// Unknown characters become the ids of their bytes, of which there are 256.
  bool byte_fallback = false;
  /// How many of the most frequent parts of words it begins with.
  std::int64_t seed_pieces = 1000000;
};

/// Learns pieces from the lines of `texts`: a function of texts and options, whatever the number of
/// threads. Memory grows with the words that differ, not with the texts. No piece has a blank
/// inside, or characters of several scripts, or more than 16 characters. Throws ArgumentError for
/// options out of range and a vocabulary that is too small for the characters.
SentencePieceTokenizer train_unigram(TextSource& texts, const UnigramOptions& options,
                                     Workers& workers);
/// The same of texts in memory, on all threads.
SentencePieceTokenizer train_unigram(std::span<const std::string> texts,
                                     const UnigramOptions& options = {});

}  // namespace weft
