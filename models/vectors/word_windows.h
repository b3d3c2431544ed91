// Training examples for word embeddings: words with their context words and negatives.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "weft/core/function_ref.h"
#include "weft/models/vectors/word_text.h"

namespace WEFT_API weft {

struct WindowOptions {
  /// Maximum number of context words on either side. The number is sampled from [1, window] for
  /// each word.
  int window = 5;
  int negatives = 5;  // number of negatives sampled for each word
  /// Subsampling of frequent words: if a word makes up the fraction f of the text, the fraction
  /// sqrt(s / f) + s / f of its occurrences is kept, with s = `subsample`. 0 keeps all occurrences.
  double subsample = 1e-3;
  std::uint64_t seed = 1;
};

/// Enumerates the training examples of a text. All random numbers of a word are a function of seed,
/// epoch and the position of the word in the text, so that parts of the text can be processed in
/// any order.
class WordWindows {
 public:
  /// `text` must outlive the object. Throws ArgumentError if an option is invalid.
  WordWindows(const WordText& text, const WindowOptions& options);

  /// The largest fraction of the text's positions that belong to kept occurrences of a single word.
  double largest_share() const { return largest_share_; }

  /// A word with its context words and negatives.
  struct Example {
    /// The context words, at least one.
    std::span<const std::int32_t> context;
    /// The word itself, then up to `negatives` negatives.
    std::span<const std::int32_t> candidates = {};
  };
  /// Buffers that are reused between calls.
  struct Scratch {
    std::vector<std::int32_t> kept = {}, context = {}, candidates = {};
    std::vector<std::int64_t> positions = {};
  };
  /// Calls `use` with an example for each word in [begin, end) of the text that is kept and has
  /// context words. Negatives are sampled with probabilities proportional to their counts to the
  /// power of 3/4; samples of the word itself are dropped.
  void for_examples(std::int64_t epoch, std::int64_t begin, std::int64_t end, Scratch& scratch,
                    FunctionRef<void(const Example&)> use) const;

 private:
  bool keeps(std::int64_t epoch, std::int64_t position) const;
  void for_sentence(std::int64_t epoch, std::int64_t begin, std::int64_t end,
                    std::int64_t sentence_begin, std::int64_t sentence_end, Scratch& scratch,
                    FunctionRef<void(const Example&)> use) const;

  const WordText& text_;
  WindowOptions options_;
  double largest_share_ = 0;
  std::vector<std::uint32_t> kept_share_;  // fraction of occurrences kept, by word, times 2^32
  // Walker's alias method: own_share_ is the probability of a word itself, times 2^32; otherwise
  // its alias is sampled.
  std::vector<std::uint32_t> own_share_;
  std::vector<std::int32_t> alias_;
};

}  // namespace weft
