#include "weft/models/text/tokenizers/train/character_bpe_trainer.h"

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

#include "weft/core/error.h"
#include "weft/models/text/tokenizers/base/sentence_piece_text.h"
#include "weft/models/text/tokenizers/train/character_pairs.h"
#include "weft/models/text/tokenizers/train/count_words.h"
#include "weft/models/text/tokenizers/train/unigram_seed.h"
#include "weft/models/text/unicode/characters.h"

namespace weft {
namespace {

using sentence_piece::kBlank;
using sentence_piece::kBlankCharacter;
using Kind = SentencePieceModel::Kind;

/// Adds the pieces learned from `words` to the model. The scores decrease in the order of merging;
/// single characters have the lowest scores.
SentencePieceTokenizer with_pairs(SentencePieceModel model, const WordTable& words, double coverage,
                                  std::int64_t vocab, const CharacterPairRules& rules) {
  CharacterCounts counts;
  for (std::size_t i = 0; i < words.size(); ++i) counts.add(utf32(words.word(i)), words.count(i));
  CountedCharacters characters = counts.required(coverage, model.own);
  const std::size_t wanted = pieces_to_learn(vocab, model, characters);
  model.algorithm = SentencePieceModel::Algorithm::byte_pairs;
  float score = 0;
  for (const std::u32string& text : learn_pairs(words, characters, wanted, rules))
    model.pieces.push_back({utf8(text), score--, Kind::normal});
  for (const auto& [c, count] : characters)
    model.pieces.push_back({utf8(c), score--, Kind::normal});
  return SentencePieceTokenizer(std::move(model));
}

/// Character classes. A piece of a model trained by Weft contains only characters of one class.
enum class Class { letter, digit, other };

Class class_of(char32_t c) {
  if (c >= '0' && c <= '9') return Class::digit;
  if (c < 0x80) return (c | 0x20) >= 'a' && (c | 0x20) <= 'z' ? Class::letter : Class::other;
  // Latin-1 symbols, general punctuation to symbols, CJK punctuation, full-width punctuation and
  // emoji.
  const bool sign = c < 0xC0 || c == 0xD7 || c == 0xF7 || (c >= 0x2000 && c < 0x2C00) ||
                    (c >= 0x3000 && c < 0x3040) || (c >= 0xFF00 && c < 0xFF10) || c >= 0x1F000;
  return sign ? Class::other : Class::letter;
}

/// Counts the character runs that may become a single piece.
WordTable count_runs(TextSource& texts, const SentencePieceOptions& options, Workers& workers) {
  const PieceTrie symbols = symbol_trie(options.symbols);
  return count_parts(texts, workers, [&](std::string_view text, WordTable& runs, int) {
    Class last = Class::other;
    const auto ends = [&](std::string_view run, char32_t c) {
      const Class before = std::exchange(last, class_of(c));
      return c == kBlankCharacter || (run != kBlank && last != before);
    };
    for_each_word(options.keep_whitespace ? sentence_piece::with_all_whitespace(text)
                                          : sentence_piece::normalise(text),
                  symbols, ends, [&](std::string_view run, char32_t) { runs.add(run); });
  });
}

bool is_short(std::u32string_view text) { return text.size() <= 16; }

/// A source of texts in memory that returns each text as a single part.
class WholeTexts : public TextSource {
 public:
  explicit WholeTexts(std::span<const std::string> texts) : texts_(texts) {}
  bool next(std::string& part) override {
    if (texts_.empty()) return false;
    part = texts_.front();
    texts_ = texts_.subspan(1);
    return true;
  }

 private:
  std::span<const std::string> texts_;
};

}  // namespace

SentencePieceTokenizer train_character_bpe(TextSource& texts, const SentencePieceTraining& options,
                                           Workers& workers) {
  SentencePieceModel model = begin_model(options);
  const WordTable words = count_sentence_words(texts, training_normalizer(model),
                                               symbol_trie(options.symbols), false, workers);
  return with_pairs(std::move(model), words, options.character_coverage, options.vocab,
                    {.least = options.min_frequency, .is_piece = is_possible_piece});
}

SentencePieceTokenizer train_own_bpe(TextSource& texts, const SentencePieceOptions& options,
                                     Workers& workers) {
  check_training(options.vocab, options.character_coverage);
  for (const std::string& symbol : options.symbols) {
    if (symbol.empty() || std::string(kBlank) + symbol != sentence_piece::normalise(symbol))
      throw ArgumentError(fmt::format("symbols must not be empty or contain spaces: '{}'", symbol));
  }
  SentencePieceModel model;
  model.own = true;
  model.pieces = {{"<pad>", 0, Kind::control}, {"<unk>", 0, Kind::unknown},
                  {"<s>", 0, Kind::control},   {"</s>", 0, Kind::control},
                  {"[CLS]", 0, Kind::control}, {"[SEP]", 0, Kind::control},
                  {"[MASK]", 0, Kind::control}};
  add_symbols(model.pieces, options.symbols);
  model.normalizer = {.name = "identity", .remove_extra_whitespace = !options.keep_whitespace};
  return with_pairs(std::move(model), count_runs(texts, options, workers),
                    options.character_coverage, options.vocab,
                    {.is_piece = is_short, .joins_to_known = true});
}

SentencePieceTokenizer SentencePieceTokenizer::train(std::span<const std::string> texts,
                                                     const SentencePieceOptions& options) {
  WholeTexts source(texts);
  Workers workers;
  return train_own_bpe(source, options, workers);
}

}  // namespace weft
