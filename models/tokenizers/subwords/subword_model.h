// The third step from a text to ids: a word becomes pieces of a vocabulary.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "weft/core/export.h"
#include "weft/models/tokenizers/subwords/subword_span.h"

namespace WEFT_API weft {

/// One way to cut a word into pieces. Immutable; one for several threads. A kind is a class with a
/// name and a description of its fields (formats/components.cc lists them).
class SubwordModel {
 public:
  virtual ~SubwordModel() = default;

  /// Appends the pieces of `word` (not empty; valid UTF-8, or any bytes where it takes bytes) to
  /// `out`, places relative to the word. Throws DataError for what is unknown where no id stands
  /// for that.
  virtual void segment(std::string_view word, std::vector<SubwordSpan>& out) const = 0;

  /// True where words are bytes, which pieces spell in GPT-2's alphabet.
  virtual bool takes_bytes() const { return false; }

  /// One more than the highest id.
  virtual std::int64_t size() const = 0;
  /// -1 where no id stands for exactly `piece`, as files spell it.
  virtual std::int32_t find(std::string_view piece) const = 0;
  /// The piece of an id in [0, size()), as files spell it; empty where it has none.
  virtual std::string_view piece(std::int32_t id) const = 0;
  /// What stands for the unknown; -1 for none.
  virtual std::int32_t unknown() const = 0;
  /// True where a word may begin with `piece`.
  virtual bool begins_word(std::string_view piece) const = 0;
};

using SubwordModelPtr = std::shared_ptr<const SubwordModel>;

}  // namespace weft
