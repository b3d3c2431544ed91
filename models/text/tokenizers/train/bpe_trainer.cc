#include "weft/models/text/tokenizers/train/bpe_trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <unordered_map>

#include "weft/core/error.h"
#include "weft/models/text/tokenizers/pre_tokenizers/byte_level.h"
#include "weft/models/text/tokenizers/train/pair_merger.h"
#include "weft/models/text/unicode/characters.h"

namespace weft {
namespace {

using Symbol = PairMerger::Symbol;
constexpr Symbol kLeftOut = -1;
constexpr std::int64_t kMaxPieces = 1 << 24;
constexpr char32_t kCharacters = 0x110000;

// Bit flags that describe the position of a character in a word.
constexpr unsigned kInside = 1;  // not the first character
constexpr unsigned kLast = 2;
constexpr unsigned kPlaces = 4;

/// Prevents merges whose result has `longest` characters or more. Each initial symbol counts as one
/// character.
class LengthRules : public PairMerger::Rules {
 public:
  LengthRules(std::int64_t longest, std::size_t symbols)
      : longest_(longest), lengths_(symbols, 1) {}

  bool may_merge(Symbol left, Symbol right) const override { return sum(left, right) < longest_; }
  /// Registers the next symbol as the result of merging `left` and `right`.
  void add(Symbol left, Symbol right) { lengths_.push_back(sum(left, right)); }

 private:
  std::int64_t sum(Symbol left, Symbol right) const {
    return lengths_[static_cast<std::size_t>(left)] + lengths_[static_cast<std::size_t>(right)];
  }

  std::int64_t longest_;
  std::vector<std::int64_t> lengths_;
};

/// Assigns ids to special tokens first, then to characters, and then to merged pairs.
class BpeTrainer {
 public:
  BpeTrainer(const WordTable& words, const BpeTrainerOptions& options)
      : words_(words), options_(options), symbols_(kCharacters, AtPlaces{-1, -1, -1, -1}) {
    for (const std::string& token : options.special_tokens) intern(token);
    find_characters();
  }

  LearnedBpe run() {
    LengthRules lengths(options_.max_token_length.value_or(0), pieces_.size());
    PairMerger merger(
        {.least = options_.min_frequency, .rules = options_.max_token_length ? &lengths : nullptr});
    std::vector<Symbol> word;
    for (std::size_t i = 0; i < words_.size(); ++i) {
      word.clear();
      for_characters(words_.word(i), [&](char32_t c, unsigned place) {
        if (const Symbol symbol = symbols_[c][place]; symbol != kLeftOut) word.push_back(symbol);
      });
      merger.add_word(word, words_.count(i));
    }
    symbols_ = {};
    merger.begin(pieces_.size());
    std::vector<PairMerger::Candidate> merged;
    while (std::ssize(pieces_) < options_.vocab) {
      const auto best = merger.best();
      if (!best) break;
      merged.push_back(*best);
      const std::size_t known = pieces_.size();
      const Symbol piece = intern(joined(best->left, best->right));
      if (pieces_.size() > known) lengths.add(best->left, best->right);
      merger.merge(*best, piece);
    }
    return {pieces_, merges(merged)};
  }

 private:
  using AtPlaces = std::array<Symbol, kPlaces>;

  /// Calls visit(character, place) for each character of a word.
  template <class Visit>
  void for_characters(std::string_view word, const Visit& visit) const {
    for (std::size_t at = 0; at < word.size();) {
      const unsigned inside = at == 0 ? 0 : kInside;
      const char32_t c = options_.words_are_bytes
                             ? byte_characters()[static_cast<unsigned char>(word[at++])]
                             : take_character(word, at);
      visit(c, inside | (at < word.size() ? 0 : kLast));
    }
  }

  Symbol intern(const std::string& piece) {
    const auto [it, added] = ids_.emplace(piece, static_cast<Symbol>(pieces_.size()));
    if (added) pieces_.push_back(piece);
    return it->second;
  }

