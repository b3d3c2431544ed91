#include "weft/models/text/tokenizers/train/unigram_trainer.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "weft/models/text/tokenizers/subwords/unigram.h"
#include "weft/models/text/tokenizers/train/sentence_words.h"
#include "weft/models/text/tokenizers/train/unigram_seed.h"
#include "weft/models/text/unicode/characters.h"

namespace weft {
namespace {

using Pieces = std::vector<std::pair<std::string, double>>;  // texts with log-probabilities
using Counts = std::vector<std::pair<std::string, std::int64_t>>;
using Kind = SentencePieceModel::Kind;

// Sorts by value in descending order, with ties in order of keys.
template <class List>
void sort_by_value(List& list) {
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

/// Returns `word` without its last character, which is the character that follows the word in the
/// text.
std::u32string_view within(std::u32string_view word) { return word.substr(0, word.size() - 1); }

CountedWords characters_of(const WordTable& words) {
  CountedWords result;
  for (std::size_t i = 0; i < words.size(); ++i)
    result.emplace(utf32(words.word(i)), words.count(i));
  return result;
}

/// Trains the pieces by expectation maximisation (EM) with pruning.
class Trainer {
 public:
  /// Splits words at characters that are not in `required`.
  Trainer(const CountedWords& words, const CountedCharacters& required, std::size_t seed_pieces) {
    std::map<char32_t, std::int64_t> known(required.begin(), required.end());
    CountedWords parts;
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
      if (pieces_.size() == before) return std::move(pieces_);  // no more pieces can be pruned
    }
  }

 private:
  /// Minimum expected count of a piece that is kept.
  static constexpr double kLeastCount = 0.5;
  /// Fraction of the pieces that a pruning step keeps.
  static constexpr double kShare = 0.75;

  // Returns the current model, in which piece i has the id i + 1.
  Unigram model() const {
    std::vector<Unigram::Entry> entries = {{"<unk>", 0, Unigram::Use::none}};
    for (const auto& [text, score] : pieces_) entries.push_back({text, score});
    return Unigram(entries, {.unknown = 0});
  }

  /// Performs an EM step with a prior that favours a small number of pieces (digamma instead of the
  /// logarithm).
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

  /// Removes the pieces whose removal reduces the likelihood least.
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
    counts[0] = 0;  // the unknown id is not a piece
    const double total = std::accumulate(counts.begin(), counts.end(), 0.0);
    Pieces kept;
    std::vector<std::pair<std::size_t, double>> candidates;
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      const auto ways = model.best(pieces_[i].first, 2);
      const double count = counts[i + 1];
      if (ways.size() == 1) {  // the piece has no alternative segmentation
        if (count > 0) kept.push_back(pieces_[i]);
        continue;
      }
      // Drop the piece if it is unused or if the best segmentation of its text has several pieces.
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

/// Returns the required characters and the best of the other pieces, `wanted` pieces in total.
Pieces finished(const Pieces& learned, const CountedCharacters& required, std::size_t wanted) {
  std::unordered_map<std::string, double> scores(learned.begin(), learned.end());
  double worst = 0;
  for (const auto& [text, score] : learned) worst = std::min(worst, score);
  Pieces result;
  double more = 0;
  for (const auto& [c, count] : required) {
    const std::string text = utf8(c);
    const auto it = scores.find(text);
    result.emplace_back(text, it == scores.end() ? worst + more : it->second);
    if (it == scores.end()) more += 0.0001;  // makes all scores distinct
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

}  // namespace

SentencePieceTokenizer train_unigram(TextSource& texts, const SentencePieceTraining& options,
                                     Workers& workers) {
  SentencePieceModel model = begin_model(options);
  model.algorithm = SentencePieceModel::Algorithm::unigram;
  const CountedWords words = characters_of(count_sentence_words(
      texts, training_normalizer(model), symbol_trie(options.symbols), true, workers));
  CharacterCounts counts;
  for (const auto& [word, count] : words) counts.add(within(word), count);
  CountedCharacters required = counts.required(options.character_coverage);
  const std::size_t others = pieces_to_learn(options.vocab, model, required);
  const auto vocab = static_cast<std::size_t>(options.vocab);
  Trainer trainer(words, required, static_cast<std::size_t>(options.seed_pieces));
  // Train 10% more pieces than requested, and keep the best of them.
  const Pieces learned = trainer.run(vocab + vocab / 10);
  for (const auto& [text, score] : finished(learned, required, required.size() + others))
    model.pieces.push_back({text, static_cast<float>(score), Kind::normal});
  return SentencePieceTokenizer(std::move(model));
}

SentencePieceTokenizer train_unigram(std::span<const std::string> texts,
                                     const SentencePieceTraining& options) {
  TextList list(texts);
  Workers workers;
  return train_unigram(list, options, workers);
}

}  // namespace weft
