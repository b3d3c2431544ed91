// Trains tokenizers in the form of a tokenizer.json.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/parallel.h"
#include "weft/models/fields/choice.h"
#include "weft/models/tokenizers/subword_tokenizer.h"
#include "weft/models/tokenizers/train/text_source.h"

namespace WEFT_API weft {

/// The kinds of tokenizers that can be trained. byte_bpe: byte-level BPE, as GPT-2's.
/// character_bpe: character-level BPE, trained as in SentencePiece; with byte_fallback, as LLaMA's.
/// wordpiece: as BERT's. unigram: as T5's, trained as in SentencePiece. word: whole words and runs
/// of punctuation.
enum class LearnedKind : std::uint8_t { byte_bpe, character_bpe, wordpiece, unigram, word };
inline constexpr std::array<std::string_view, 5> kLearnedKindNames = {
    "byte-bpe", "bpe", "wordpiece", "unigram", "word"};
inline ChoiceNames choice_names(LearnedKind) { return {"kind", kLearnedKindNames}; }

/// Options that are not set have the default of the kind, given in parentheses. Options that a kind
/// does not support must not be set.
struct TokenizerTrainerOptions {
  LearnedKind kind = LearnedKind::byte_bpe;
  /// Maximum number of ids. The result has fewer if the texts do not yield enough pieces.
  std::int64_t vocab = 8000;
  /// Tokens that get the first ids and are recognised anywhere in a text. If not set:
  /// default_special_tokens().
  std::optional<std::vector<std::string>> special_tokens = {};
  /// Rarer pairs are not merged (byte_bpe, character_bpe, wordpiece: 2); rarer words have no id
  /// (word: 1).
  std::optional<std::int64_t> min_frequency = {};
  /// Maximum number of single characters with an id (wordpiece: 1000; byte_bpe: no limit).
  std::optional<std::int64_t> limit_alphabet = {};
  /// Characters that get an id even if they do not occur (byte_bpe: all 256 bytes; wordpiece:
  /// none).
  std::optional<std::u32string> initial_alphabet = {};
  /// wordpiece: the prefix of pieces that continue a word ("##").
  std::optional<std::string> continuing_subword_prefix = {};
  /// byte_bpe: see BpeTrainerOptions.
  std::optional<std::int64_t> max_token_length = {};
  /// byte_bpe: insert a space in front of texts, so that the first word is encoded like any other
  /// (false).
  std::optional<bool> add_prefix_space = {};
  /// wordpiece: convert to lower case and strip accents (true). word: convert to lower case
  /// (false).
  std::optional<bool> lowercase = {};
  /// character_bpe, unigram: see SentencePieceTraining (0.9995, "nmt_nfkc", false).
  std::optional<double> character_coverage = {};
  std::optional<std::string> normalization = {};
  std::optional<bool> byte_fallback = {};
};

/// Returns the default special tokens of a kind. byte_bpe: <|endoftext|>; character_bpe: <unk>, <s>
/// and </s>; wordpiece: [PAD], [UNK], [CLS], [SEP] and [MASK]; unigram: <pad>, </s> and <unk>;
/// word: <pad>, <unk>, <s> and </s>.
std::vector<std::string> default_special_tokens(LearnedKind kind);

/// Trains a tokenizer. The result depends on texts and options only, not on the number of threads.
/// Memory grows with the number of distinct words, not with the size of the texts. If the special
/// tokens of BERT, LLaMA or T5 are among the special tokens, the tokenizer adds them around texts
/// in the same way: [CLS] and [SEP] for any kind, <s> in front of a text for character_bpe, </s>
/// after a text for unigram.
///
/// Throws ArgumentError for options that the kind does not support or that are out of range, if the
/// kind needs an unknown token ("<unk>" or "[UNK]") and the special tokens have none, and if the
/// vocabulary is too small for special tokens and characters. Passes on exceptions of `texts`.
SubwordTokenizer train_tokenizer(TextSource& texts, const TokenizerTrainerOptions& options,
                                 Workers& workers);

}  // namespace weft
