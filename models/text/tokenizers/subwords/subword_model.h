// The interface of subword models, which form the third step of encoding: they segment a word into
// pieces of a vocabulary.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "weft/core/export.h"
#include "weft/models/text/tokenizers/subwords/subword_span.h"

namespace WEFT_API weft {

/// A method of segmenting words into pieces. Immutable and thread-safe. Each implementation has a
/// name and describes its fields; formats/components.cc lists all implementations.
class SubwordModel {
 public:
  virtual ~SubwordModel() = default;

  /// Appends the pieces of `word` to `out`. Their offsets are relative to the word. `word` must not
  /// be empty. It must be valid UTF-8 unless takes_bytes() is true, in which case it may contain
  /// arbitrary bytes. Throws DataError if text is outside the vocabulary and there is no unknown
  /// id.
  virtual void segment(std::string_view word, std::vector<SubwordSpan>& out) const = 0;

  /// Returns the size of the first part of `word` that can be segmented on its own: segmenting the
  /// parts of a word one after the other gives the same pieces as segmenting the whole word. Parts
  /// of long words recur, so their pieces can be cached. The default is the whole word.
  virtual std::size_t independent_size(std::string_view word) const { return word.size(); }

  /// Returns true if words are raw bytes and pieces are spelled in GPT-2's byte alphabet.
  virtual bool takes_bytes() const { return false; }

  /// Returns the highest id plus one.
  virtual std::int64_t size() const = 0;
  /// Returns the id whose piece, as spelled in files, is exactly `piece`, or -1 if there is none.
  virtual std::int32_t find(std::string_view piece) const = 0;
  /// Returns the piece of an id in [0, size()), as spelled in files, or an empty view if there is
  /// none.
  virtual std::string_view piece(std::int32_t id) const = 0;
  /// Returns the unknown id, or -1 if there is none.
  virtual std::int32_t unknown() const = 0;
  /// Returns true if a word may start with `piece`.
  virtual bool begins_word(std::string_view piece) const = 0;
};

using SubwordModelPtr = std::shared_ptr<const SubwordModel>;

}  // namespace weft
