// Byte-pair training: the pair of neighbours that occurs most often becomes one piece, again and
// again.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <queue>
#include <set>

#include "weft/core/error.h"
#include "weft/models/tokenizers/sentence_piece.h"
#include "weft/models/tokenizers/sentence_piece_text.h"
#include "weft/models/tokenizers/unicode/characters.h"

namespace weft {
namespace {

using sentence_piece::kBlank;
using sentence_piece::kBlankCharacter;

constexpr std::size_t kLongestPiece = 16;  // characters

/// Pieces do not mix these.
enum class Class { letter, digit, other };

Class class_of(char32_t c) {
  if (c >= '0' && c <= '9') return Class::digit;
  if (c < 0x80) return (c | 0x20) >= 'a' && (c | 0x20) <= 'z' ? Class::letter : Class::other;
  // Latin-1 signs, general punctuation to symbols, CJK punctuation, full-width signs, emoji.
  const bool sign = c < 0xC0 || c == 0xD7 || c == 0xF7 || (c >= 0x2000 && c < 0x2C00) ||
                    (c >= 0x3000 && c < 0x3040) || (c >= 0xFF00 && c < 0xFF10) || c >= 0x1F000;
  return sign ? Class::other : Class::letter;
}

/// The longest symbol that text has at `begin`; 0 = none.
std::size_t symbol_at(std::string_view text, std::size_t begin,
                      const std::vector<std::string>& symbols) {
  std::size_t size = 0;
  for (const std::string& symbol : symbols) {
    if (text.substr(begin).starts_with(symbol)) size = std::max(size, symbol.size());
  }
  return size;
}

/// Runs of characters that may become one piece, with how often each occurs.
std::map<std::u32string, std::int64_t> count_runs(std::span<const std::string> texts,
                                                  const SentencePieceOptions& options) {
  std::map<std::u32string, std::int64_t> runs;
  for (const std::string& original : texts) {
    const std::string text = options.keep_whitespace ? sentence_piece::with_all_whitespace(original)
                                                     : sentence_piece::normalise(original);
    std::u32string run;
    Class last = Class::other;
    const auto end = [&] {
      if (!run.empty()) ++runs[run];
      run.clear();
    };
    for (std::size_t offset = 0; offset < text.size();) {
      if (const std::size_t symbol = symbol_at(text, offset, options.symbols); symbol > 0) {
        end();
        offset += symbol;
        continue;
      }
      const char32_t c = next_code_point(text, offset);
      const bool blank_only = run == std::u32string(1, kBlankCharacter);
      if (c == kBlankCharacter || (!blank_only && class_of(c) != last)) end();
      last = class_of(c);
      run += c;
    }
    end();
  }
  return runs;
}

/// The most frequent characters that make up the share `coverage` of the text, a blank always; the
/// first of equals is the smaller one.
std::vector<char32_t> alphabet(const std::map<std::u32string, std::int64_t>& runs,
                               double coverage) {
  std::map<char32_t, std::int64_t> counts;
  std::int64_t total = 0;
  for (const auto& [run, count] : runs) {
    for (const char32_t c : run) {
      counts[c] += count;
      total += count;
    }
  }
  counts.erase(kBlankCharacter);
  std::vector<std::pair<std::int64_t, char32_t>> ranked;
  for (const auto& [c, count] : counts) ranked.emplace_back(-count, c);
  std::sort(ranked.begin(), ranked.end());
  std::vector<char32_t> result = {kBlankCharacter};
  std::int64_t covered = total;
  for (const auto& [minus_count, c] : ranked) covered += minus_count;  // blanks are covered
  for (const auto& [minus_count, c] : ranked) {
    if (static_cast<double>(covered) >= coverage * static_cast<double>(total)) break;
    covered -= minus_count;
    result.push_back(c);
  }
  return result;
}

/// Merges pairs in words until there are enough pieces.
class PairMerger {
 public:
  PairMerger(const std::map<std::u32string, std::int64_t>& runs,
             const std::vector<char32_t>& characters) {
    for (const char32_t c : characters) intern(std::u32string(1, c));
    for (const auto& [run, count] : runs) {
      Word word{{}, count};
      for (const char32_t c : run) {
        const auto it = ids_.find(std::u32string(1, c));
        if (it != ids_.end()) {
          word.symbols.push_back(it->second);
        } else {  // an unknown character parts what it stands between
          add(word);
          word.symbols.clear();
        }
      }
      add(word);
    }
  }

  /// The pieces found, in order; fewer than `wanted` where nothing occurs twice any more.
  std::vector<std::u32string> run(std::size_t wanted) {
    std::vector<std::u32string> found;
    while (found.size() < wanted && !queue_.empty()) {
      const Candidate best = queue_.top();
      queue_.pop();
      const auto it = pairs_.find(best.pair);
      if (it == pairs_.end() || it->second.count != best.count) continue;  // has changed since
      const std::size_t known = texts_.size();
      const std::int32_t merged = intern(best.text);
      if (texts_.size() > known) found.push_back(best.text);
      merge(best.pair, merged);
    }
    return found;
  }

 private:
  using Pair = std::pair<std::int32_t, std::int32_t>;
  struct Word {
    std::vector<std::int32_t> symbols;
    std::int64_t count;
  };
  struct Occurrences {
    std::int64_t count = 0;
    std::set<std::size_t> words;  // may hold words that have lost it
  };
  struct Candidate {
    std::int64_t count;
    std::u32string text;
    Pair pair;
    /// The most frequent first; of equals the shortest, then the first in order of characters.
    bool operator<(const Candidate& other) const {
      if (count != other.count) return count < other.count;
      if (text.size() != other.text.size()) return text.size() > other.text.size();
      return text != other.text ? text > other.text : pair > other.pair;
    }
  };

