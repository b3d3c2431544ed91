// Command-line options that select the tokenizer of a new text model.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "weft/models/tasks/common/task.h"
#include "weft/models/text/tokenizers/tokenizer.h"

namespace WEFT_API weft {

/// "--tokenizer", "--vocab".
inline constexpr const char *kTokenizerOption = "--tokenizer", *kVocabOption = "--vocab";

/// Adds --tokenizer and --vocab. `usual` is the default ("bpe") as printed in the help text. If
/// `new_models_only` is set, the options apply only to models trained from scratch; with --from,
/// the tokenizer of the weights is kept.
TaskOptions& add_tokenizer(TaskOptions& options, const std::string& usual, bool new_models_only);

/// The parsed value of --tokenizer.
struct TokenizerChoice {
  enum class Kind : std::uint8_t {
    characters,  // "chars"
    pairs,       // "bpe": byte-pair encoding of characters, as in SentencePiece
    bytes,       // "byte-bpe": byte-pair encoding of bytes, as in GPT-2
    wordpiece,
    unigram,
    file  // the path of an existing tokenizer
  };
  Kind kind = Kind::pairs;
  std::optional<std::int64_t> vocab = {};  // "bpe:4000"
  std::string path = {};

  /// Returns true if the tokenizer learns pieces. --vocab is then the maximum number of pieces.
  bool learns_pieces() const { return kind != Kind::characters && kind != Kind::file; }
};
/// Parses a value of --tokenizer. Throws ArgumentError if `text` is neither the name of a tokenizer
/// type nor an existing path.
TokenizerChoice parse_tokenizer_choice(const std::string& text);
/// Returns the given choice, or `usual` if there is none. --vocab sets the number of pieces if
/// --tokenizer does not. Throws ArgumentError if both options set it, or if --vocab is given for a
/// tokenizer that does not learn pieces.
TokenizerChoice tokenizer_choice(const OptionValues& values, const std::string& usual);

/// A tokenizer, and notes for users on how it was made: complete lines, usually empty.
struct LearnedTokenizer {
  Tokenizer tokenizer;
  std::string notes = {};
};

/// The training texts of a tokenizer, and the requirements of the task.
struct TokenizerNeeds {
  std::function<std::vector<std::string>()> texts;
  /// Special tokens for "byte-bpe", "wordpiece" and "unigram". If empty, each type uses its default
  /// special tokens.
  std::vector<std::string> special = {};
  /// Options for "bpe", which has its own special ids.
  SentencePieceOptions pieces = {};
  std::int64_t default_vocab = 4000;
};
/// Trains or reads the tokenizer. Adds a note if the texts produce fewer pieces than requested.
/// Throws the same exceptions as train_tokenizer, read_tokenizer and CharacterTokenizer::from_text.
LearnedTokenizer make_tokenizer(const TokenizerChoice& choice, const TokenizerNeeds& needs);

}  // namespace weft
