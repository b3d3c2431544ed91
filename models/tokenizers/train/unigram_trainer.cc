#include "weft/models/tokenizers/train/unigram_trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <unordered_map>

#include "weft/core/error.h"
#include "weft/models/tokenizers/normalizers/character_rules.h"
#include "weft/models/tokenizers/normalizers/sentence_piece_normalizer.h"
#include "weft/models/tokenizers/sentence_piece_text.h"
#include "weft/models/tokenizers/subwords/byte_pieces.h"
#include "weft/models/tokenizers/subwords/unigram.h"
#include "weft/models/tokenizers/train/count_words.h"
#include "weft/models/tokenizers/train/unigram_seed.h"
#include "weft/models/tokenizers/unicode/characters.h"

namespace weft {
namespace {

using Pieces = std::vector<std::pair<std::string, double>>;  // with log-probabilities
using Counts = std::vector<std::pair<std::string, std::int64_t>>;
using Kind = SentencePieceModel::Kind;

template <class List>
void sort_by_value(List& list) {  // the largest first; of equals the first in order of keys
  std::sort(list.begin(), list.end(), [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
}

double digamma(double x) {
  double result = 0;
  for (; x < 7; ++x) result -= 1 / x;
  x -= 0.5;
  const double y = 1 / (x * x);
  return result + std::log(x) +
         y * (1.0 / 24 - y * (7.0 / 960 - y * (31.0 / 8064 - y * (127.0 / 30720))));
}

/// The words of all lines; what is a symbol stands in none.
WordCounts count_words(TextSource& texts, const SentencePieceNormalizer& normalizer,
                       const PieceTrie& symbols, Workers& workers) {
  const auto add_line = [&](std::string_view line, WordTable& words) {
    const std::string text = normalizer.normalise(line);
    std::string word;  // and what follows it
    const auto end = [&](char32_t next) {
      if (!word.empty()) {
        append_utf8(word, next);
        words.add(word);
      }
      word.clear();
    };
    for (std::size_t at = 0; at < text.size();) {
      if (const std::size_t symbol = symbols.longest(std::string_view(text).substr(at)).size) {
        end(0);
        at += symbol;
        continue;
      }
      const char32_t c = next_code_point(text, at);
      if (c == sentence_piece::kBlankCharacter) end(c);
      append_utf8(word, c);
    }
    end(0);
  };
  const auto add_part = [&](std::string_view part, WordTable& words, int) {
    for (std::size_t begin = 0; begin <= part.size();) {
      const std::size_t end = std::min(part.find('\n', begin), part.size());
      add_line(part.substr(begin, end - begin), words);
      begin = end + 1;
    }
  };
  const WordTable found = count_parts(texts, workers, add_part);
  WordCounts words;
  for (std::size_t i = 0; i < found.size(); ++i) {
    std::u32string word;
    for (std::size_t at = 0; at < found.word(i).size();) word += next_code_point(found.word(i), at);
    words.emplace(std::move(word), found.count(i));
  }
  return words;
}

/// A word without what follows it.
std::u32string_view within(std::u32string_view word) { return word.substr(0, word.size() - 1); }

/// The characters that the vocabulary must have, the most frequent first.
std::vector<std::pair<char32_t, std::int64_t>> required_characters(const WordCounts& words,
                                                                   double coverage) {
  std::map<char32_t, std::int64_t> counts;
  std::int64_t total = 0, covered = 0;
  for (const auto& [word, count] : words) {
    for (const char32_t c : within(word)) counts[c] += count;
    total += count * static_cast<std::int64_t>(within(word).size());
  }
  std::vector<std::pair<char32_t, std::int64_t>> sorted(counts.begin(), counts.end()), required;
  sort_by_value(sorted);
  for (const auto& [c, count] : sorted) {
    if (static_cast<double>(covered) >= coverage * static_cast<double>(total)) break;
    covered += count;
    required.emplace_back(c, count);
  }
  return required;
}

/// Words in pieces whose probabilities grow better, and fewer.
class Trainer {
 public:
  /// Words are parted at characters that are not in `required`.
  Trainer(const WordCounts& words, const std::vector<std::pair<char32_t, std::int64_t>>& required,
          std::size_t seed_pieces) {
    std::map<char32_t, std::int64_t> known(required.begin(), required.end());
    WordCounts parts;
    std::map<std::string, std::int64_t> counts;
    for (const auto& [word, count] : words) {
      std::u32string part;
      const auto end = [&, count = count](char32_t next) {
        if (part.empty()) return;
        counts[utf8(part)] += count;
        parts[part + next] += count;
        part.clear();
      };
      for (const char32_t c : within(word)) {
        if (known.contains(c))
          part += c;
        else
          end(0);
      }
      end(word.back());
    }
    words_.assign(counts.begin(), counts.end());
    double total = 0;
    for (const auto& [c, count] : required) {
      pieces_.emplace_back(utf8(c), static_cast<double>(count));
      total += static_cast<double>(count);
    }
    for (const auto& [text, score] : frequent_parts(parts, seed_pieces)) {
      pieces_.emplace_back(utf8(text), static_cast<double>(score));
      total += static_cast<double>(score);
    }
    for (auto& [text, score] : pieces_) score = std::log(score) - std::log(total);
  }

  Pieces run(std::size_t wanted) {
    constexpr int kSteps = 2;
    for (;;) {
      for (int step = 0; step < kSteps; ++step) estimate();
      if (pieces_.size() <= wanted) return std::move(pieces_);
      const std::size_t before = pieces_.size();
      prune(wanted);
      if (pieces_.size() == before) return std::move(pieces_);  // all of them are needed
    }
  }

 private:
  static constexpr double kLeastCount = 0.5;  // of a piece that stays
  static constexpr double kShare = 0.75;      // of the pieces that stay

  // Piece i has the id i + 1.
  Unigram model() const {
    std::vector<Unigram::Entry> entries = {{"<unk>", 0, Unigram::Use::none}};
    for (const auto& [text, score] : pieces_) entries.push_back({text, score});
    return Unigram(entries, {.unknown = 0});
  }

  /// A step of expectation and maximisation, with a prior that likes few pieces.
  void estimate() {
    const Unigram model = this->model();
    std::vector<double> expected(pieces_.size() + 1);
    for (const auto& [word, count] : words_)
      model.add_expected(word, static_cast<double>(count), expected);
    Pieces kept;
    double sum = 0;
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      if (expected[i + 1] < kLeastCount) continue;
      kept.emplace_back(std::move(pieces_[i].first), expected[i + 1]);
      sum += expected[i + 1];
    }
    for (auto& [text, score] : kept) score = digamma(score) - digamma(sum);
    pieces_ = std::move(kept);
  }

  /// Drops the pieces whose loss costs the least likelihood.
  void prune(std::size_t wanted) {
    const Unigram model = this->model();
    std::vector<double> counts(pieces_.size() + 1);
    double all_words = 0;
    std::vector<SubwordSpan> parts;
    for (const auto& [word, count] : words_) {
      parts.clear();
      model.segment_characters(word, parts);
      for (const SubwordSpan& part : parts)
        counts[static_cast<std::size_t>(part.id)] += static_cast<double>(count);
      all_words += static_cast<double>(count);
    }
    counts[0] = 0;  // what is unknown is no piece
    const double total = std::accumulate(counts.begin(), counts.end(), 0.0);
    Pieces kept;
    std::vector<std::pair<std::size_t, double>> candidates;
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      const auto ways = model.best(pieces_[i].first, 2);
      const double count = counts[i + 1];
      if (ways.size() == 1) {  // there is nothing instead of it
        if (count > 0) kept.push_back(pieces_[i]);
        continue;
      }
      // Not used by the best way to cut anything.
      if (count == 0 || ways[0].pieces.size() > 1) continue;
      const auto& instead = ways[1].pieces;
      const double now = std::log(count) - std::log(total);
      const double more = count * static_cast<double>(instead.size() - 1);
      double then = 0;
      for (const SubwordSpan& part : instead) {
        then +=
            std::log(counts[static_cast<std::size_t>(part.id)] + count) - std::log(total + more);
      }
      candidates.emplace_back(i, count / all_words * (now - then));
    }
    sort_by_value(candidates);
    const auto left =
        std::max(wanted, static_cast<std::size_t>(kShare * static_cast<double>(pieces_.size())));
    for (const auto& [i, loss] : candidates) {
      if (kept.size() >= left) break;
      kept.push_back(pieces_[i]);
    }
    pieces_ = std::move(kept);
  }

  Counts words_;
  Pieces pieces_;
};

/// The required characters and the best of the other pieces, `wanted` in all.
Pieces finished(const Pieces& learned,
                const std::vector<std::pair<char32_t, std::int64_t>>& required,
                std::size_t wanted) {
  std::unordered_map<std::string, double> scores(learned.begin(), learned.end());
  double worst = 0;
  for (const auto& [text, score] : learned) worst = std::min(worst, score);
  Pieces result;
  double more = 0;
  for (const auto& [c, count] : required) {
    const std::string text = utf8(c);
    const auto it = scores.find(text);
    result.emplace_back(text, it == scores.end() ? worst + more : it->second);
    if (it == scores.end()) more += 0.0001;  // no two have one score
    if (it != scores.end()) scores.erase(it);
  }
  Pieces others(scores.begin(), scores.end());
  sort_by_value(others);
  for (const auto& piece : others) {
    if (result.size() >= wanted) break;
    result.push_back(piece);
  }
  sort_by_value(result);
  return result;
}

void check(const UnigramOptions& options) {
  if (!(options.character_coverage > 0 && options.character_coverage <= 1)) {
    throw ArgumentError(
        fmt::format("character_coverage must be in (0, 1], not {}", options.character_coverage));
  }
  if (options.vocab > 1 << 24)
    throw ArgumentError(fmt::format("vocab must be at most {}, not {}", 1 << 24, options.vocab));
  if (options.seed_pieces < 0) {
    throw ArgumentError(fmt::format("seed_pieces must be 0 or more, not {}", options.seed_pieces));
  }
}

}  // namespace

SentencePieceTokenizer train_unigram(TextSource& texts, const UnigramOptions& options,
                                     Workers& workers) {
  check(options);
  SentencePieceModel model;
  model.algorithm = SentencePieceModel::Algorithm::unigram;
  model.pieces = {
      {"<unk>", 0, Kind::unknown}, {"<s>", 0, Kind::control}, {"</s>", 0, Kind::control}};
  std::vector<std::pair<std::string_view, std::int32_t>> symbols;
  for (const std::string& symbol : options.symbols) {
    const bool known = std::any_of(model.pieces.begin(), model.pieces.end(),
                                   [&](const auto& piece) { return piece.text == symbol; });
    if (symbol.empty() || known)
      throw ArgumentError(fmt::format("symbols: '{}' is empty, or there already", symbol));
    model.pieces.push_back({symbol, 0, Kind::symbol});
    symbols.emplace_back(symbol, 0);
  }
  if (options.byte_fallback) {
    for (int byte = 0; byte < 256; ++byte)
      model.pieces.push_back({byte_piece(static_cast<unsigned char>(byte)), 0, Kind::byte});
    model.byte_fallback = true;
  }
  model.normalizer = {.name = options.normalization,
                      .compiled_map = compile(character_rules(options.normalization))};
  const std::string& blob = model.normalizer.compiled_map;
  const SentencePieceNormalizer normalizer(
      {}, blob.empty() ? PrecompiledMap() : PrecompiledMap::parse(blob),
      {options.symbols.begin(), options.symbols.end()});
  const WordCounts words = count_words(texts, normalizer, PieceTrie(std::move(symbols)), workers);
  auto required = required_characters(words, options.character_coverage);
  // A symbol of one character is that character's id.
  std::erase_if(required, [&](const auto& character) {
    return std::find(options.symbols.begin(), options.symbols.end(), utf8(character.first)) !=
           options.symbols.end();
  });
  const std::size_t least = model.pieces.size() + required.size();
  if (options.vocab < static_cast<std::int64_t>(least)) {
    throw ArgumentError(
        fmt::format("vocab {} is too small: the text has {} characters, and there are {} special "
                    "ids and symbols",
                    options.vocab, required.size(), model.pieces.size()));
  }
  const auto vocab = static_cast<std::size_t>(options.vocab);
  Trainer trainer(words, required, static_cast<std::size_t>(options.seed_pieces));
  // A tenth more than wanted is learned: the best of them stay.
  const Pieces learned = trainer.run(vocab + vocab / 10);
  for (const auto& [text, score] : finished(learned, required, vocab - model.pieces.size()))
    model.pieces.push_back({text, static_cast<float>(score), Kind::normal});
  return SentencePieceTokenizer(std::move(model));
}

SentencePieceTokenizer train_unigram(std::span<const std::string> texts,
                                     const UnigramOptions& options) {
  TextList list(texts);
  Workers workers;
  return train_unigram(list, options, workers);
}

}  // namespace weft
