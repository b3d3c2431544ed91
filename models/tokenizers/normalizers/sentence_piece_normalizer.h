// SentencePiece's normalisation before segmentation: characters by a compiled map, whitespace by
// rules.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/models/tokenizers/normalizers/precompiled.h"
#include "weft/models/tokenizers/special_ids.h"
#include "weft/models/tokenizers/subwords/piece_trie.h"

namespace WEFT_API weft {

/// Normalises a text as the SentencePiece library does. Accepts any bytes; each byte that is not
/// part of a valid character becomes U+FFFD. Immutable.
class SentencePieceNormalizer {
 public:
  struct Rules {
    bool dummy_prefix = true;             // insert a space in front of every text
    bool remove_extra_whitespace = true;  // collapse runs of spaces and strip those at the ends
    bool escape_whitespace = true;        // replace spaces with U+2581
    bool whitespace_as_suffix = false;    // append the dummy_prefix space instead of prepending it
  };

  SentencePieceNormalizer() : SentencePieceNormalizer(Rules(), PrecompiledMap(), {}) {}
  /// `symbols` are never changed.
  SentencePieceNormalizer(const Rules& rules, PrecompiledMap map,
                          const std::vector<std::string_view>& symbols);

  /// Returns the normalised text. If `origins` is not null, it is set to the offset in `text` of
  /// each byte of the result and of its end. For TextPlace::middle, no space is inserted, and a
  /// leading space is kept. Throws DataError for a text of 4 GiB or more.
  std::string normalise(std::string_view text, TextPlace place = TextPlace::beginning,
                        std::vector<std::uint32_t>* origins = nullptr) const;

 private:
  struct Part {
    std::string_view becomes;
    std::size_t size = 0;  // number of bytes replaced
  };
  Part next_part(std::string_view text) const;

  Rules rules_;
  PrecompiledMap map_;
  PieceTrie symbols_;
  bool has_symbols_ = false;
  std::array<bool, 256> stays_{};  // unchanged if ASCII or the end follows; ASCII characters only
};

}  // namespace weft