  std::int32_t intern(const std::u32string& text) {
    const auto [it, added] = ids_.emplace(text, static_cast<std::int32_t>(texts_.size()));
    if (added) texts_.push_back(text);
    return it->second;
  }
  void add(const Word& word) {
    if (word.symbols.size() < 2) return;
    words_.push_back(word);
    std::set<Pair> changed;
    count_pairs(words_.size() - 1, 1, changed);
    for (const Pair& pair : changed) consider(pair);
  }
  void count_pairs(std::size_t index, int sign, std::set<Pair>& changed) {
    const Word& word = words_[index];
    for (std::size_t i = 0; i + 1 < word.symbols.size(); ++i) {
      const Pair pair{word.symbols[i], word.symbols[i + 1]};
      Occurrences& occurrences = pairs_[pair];
      occurrences.count += sign * word.count;
      occurrences.words.insert(index);
      changed.insert(pair);
    }
  }
  void consider(const Pair& pair) {
    const std::int64_t count = pairs_[pair].count;
    std::u32string text = texts_[static_cast<std::size_t>(pair.first)] +
                          texts_[static_cast<std::size_t>(pair.second)];
    if (count >= 2 && text.size() <= kLongestPiece) queue_.push({count, std::move(text), pair});
  }
  void merge(const Pair& pair, std::int32_t merged) {
    const std::set<std::size_t> words = std::move(pairs_[pair].words);
    std::set<Pair> changed;
    for (const std::size_t index : words) {
      count_pairs(index, -1, changed);
      std::vector<std::int32_t>& symbols = words_[index].symbols;
      std::size_t kept = 0;
      for (std::size_t i = 0; i < symbols.size(); ++i, ++kept) {
        const bool here =
            i + 1 < symbols.size() && symbols[i] == pair.first && symbols[i + 1] == pair.second;
        symbols[kept] = here ? merged : symbols[i];
        if (here) ++i;
      }
      symbols.resize(kept);
      count_pairs(index, 1, changed);
    }
    for (const Pair& p : changed) consider(p);
    pairs_.erase(pair);
  }

  std::map<std::u32string, std::int32_t> ids_;
  std::vector<std::u32string> texts_;
  std::vector<Word> words_;
  std::map<Pair, Occurrences> pairs_;
  std::priority_queue<Candidate> queue_;
};

void check(const SentencePieceOptions& options) {
  if (!(options.character_coverage > 0 && options.character_coverage <= 1)) {
    throw ArgumentError(
        fmt::format("character_coverage must be in (0, 1], not {}", options.character_coverage));
  }
  if (options.vocab > 1 << 24)
    throw ArgumentError(fmt::format("vocab must be at most {}, not {}", 1 << 24, options.vocab));
  for (const std::string& symbol : options.symbols) {
    if (symbol.empty() || symbol != sentence_piece::normalise(symbol).substr(kBlank.size())) {
      throw ArgumentError(fmt::format("symbols must be texts without blanks, not '{}'", symbol));
    }
  }
}

}  // namespace

SentencePieceTokenizer SentencePieceTokenizer::train(std::span<const std::string> texts,
                                                     const SentencePieceOptions& options) {
  check(options);
  using Piece = SentencePieceModel::Piece;
  using Kind = SentencePieceModel::Kind;
  std::vector<Piece> pieces = {{"<pad>", 0, Kind::control}, {"<unk>", 0, Kind::unknown},
                               {"<s>", 0, Kind::control},   {"</s>", 0, Kind::control},
                               {"[CLS]", 0, Kind::control}, {"[SEP]", 0, Kind::control},
                               {"[MASK]", 0, Kind::control}};
  for (const std::string& symbol : options.symbols) {
    for (const Piece& piece : pieces) {
      if (piece.text == symbol)
        throw ArgumentError(fmt::format("symbols: '{}' is there already", symbol));
    }
    pieces.push_back({symbol, 0, Kind::symbol});
  }
  const auto runs = count_runs(texts, options);
  std::vector<char32_t> characters = alphabet(runs, options.character_coverage);
  // A symbol of one character is that character's id.
  std::erase_if(characters, [&](char32_t c) {
    return std::find(options.symbols.begin(), options.symbols.end(), utf8(c)) !=
           options.symbols.end();
  });
  const std::size_t least = pieces.size() + characters.size();
  if (options.vocab < static_cast<std::int64_t>(least)) {
    throw ArgumentError(
        fmt::format("vocab {} is too small: the text has {} characters, and there are {} special "
                    "ids and symbols",
                    options.vocab, characters.size(), pieces.size()));
  }
  const std::size_t wanted = static_cast<std::size_t>(options.vocab) - least;
  const std::vector<std::u32string> merged = PairMerger(runs, characters).run(wanted);
  float score = 0;
  for (const std::u32string& text : merged) pieces.push_back({utf8(text), score--, Kind::normal});
  for (const char32_t c : characters) pieces.push_back({utf8(c), score--, Kind::normal});
  SentencePieceModel model;
  model.pieces = std::move(pieces);
  model.normalizer = {.name = "identity", .remove_extra_whitespace = !options.keep_whitespace};
  model.own = true;
  return SentencePieceTokenizer(std::move(model));
}

}  // namespace weft
