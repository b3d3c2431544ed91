// Tokenizers learned from texts, as a tokenizer.json describes them.
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

/// byte_bpe: pairs of bytes, as GPT-2's. character_bpe: pairs of characters, learned as
/// SentencePiece does it; with byte_fallback as LLaMA's. wordpiece: as BERT's. unigram: as T5's,
/// learned as SentencePiece does it. word: whole words and runs of signs.
enum class LearnedKind : std::uint8_t { byte_bpe, character_bpe, wordpiece, unigram, word };
inline constexpr std::array<std::string_view, 5> kLearnedKindNames = {
    "byte-bpe", "bpe", "wordpiece", "unigram", "word"};
inline ChoiceNames choice_names(LearnedKind) { return {"kind", kLearnedKindNames}; }

/// What is not said is as the kind has it; what the kind does not have may not be said.
struct NewTokenizerOptions {
  LearnedKind kind = LearnedKind::byte_bpe;
  /// Ids at most; fewer where the texts do not give them.
  std::int64_t vocab = 8000;
  /// The first ids, found in texts wherever they stand; none: usual_special_tokens().
  std::optional<std::vector<std::string>> special_tokens = {};
  /// Rarer pairs are not merged (both bpe, wordpiece: 2), rarer words have no id (word: 1).
  std::optional<std::int64_t> min_frequency = {};
  /// Ids of single characters at most (wordpiece: 1000).
  std::optional<std::int64_t> limit_alphabet = {};
  /// Characters that get an id in any case (byte_bpe: all 256 bytes; wordpiece: none).
  std::optional<std::u32string> initial_alphabet = {};
  /// wordpiece: in front of pieces inside of words ("##").
  std::optional<std::string> continuing_subword_prefix = {};
  /// byte_bpe: see BpeTrainerOptions.
  std::optional<std::int64_t> max_token_length = {};
  /// byte_bpe: texts begin with a blank, so that their first word is as any other (false).
  std::optional<bool> add_prefix_space = {};
  /// wordpiece: lower case without accents (true). word: lower case (false).
  std::optional<bool> lowercase = {};
  /// character_bpe, unigram: see SentencePieceTraining (0.9995, "nmt_nfkc", false).
  std::optional<double> character_coverage = {};
  std::optional<std::string> normalization = {};
  std::optional<bool> byte_fallback = {};
};

/// byte_bpe: <|endoftext|>; character_bpe: <unk>, <s>, </s>; wordpiece: [PAD], [UNK], [CLS], [SEP],
/// [MASK]; unigram: <pad>, </s>, <unk>; word: <pad>, <unk>, <s>, </s>.
std::vector<std::string> usual_special_tokens(LearnedKind kind);

/// Learns a tokenizer: a function of texts and options, whatever the number of threads. Memory
/// grows with the words that differ, not with the texts. What the special tokens of BERT, LLaMA or
/// T5 are for is put around texts where these are there ([CLS] and [SEP]; <s> in front of a text of
/// character_bpe; </s> behind one of unigrams).
///
/// Throws ArgumentError for options that the kind does not have or that are out of range, for
/// special tokens without one for the unknown where the kind needs it ("<unk>" or "[UNK]"), and for
/// a vocabulary that is too small for special tokens and characters; as `texts` does.
SubwordTokenizer learn_tokenizer(TextSource& texts, const NewTokenizerOptions& options,
                                 Workers& workers);

}  // namespace weft
