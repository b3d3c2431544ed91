// Common parts of the trainers for SentencePiece models.
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

/// Options of the SentencePiece trainers.
struct SentencePieceTraining {
  /// Maximum vocabulary size, including "<unk>", "<s>" and "</s>". The result is smaller if the
  /// text does not yield enough pieces.
  std::int64_t vocab = 8000;
  /// User-defined symbols: each is always one id, wherever it occurs in a text.
  std::vector<std::string> symbols = {};
  /// Fraction of the text's characters that the vocabulary must cover, in (0, 1]. The rarest
  /// characters beyond that are unknown.
  double character_coverage = 0.9995;
  /// The normalisation of texts: a name that character_rules() accepts.
  std::string normalization = "nmt_nfkc";
  /// Unknown characters become the ids of their bytes, which adds 256 byte pieces.
  bool byte_fallback = false;
  /// BPE only: rarer pairs do not become a piece.
  std::int64_t min_frequency = 2;
  /// Unigram only: the number of frequent substrings with which training starts.
  std::int64_t seed_pieces = 1000000;
};

/// Throws ArgumentError for options out of range.
void check_training(std::int64_t vocab, double character_coverage);
void check_training(const SentencePieceTraining& options);

/// Appends `symbols` to `pieces`. Throws ArgumentError for an empty or duplicate symbol.
void add_symbols(std::vector<SentencePieceModel::Piece>& pieces,
                 std::span<const std::string> symbols);
/// Returns a model with the special pieces, symbols and byte pieces, and its normalizer. Throws as
/// check_training(), add_symbols() and character_rules().
SentencePieceModel begin_model(const SentencePieceTraining& options);
/// Returns the normalizer of `model`.
SentencePieceNormalizer training_normalizer(const SentencePieceModel& model);
/// Returns a trie that finds `symbols` in texts.
PieceTrie symbol_trie(std::span<const std::string> symbols);

/// Removes those `characters` that are symbols, which already have an id. Returns the number of
/// pieces that may be added to those of the model and the characters. Throws ArgumentError if
/// `vocab` is too small.
std::size_t pieces_to_learn(std::int64_t vocab, const SentencePieceModel& model,
                            CountedCharacters& characters);

}  // namespace weft
