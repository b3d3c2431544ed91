#include "weft/models/text/tokenizers/train/character_pairs.h"

#include <string>
#include <unordered_map>
#include <utility>

#include "weft/models/text/tokenizers/train/pair_merger.h"
#include "weft/models/text/unicode/characters.h"

namespace weft {
namespace {

using Symbol = PairMerger::Symbol;
using Candidate = PairMerger::Candidate;

/// The texts of all symbols, and the merge rules that depend on these texts.
class Texts : public PairMerger::Rules {
 public:
  explicit Texts(const CharacterPairRules& rules) : rules_(rules) {}

  /// Returns the symbol of `text`, and true if the symbol is new.
  std::pair<Symbol, bool> intern(const std::u32string& text) {
    const auto [it, added] = ids_.emplace(text, static_cast<Symbol>(texts_.size()));
    if (added) texts_.push_back(&it->first);
    return {it->second, added};
  }
  std::size_t size() const { return texts_.size(); }
  std::u32string joined(Symbol left, Symbol right) const { return text(left) + text(right); }

  bool may_merge(Symbol left, Symbol right) const override {
    return rules_.is_piece(joined(left, right));
  }
  bool goes_first(const Candidate& a, const Candidate& b) const override {
    const std::size_t size = text(a.left).size() + text(a.right).size();
    const std::size_t other = text(b.left).size() + text(b.right).size();
    if (size != other) return size < other;
    for (std::size_t i = 0; i < size; ++i) {
      const char32_t mine = character(a, i), theirs = character(b, i);
      if (mine != theirs) return mine < theirs;
    }
    return PairMerger::has_smaller_ids(a, b);
  }

 private:
  const std::u32string& text(Symbol symbol) const {
    return *texts_[static_cast<std::size_t>(symbol)];
  }
  char32_t character(const Candidate& pair, std::size_t i) const {
    const std::u32string& left = text(pair.left);
    return i < left.size() ? left[i] : text(pair.right)[i - left.size()];
  }

  const CharacterPairRules& rules_;
  std::unordered_map<std::u32string, Symbol> ids_;
  std::vector<const std::u32string*> texts_;  // indexed by symbol; pointers to the keys of ids_
};

/// Adds `words` to the merger after splitting them at boundaries that no piece can cross.
void add_words(PairMerger& merger, const WordTable& words, const CountedCharacters& characters,
               const CharacterPairRules& rules) {
  std::unordered_map<char32_t, Symbol> symbols;
  for (const auto& [c, count] : characters) symbols.emplace(c, static_cast<Symbol>(symbols.size()));
  std::vector<Symbol> part;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto end = [&] {
      merger.add_word(part, words.count(i));
      part.clear();
    };
    std::u32string pair;  // the previous and the current character
    for (const char32_t c : utf32(words.word(i))) {
      const auto symbol = symbols.find(c);
      if (symbol == symbols.end()) {
        end();
        continue;
      }
      if (part.empty()) pair.clear();
      pair += c;
      if (pair.size() == 2 && !rules.is_piece(pair)) end();
      part.push_back(symbol->second);
      pair.assign(1, c);
    }
    end();
  }
}

}  // namespace

std::vector<std::u32string> learn_pairs(const WordTable& words, const CountedCharacters& characters,
                                        std::size_t wanted, const CharacterPairRules& rules) {
  Texts texts(rules);
  for (const auto& [c, count] : characters) texts.intern(std::u32string(1, c));
  PairMerger merger({.least = rules.least, .rules = &texts, .recounts_remade_pairs = true});
  add_words(merger, words, characters, rules);
  merger.begin(texts.size());
  std::vector<std::u32string> found;
  while (found.size() < wanted) {
    const auto best = merger.best();
    if (!best) break;
    std::u32string text = texts.joined(best->left, best->right);
    const auto [symbol, added] = texts.intern(text);
    if (added) found.push_back(std::move(text));
    if (added || rules.joins_to_known) merger.merge(*best, symbol);
  }
  return found;
}

}  // namespace weft
