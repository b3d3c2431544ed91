// What all tokenizers have in common: ids with a meaning of their own, and where a text stands.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// Ids that no text becomes; -1 where a tokenizer has none.
struct SpecialIds {
  std::int32_t pad = -1;   // fills up shorter rows of a batch
  std::int32_t unk = -1;   // what has no id of its own
  std::int32_t bos = -1;   // in front of a text
  std::int32_t eos = -1;   // behind a text
  std::int32_t cls = -1;   // BERT's "[CLS]"
  std::int32_t sep = -1;   // BERT's "[SEP]"
  std::int32_t mask = -1;  // BERT's "[MASK]"

  friend bool operator==(const SpecialIds&, const SpecialIds&) = default;
};

/// All of them, in the order that files keep. Files call them by these names, or "pad_token".
struct SpecialIdName {
  const char* name;
  std::int32_t SpecialIds::*id;
};
inline constexpr std::array<SpecialIdName, 7> kSpecialIds = {{{"pad", &SpecialIds::pad},
                                                              {"unk", &SpecialIds::unk},
                                                              {"bos", &SpecialIds::bos},
                                                              {"eos", &SpecialIds::eos},
                                                              {"cls", &SpecialIds::cls},
                                                              {"sep", &SpecialIds::sep},
                                                              {"mask", &SpecialIds::mask}}};

/// What the special ids are called, in the order of kSpecialIds; "" = there is none.
using SpecialNames = std::array<std::string, kSpecialIds.size()>;

/// Where a text stands that becomes ids. Some tokenizers take a text's beginning as that of a word,
/// and show it by a blank in front, which a text that goes on must not get.
enum class TextPlace : std::uint8_t { beginning, middle };

}  // namespace weft
