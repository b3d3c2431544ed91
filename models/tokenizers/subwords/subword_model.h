// Interface of subword models, the third step of encoding: they split a word into pieces of a
// vocabulary.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "weft/core/export.h"
#include "weft/models/tokenizers/subwords/subword_span.h"

namespace WEFT_API weft {

/// A way to segment words into pieces. Immutable; may be shared by threads. Each implementation has
/// a name and describes its fields; formats/components.cc lists all of them.
class SubwordModel {
 public:
  virtual ~SubwordModel() = default;

  /// Appends the pieces of `word` to `out`, with offsets relative to the word. `word` must not be
  /// empty and must be valid UTF-8, or may be any bytes if takes_bytes(). Throws DataError for text
  /// outside the vocabulary if there is no unknown id.
  virtual void segment(std::string_view word, std::vector<SubwordSpan>& out) const = 0;

  /// True if words are raw bytes, while pieces are spelled in GPT-2's byte alphabet.
  virtual bool takes_bytes() const { return false; }

  /// One more than the highest id.
  virtual std::int64_t size() const = 0;
  /// Returns the id of exactly `piece`, spelled as in files, or -1.
  virtual std::int32_t find(std::string_view piece) const = 0;
  /// Returns the piece of an id in [0, size()), spelled as in files; empty if it has none.
  virtual std::string_view piece(std::int32_t id) const = 0;
  /// Returns the unknown id, or -1.
  virtual std::int32_t unknown() const = 0;
  /// True if a word may start with `piece`.
  virtual bool begins_word(std::string_view piece) const = 0;
};

using SubwordModelPtr = std::shared_ptr<const SubwordModel>;

}  // namespace weft
