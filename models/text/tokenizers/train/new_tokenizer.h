// Trains tokenizers that can be stored as a tokenizer.json.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/parallel.h"
#include "weft/models/fields/choice.h"
#include "weft/models/text/tokenizers/subword_tokenizer.h"
#include "weft/models/text/tokenizers/train/text_source.h"

namespace WEFT_API weft {

/// The kinds of tokenizers that can be trained. byte_bpe: byte-level BPE as in GPT-2.
/// character_bpe: character-level BPE, trained as in SentencePiece; with byte_fallback, as in
/// LLaMA. wordpiece: WordPiece as in BERT. unigram: a unigram model as in T5, trained as in
/// SentencePiece. word: whole words and runs of punctuation.
enum class LearnedKind : std::uint8_t { byte_bpe, character_bpe, wordpiece, unigram, word };
inline constexpr std::array<std::string_view, 5> kLearnedKindNames = {
    "byte-bpe", "bpe", "wordpiece", "unigram", "word"};
inline ChoiceNames choice_names(LearnedKind) { return {"kind", kLearnedKindNames}; }

/// Options for training a tokenizer. If an option is not set, the default for the kind applies,
/// which is given in parentheses. Options that a kind does not support must not be set.
struct TokenizerTrainerOptions {
  LearnedKind kind = LearnedKind::byte_bpe;
  /// Maximum number of ids. The tokenizer has fewer ids if the texts do not yield enough pieces.
  std::int64_t vocab = 8000;
  /// Tokens that have the first ids and are recognised anywhere in a text. The default is
  /// default_special_tokens().
  std::optional<std::vector<std::string>> special_tokens = {};
  /// Pairs that occur fewer times than this are not merged (byte_bpe, character_bpe, wordpiece: 2).
  /// Words that occur fewer times have no id (word: 1).
  std::optional<std::int64_t> min_frequency = {};
  /// Maximum number of single characters with an id (wordpiece: 1000; byte_bpe: no limit).
  std::optional<std::int64_t> limit_alphabet = {};
  /// Characters that are assigned an id even if they do not occur in the texts (byte_bpe: all 256
  /// bytes; wordpiece: none).
  std::optional<std::u32string> initial_alphabet = {};
  /// For wordpiece: the prefix of pieces that continue a word ("##").
  std::optional<std::string> continuing_subword_prefix = {};
  /// For byte_bpe: see BpeTrainerOptions.
  std::optional<std::int64_t> max_token_length = {};
  /// For byte_bpe: insert a space before texts, so that the first word is encoded like any other
  /// word (false).
  std::optional<bool> add_prefix_space = {};
  /// For wordpiece: convert to lower case and strip accents (true). For word: convert to lower case
  /// (false).
  std::optional<bool> lowercase = {};
  /// For character_bpe and unigram: see SentencePieceTraining (0.9995, "nmt_nfkc", false).
  std::optional<double> character_coverage = {};
  std::optional<std::string> normalization = {};
  std::optional<bool> byte_fallback = {};
};

/// Returns the default special tokens for a kind of tokenizer. byte_bpe: <|endoftext|>;
/// character_bpe: <unk>, <s> and </s>; wordpiece: [PAD], [UNK], [CLS], [SEP] and [MASK]; unigram:
/// <pad>, </s> and <unk>; word: <pad>, <unk>, <s> and </s>.
std::vector<std::string> default_special_tokens(LearnedKind kind);

/// Trains a tokenizer. The result depends only on the texts and options, not on the number of
/// threads. Memory usage grows with the number of distinct words, not with the size of the texts.
/// If the special tokens of BERT, LLaMA or T5 are among the special tokens, the tokenizer adds them
/// around texts in the same way as those models: [CLS] and [SEP] for any kind, <s> before a text
/// for character_bpe, and </s> after a text for unigram.
///
/// Throws ArgumentError if an option is out of range or is not supported by the kind, if the kind
/// requires an unknown token ("<unk>" or "[UNK]") that is not among the special tokens, or if the
/// vocabulary is too small for the special tokens and characters. Exceptions thrown by `texts` are
/// propagated.
SubwordTokenizer train_tokenizer(TextSource& texts, const TokenizerTrainerOptions& options,
                                 Workers& workers);

}  // namespace weft
