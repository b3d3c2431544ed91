// Functions and options that the trainers for SentencePiece models share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "weft/models/text/tokenizers/normalizers/sentence_piece_normalizer.h"
#include "weft/models/text/tokenizers/sentence_piece/sentence_piece_model.h"
#include "weft/models/text/tokenizers/subwords/piece_trie.h"
#include "weft/models/text/tokenizers/train/sentence_words.h"

namespace WEFT_API weft {

/// Options of the SentencePiece trainers.
struct SentencePieceTraining {
  /// Maximum vocabulary size, including "<unk>", "<s>" and "</s>". The vocabulary is smaller if the
  /// text does not yield enough pieces.
  std::int64_t vocab = 8000;
  /// User-defined symbols. Each symbol always has a single id, wherever it occurs in a text.
  std::vector<std::string> symbols = {};
  /// Fraction of the characters in the text that the vocabulary must cover, in (0, 1]. The
  /// remaining characters, which are the rarest ones, become unknown.
  double character_coverage = 0.9995;
  /// The name of the normalisation rules for texts. See character_rules().
  std::string normalization = "nmt_nfkc";
  /// If true, unknown characters are encoded as the ids of their bytes, which adds 256 byte pieces.
  bool byte_fallback = false;
  /// BPE only: pairs that occur fewer times than this do not become pieces.
  std::int64_t min_frequency = 2;
  /// Unigram only: the number of frequent substrings with which training starts.
  std::int64_t seed_pieces = 1000000;
};

/// Throws ArgumentError if an option is out of range.
void check_training(std::int64_t vocab, double character_coverage);
void check_training(const SentencePieceTraining& options);

/// Appends `symbols` to `pieces`. Throws ArgumentError if a symbol is empty or occurs twice.
void add_symbols(std::vector<SentencePieceModel::Piece>& pieces,
                 std::span<const std::string> symbols);
/// Returns a model that contains the special pieces, the symbols, the byte pieces and the
/// normalizer. Throws the same exceptions as check_training(), add_symbols() and character_rules().
SentencePieceModel begin_model(const SentencePieceTraining& options);
/// Returns the normalizer of `model`.
SentencePieceNormalizer training_normalizer(const SentencePieceModel& model);
/// Returns a trie that finds `symbols` in texts.
PieceTrie symbol_trie(std::span<const std::string> symbols);

/// Removes those `characters` that are also symbols, because symbols already have an id. Returns
/// the number of pieces that may be added to the pieces of the model and the characters. Throws
/// ArgumentError if `vocab` is too small.
std::size_t pieces_to_learn(std::int64_t vocab, const SentencePieceModel& model,
                            CountedCharacters& characters);

}  // namespace weft
