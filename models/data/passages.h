// Documents as passages of whole sentences: what encoder-decoders are pre-trained on.
#pragma once

#include <cstdint>
#include <iterator>
#include <vector>

#include "weft/models/data/passage_source.h"

namespace WEFT_API weft {

/// A passage begins with any sentence of a document and goes on as long as whole sentences fit, or
/// until the document ends. A sentence that is too long for any passage counts as several.
class Passages final : public PassageSource {
 public:
  /// `documents`: sentences as ids, in order; sentences without ids are left out. `tokens`: most
  /// ids of a passage, at least 2; passages of a single id, or of fewer than `least_sentences`
  /// sentences, are not made. Throws ArgumentError, also where no passage is left.
  Passages(std::vector<std::vector<TokenIds>> documents, std::int64_t tokens,
           std::int64_t least_sentences = 1);

  std::int64_t documents() const override { return std::ssize(documents_); }
  std::int64_t tokens() const override { return all_tokens_; }
  std::int64_t count() const override { return std::ssize(places_); }
  std::vector<TokenIds> at(std::int64_t i) const override;
  /// Every sentence that is in any passage is in one of these, the last ones of a document perhaps
  /// in two.
  std::vector<std::int64_t> cover() const override;
  std::vector<TokenIds> random(Draws& draws) const override { return at(draws.below(count())); }

 private:
  struct Place {
    std::size_t document, begin, end;  // sentences begin .. end - 1
  };
  std::vector<std::vector<TokenIds>> documents_;
  std::vector<Place> places_;
  std::int64_t all_tokens_ = 0;
};

}  // namespace weft
