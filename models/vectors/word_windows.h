// Words with the words around them and wrong answers: what vectors are learned from.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "weft/core/parallel.h"
#include "weft/models/vectors/word_text.h"

namespace WEFT_API weft {

struct WindowOptions {
  int window = 5;  // words to either side; for each word a number in [1, window] is drawn
  int negatives = 5;
  /// Of a word that is a share f of the text sqrt(s / f) + s / f occurrences are kept; 0: all.
  double subsample = 1e-3;
  std::uint64_t seed = 1;
};

/// Everything that is drawn for a word is a function of seed, epoch and the word's place in the
/// text: parts of the text can be worked on in any order.
class WordWindows {
 public:
  /// `text` must outlive it. Throws ArgumentError for options that make no sense.
  WordWindows(const WordText& text, const WindowOptions& options);

  /// The largest share of the text's places that one word takes, of those that are kept.
  double largest_share() const { return largest_share_; }

  /// A word and those around it.
  struct Example {
    std::span<const std::int32_t> around;        // at least one
    std::span<const std::int32_t> answers = {};  // the word itself, then up to `negatives` others
  };
  /// Memory that calls use again.
  struct Scratch {
    std::vector<std::int32_t> kept = {}, around = {}, answers = {};
    std::vector<std::int64_t> places = {};
  };
  /// Gives an example for each word in [begin, end) of the text that is kept and has others around
  /// it. Wrong answers are drawn by their counts to the power of 3/4, the right one left out.
  void for_examples(std::int64_t epoch, std::int64_t begin, std::int64_t end, Scratch& scratch,
                    FunctionRef<void(const Example&)> use) const;

 private:
  bool keeps(std::int64_t epoch, std::int64_t place) const;
  void for_sentence(std::int64_t epoch, std::int64_t begin, std::int64_t end,
                    std::int64_t sentence_begin, std::int64_t sentence_end, Scratch& scratch,
                    FunctionRef<void(const Example&)> use) const;

  const WordText& text_;
  WindowOptions options_;
  double largest_share_ = 0;
  std::vector<std::uint32_t> kept_share_;  // of each word's occurrences, times 2^32
  // Walker's alias method: a word by itself, or else its alias.
  std::vector<std::uint32_t> own_share_;
  std::vector<std::int32_t> alias_;
};

}  // namespace weft
