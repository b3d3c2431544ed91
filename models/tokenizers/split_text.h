// A text on its way through the tokenization pipeline, split into parts.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/core/export.h"
#include "weft/models/tokenizers/special_ids.h"
#include "weft/models/tokenizers/unicode/aligned_text.h"

namespace WEFT_API weft {

/// A part of a SplitText: bytes [begin, end).
struct TextPart {
  std::uint32_t begin = 0, end = 0;
  std::int32_t id = -1;  // the added token that this part is, or -1; such a part is final
};

/// A text and its parts, in order. Normalisers rewrite the parts, pre-tokenizers split them.
struct SplitText {
  AlignedText text;
  std::vector<TextPart> parts, spare;
  TextPlace place = TextPlace::beginning;
  /// `takes_bytes`: the model accepts raw bytes. In that case, a byte-level pre-tokenizer in last
  /// position skips the mapping of bytes to characters and sets `bytes`.
  bool takes_bytes = false, bytes = false;

  std::string_view view(const TextPart& part) const {
    return text.text().substr(part.begin, part.end - part.begin);
  }

  /// Rewrites every part without an id for which `changes(view)` is true, by calling `write(edit)`.
  /// Parts that become empty are removed.
  template <class Changes, class Write>
  void rewrite(const Changes& changes, const Write& write) {
    bool any = false;
    for (const TextPart& part : parts) any = any || (part.id < 0 && changes(view(part)));
    if (!any) return;
    TextEdit edit(text);
    spare.clear();
    for (const TextPart& part : parts) {
      const std::uint32_t begin = edit.size();
      edit.begin_part(part.begin, part.end);
      if (part.id < 0 && changes(view(part))) {
        write(edit);
      } else {
        edit.keep_rest();
      }
      if (edit.size() > begin) spare.push_back({begin, edit.size(), part.id});
    }
    edit.finish();
    std::swap(parts, spare);
  }

  /// Replaces every part without an id by smaller parts. `split(view, emit)` reports them in order
  /// as byte ranges of the view, by calling emit(begin, end). Empty parts are dropped.
  template <class Split>
  void split(const Split& split) {
    spare.clear();
    for (const TextPart& part : parts) {
      if (part.id >= 0) {
        spare.push_back(part);
        continue;
      }
      split(view(part), [&](std::size_t begin, std::size_t end) {
        if (begin < end) {
          spare.push_back({part.begin + static_cast<std::uint32_t>(begin),
                           part.begin + static_cast<std::uint32_t>(end), -1});
        }
      });
    }
    std::swap(parts, spare);
  }
};

}  // namespace weft
