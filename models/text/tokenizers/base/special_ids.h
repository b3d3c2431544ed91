// Types shared by all tokenizers: the ids of special tokens, and the position of a text.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// The ids of special tokens. An id is -1 if the tokenizer has no such token.
struct SpecialIds {
  std::int32_t pad = -1;   // pads shorter rows of a batch
  std::int32_t unk = -1;   // replaces text that is not in the vocabulary
  std::int32_t bos = -1;   // beginning of a text
  std::int32_t eos = -1;   // end of a text
  std::int32_t cls = -1;   // BERT's "[CLS]"
  std::int32_t sep = -1;   // BERT's "[SEP]"
  std::int32_t mask = -1;  // BERT's "[MASK]"

  friend bool operator==(const SpecialIds&, const SpecialIds&) = default;
};

/// The name of a special id and the corresponding member of SpecialIds. Files use these names or
/// derived names such as "pad_token".
struct SpecialIdName {
  const char* name;
  std::int32_t SpecialIds::*id;
};
/// All special ids in the order in which files store them.
inline constexpr std::array<SpecialIdName, 7> kSpecialIds = {{{"pad", &SpecialIds::pad},
                                                              {"unk", &SpecialIds::unk},
                                                              {"bos", &SpecialIds::bos},
                                                              {"eos", &SpecialIds::eos},
                                                              {"cls", &SpecialIds::cls},
                                                              {"sep", &SpecialIds::sep},
                                                              {"mask", &SpecialIds::mask}}};

/// The texts of the special tokens in the order of kSpecialIds. A text is "" if there is no such
/// token.
using SpecialNames = std::array<std::string, kSpecialIds.size()>;

/// The position of an encoded text: at the beginning of a document, or in the middle of one as a
/// continuation. Some tokenizers treat the beginning of a text as the beginning of a word and
/// insert a space before it. They must not insert this space before a continuation.
enum class TextPlace : std::uint8_t { beginning, middle };

}  // namespace weft