  void find_characters() {
    std::vector<std::int64_t> counts(kCharacters);
    std::vector<std::uint8_t> places(kCharacters);  // a bit mask of positions for each character
    for (std::size_t i = 0; i < words_.size(); ++i) {
      for_characters(words_.word(i), [&, count = words_.count(i)](char32_t c, unsigned place) {
        counts[c] += count;
        places[c] |= static_cast<std::uint8_t>(1U << place);
      });
    }
    for (const char32_t c : options_.initial_alphabet)
      counts[c] = std::numeric_limits<std::int64_t>::max();
    std::vector<char32_t> alphabet;
    for (char32_t c = 0; c < kCharacters; ++c)
      if (counts[c] > 0) alphabet.push_back(c);
    if (options_.limit_alphabet && std::ssize(alphabet) > *options_.limit_alphabet) {
      std::stable_sort(alphabet.begin(), alphabet.end(),
                       [&](char32_t a, char32_t b) { return counts[a] > counts[b]; });
      alphabet.resize(static_cast<std::size_t>(*options_.limit_alphabet));
      std::sort(alphabet.begin(), alphabet.end());
    }
    for (const char32_t c : alphabet) intern(utf8(c));
    for (const char32_t c : alphabet) {
      for (unsigned place = 0; place < kPlaces; ++place) {
        if ((places[c] >> place & 1U) != 0) symbols_[c][place] = intern(at_place(c, place));
      }
    }
  }

  std::string at_place(char32_t c, unsigned place) const {
    std::string piece = (place & kInside) != 0 ? options_.continuing_subword_prefix : "";
    append_utf8(piece, c);
    if ((place & kLast) != 0) piece += options_.end_of_word_suffix;
    return piece;
  }

  std::string joined(Symbol left, Symbol right) const {
    std::string_view behind = pieces_[static_cast<std::size_t>(right)];
    if (behind.starts_with(options_.continuing_subword_prefix))
      behind.remove_prefix(options_.continuing_subword_prefix.size());
    return pieces_[static_cast<std::size_t>(left)] + std::string(behind);
  }

  /// Returns the merges in order. If a pair was merged more than once, only the last merge is
  /// included.
  std::vector<std::pair<std::string, std::string>> merges(
      const std::vector<PairMerger::Candidate>& merged) const {
    std::unordered_map<std::uint32_t, std::size_t> last;
    for (std::size_t i = 0; i < merged.size(); ++i) last[merged[i].pair] = i;
    std::vector<std::pair<std::string, std::string>> result;
    for (std::size_t i = 0; i < merged.size(); ++i) {
      if (last[merged[i].pair] != i) continue;
      result.emplace_back(pieces_[static_cast<std::size_t>(merged[i].left)],
                          pieces_[static_cast<std::size_t>(merged[i].right)]);
    }
    return result;
  }

  const WordTable& words_;
  const BpeTrainerOptions& options_;
  std::vector<AtPlaces> symbols_;  // indexed by character
  std::vector<std::string> pieces_;
  std::unordered_map<std::string, Symbol> ids_;
};

void check(const BpeTrainerOptions& options) {
  const auto require = [](bool holds, const char* name, std::int64_t value, const char* allowed) {
    if (!holds) throw ArgumentError(fmt::format("{} must be {}, not {}", name, allowed, value));
  };
  require(options.vocab >= 0 && options.vocab <= kMaxPieces, "vocab", options.vocab,
          "in [0, 2^24]");
  require(options.min_frequency >= 0, "min_frequency", options.min_frequency, "0 or more");
  if (options.limit_alphabet)
    require(*options.limit_alphabet >= 0, "limit_alphabet", *options.limit_alphabet, "0 or more");
  if (options.max_token_length) {
    require(*options.max_token_length > 0, "max_token_length", *options.max_token_length,
            "1 or more");
  }
  for (const char32_t c : options.initial_alphabet) {
    require(c < kCharacters && (c < 0xD800 || c > 0xDFFF), "a character of initial_alphabet", c,
            "a Unicode code point");
  }
  for (const std::string& token : options.special_tokens)
    if (token.empty()) throw ArgumentError("a special token is empty");
}

}  // namespace

LearnedBpe train_bpe(const WordTable& words, const BpeTrainerOptions& options) {
  check(options);
  return BpeTrainer(words, options).run();
}

}  // namespace weft
