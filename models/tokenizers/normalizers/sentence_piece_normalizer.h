// How SentencePiece changes a text before it cuts it: characters by a compiled map, blanks by
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

/// Changes a text as SentencePiece's library does. Any bytes may come: each one that is part of no
/// character becomes U+FFFD. Immutable.
class SentencePieceNormalizer {
 public:
  struct Rules {
    bool dummy_prefix = true;             // a blank in front of every text
    bool remove_extra_whitespace = true;  // of runs of blanks one stays, of those at the ends none
    bool escape_whitespace = true;        // blanks become U+2581
    bool whitespace_as_suffix = false;    // the blank of dummy_prefix stands behind the text
  };

  SentencePieceNormalizer() : SentencePieceNormalizer(Rules(), PrecompiledMap(), {}) {}
  /// `symbols` stay as they are, wherever they stand.
  SentencePieceNormalizer(const Rules& rules, PrecompiledMap map,
                          const std::vector<std::string_view>& symbols);

  /// The changed text; `origins`, where given, gets for each of its bytes, and for its end, where
  /// in `text` that came from. A text in the middle of another one gets no blank in front, and
  /// keeps one that it begins with. Throws DataError for a text of 4 GiB or more.
  std::string normalise(std::string_view text, TextPlace place = TextPlace::beginning,
                        std::vector<std::uint32_t>* origins = nullptr) const;

 private:
  struct Part {
    std::string_view becomes;
    std::size_t size = 0;  // bytes of the text
  };
  Part next_part(std::string_view text) const;

  Rules rules_;
  PrecompiledMap map_;
  PieceTrie symbols_;
  bool has_symbols_ = false;
  std::array<bool, 256> stays_{};  // this ASCII character does, where another one follows
};

}  // namespace weft
