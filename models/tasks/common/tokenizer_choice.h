// The tokenizer of a new model of text, as a command line asks for it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "weft/models/tasks/common/task.h"
#include "weft/models/tokenizers/tokenizer.h"

namespace WEFT_API weft {

/// "--tokenizer", "--vocab".
inline constexpr const char *kTokenizerOption = "--tokenizer", *kVocabOption = "--vocab";

/// --tokenizer and --vocab. `usual`: what is taken where nothing is said ("bpe"), as the help says
/// it. `of_new_models`: weights to start from have theirs, and keep it.
TaskOptions& add_tokenizer(TaskOptions& options, const std::string& usual, bool of_new_models);

/// What --tokenizer says.
struct TokenizerChoice {
  enum class Kind : std::uint8_t {
    characters,  // "chars"
    pairs,       // "bpe": byte pairs as SentencePiece's, of characters
    bytes,       // "byte-bpe": byte pairs as GPT-2's, of bytes
    wordpiece,
    unigram,
    file  // the path of one that is there
  };
  Kind kind = Kind::pairs;
  std::optional<std::int64_t> vocab = {};  // "bpe:4000"
  std::string path = {};

  /// Whether pieces are learned, so many as --vocab says.
  bool learns_pieces() const { return kind != Kind::characters && kind != Kind::file; }
};
/// Throws ArgumentError where `text` is neither of these nor names what is there.
TokenizerChoice parse_tokenizer_choice(const std::string& text);
/// What was given, else `usual`; --vocab says how many pieces where --tokenizer does not. Throws
/// ArgumentError where both do, or where nothing is learned that --vocab could be about.
TokenizerChoice tokenizer_choice(const OptionValues& values, const std::string& usual);

/// A tokenizer, and what people should know of how it was made: whole lines, mostly none.
struct LearnedTokenizer {
  Tokenizer tokenizer;
  std::string notes = {};
};

/// What a tokenizer is learned from, and what the task needs of it.
struct TokenizerNeeds {
  std::function<std::vector<std::string>()> texts;
  /// Ids with a meaning of their own, in tokenizers that have no others ("byte-bpe", "wordpiece",
  /// "unigram"); none: those that each has usually.
  std::vector<std::string> special = {};
  /// For "bpe", which has its own special ids.
  SentencePieceOptions pieces = {};
  std::int64_t usual_vocab = 4000;
};
/// Learns or reads the tokenizer; says so where texts give fewer pieces than were asked for. Throws
/// as learn_tokenizer, read_tokenizer, CharacterTokenizer::from_text.
LearnedTokenizer make_tokenizer(const TokenizerChoice& choice, const TokenizerNeeds& needs);

}  // namespace weft
