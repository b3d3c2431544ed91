// What those who learn SentencePiece's models have in common.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "weft/models/tokenizers/formats/sentence_piece_model.h"
#include "weft/models/tokenizers/normalizers/sentence_piece_normalizer.h"
#include "weft/models/tokenizers/subwords/piece_trie.h"
#include "weft/models/tokenizers/train/sentence_words.h"

namespace WEFT_API weft {

struct SentencePieceTraining {
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
  /// Pairs: rarer ones do not become a piece.
  std::int64_t min_frequency = 2;
  /// Unigrams: with how many of the most frequent parts of words learning begins.
  std::int64_t seed_pieces = 1000000;
};

/// Throws ArgumentError for what is out of range.
void check_training(std::int64_t vocab, double character_coverage);
void check_training(const SentencePieceTraining& options);

/// Behind `pieces`. Throws ArgumentError for an empty one, and one that is there.
void add_symbols(std::vector<SentencePieceModel::Piece>& pieces,
                 std::span<const std::string> symbols);
/// A model of the special pieces, symbols and bytes, with its normalizer. Throws as
/// check_training() and add_symbols(), and for rules that are not known.
SentencePieceModel begin_model(const SentencePieceTraining& options);
SentencePieceNormalizer training_normalizer(const SentencePieceModel& model);
PieceTrie symbol_trie(std::span<const std::string> symbols);

/// Leaves out `characters` that are symbols: these are their ids. The result says how many pieces
/// there may be beside the model's and these. Throws ArgumentError where `vocab` is too small.
std::size_t pieces_to_learn(std::int64_t vocab, const SentencePieceModel& model,
                            CountedCharacters& characters);

}  // namespace weft
