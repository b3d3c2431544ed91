// The choice of a tokenizer for a new text model by command-line options.
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

/// Adds --tokenizer and --vocab. `usual` is the default ("bpe"), as the help prints it.
/// `new_models_only`: weights to start from keep their own tokenizer.
TaskOptions& add_tokenizer(TaskOptions& options, const std::string& usual, bool new_models_only);

/// A value of --tokenizer.
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

  /// True if the tokenizer learns pieces; --vocab is then their maximum number.
  bool learns_pieces() const { return kind != Kind::characters && kind != Kind::file; }
};
/// Throws ArgumentError if `text` is neither the name of a kind nor an existing path.
TokenizerChoice parse_tokenizer_choice(const std::string& text);
/// Returns the given choice, else `usual`. --vocab sets the number of pieces if --tokenizer does
/// not. Throws ArgumentError if both do, or if --vocab is given for a tokenizer that learns no
/// pieces.
TokenizerChoice tokenizer_choice(const OptionValues& values, const std::string& usual);

/// A tokenizer, and messages for users about how it was made: whole lines, usually empty.
struct LearnedTokenizer {
  Tokenizer tokenizer;
  std::string notes = {};
};

/// The training texts of a tokenizer, and the requirements of the task.
struct TokenizerNeeds {
  std::function<std::vector<std::string>()> texts;
  /// Special tokens of tokenizers that define no others ("byte-bpe", "wordpiece", "unigram"). If
  /// empty, each kind has its usual ones.
  std::vector<std::string> special = {};
  /// Options of "bpe", which has its own special ids.
  SentencePieceOptions pieces = {};
  std::int64_t default_vocab = 4000;
};
/// Trains or reads the tokenizer, with a note if the texts yield fewer pieces than requested.
/// Throws the same exceptions as train_tokenizer, read_tokenizer, CharacterTokenizer::from_text.
LearnedTokenizer make_tokenizer(const TokenizerChoice& choice, const TokenizerNeeds& needs);

}  // namespace weft
