// SentencePiece's normalisation before segmentation: a compiled map for characters and rules for
// whitespace.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/models/text/tokenizers/base/special_ids.h"
#include "weft/models/text/tokenizers/normalizers/precompiled.h"
#include "weft/models/text/tokenizers/subwords/piece_trie.h"

namespace WEFT_API weft {

/// Normalises a text in the same way as the SentencePiece library. Accepts arbitrary bytes; each
/// byte that is not part of a valid character is replaced by U+FFFD. Immutable.
class SentencePieceNormalizer {
 public:
  struct Rules {
    bool dummy_prefix = true;             // insert a space before every text
    bool remove_extra_whitespace = true;  // collapse runs of spaces and strip spaces at the ends
    bool escape_whitespace = true;        // replace spaces with U+2581
    bool whitespace_as_suffix = false;    // insert the space of dummy_prefix after the text instead
  };

  SentencePieceNormalizer() : SentencePieceNormalizer(Rules(), PrecompiledMap(), {}) {}
  /// `symbols` are left unchanged by normalisation.
  SentencePieceNormalizer(const Rules& rules, PrecompiledMap map,
                          const std::vector<std::string_view>& symbols);

  /// Returns the normalised text. If `origins` is not null, it is set to the offsets in `text` that
  /// correspond to each byte of the result and to its end. For TextPlace::middle, no space is
  /// inserted, and a leading space is kept. Throws DataError if the text has 4 GiB or more.
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
  std::array<bool, 256> stays_{};  // ASCII characters unchanged before ASCII or the end of text
};

}  // namespace weft
