// Splits documents into passages of whole sentences for pre-training encoder-decoder models.
#pragma once

#include <cstdint>
#include <iterator>
#include <vector>

#include "weft/models/data/batching/passage_source.h"

namespace WEFT_API weft {

/// A passage can begin at any sentence of a document. It contains as many whole sentences as fit,
/// at most up to the end of the document. A sentence that is longer than a passage is split into
/// several sentences.
class Passages final : public PassageSource {
 public:
  /// `documents` contains the sentences of each document as ids, in order; empty sentences are
  /// dropped. `tokens` is the maximum number of ids per passage, at least 2. Passages with a single
  /// id or with fewer than `min_sentences` sentences are dropped. Throws ArgumentError if `tokens`
  /// is below 2 or if no passage is left.
  Passages(std::vector<std::vector<TokenIds>> documents, std::int64_t tokens,
           std::int64_t min_sentences = 1);

  std::int64_t documents() const override { return std::ssize(documents_); }
  std::int64_t tokens() const override { return all_tokens_; }
  std::int64_t count() const override { return std::ssize(places_); }
  std::vector<TokenIds> at(std::int64_t i) const override;
  /// Every sentence that is in any passage is in one of the returned passages. The last sentences
  /// of a document may be in two of them.
  std::vector<std::int64_t> cover() const override;
  std::vector<TokenIds> random(Rng& rng) const override { return at(rng.below(count())); }

 private:
  struct Place {
    std::size_t document, begin, end;  // sentences begin .. end - 1
  };
  std::vector<std::vector<TokenIds>> documents_;
  std::vector<Place> places_;
  std::int64_t all_tokens_ = 0;
};

}  // namespace weft
