// A text that is split into parts while it passes through the tokenization pipeline.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/core/export.h"
#include "weft/models/text/tokenizers/base/special_ids.h"
#include "weft/models/text/unicode/aligned_text.h"

namespace WEFT_API weft {

/// A part of a SplitText: bytes [begin, end).
struct TextPart {
  std::uint32_t begin = 0, end = 0;
  std::int32_t id = -1;  // id of the added token if the part is one, else -1
};

/// A text and its parts, in order. Normalisers rewrite the parts, and pre-tokenizers split them.
struct SplitText {
  AlignedText text;
  std::vector<TextPart> parts, spare;
  TextPlace place = TextPlace::beginning;
  /// `takes_bytes` is true if the model accepts raw bytes. In this case, a byte-level pre-tokenizer
  /// in the last position does not map bytes to characters, and sets `bytes` to true.
  bool takes_bytes = false, bytes = false;

  std::string_view view(const TextPart& part) const {
    return text.text().substr(part.begin, part.end - part.begin);
  }

  /// Calls `write(edit)` to rewrite each part that has no id and for which `changes(view)` returns
  /// true. Parts that become empty are removed.
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

  /// Replaces each part that has no id with smaller parts. `split(view, emit)` must call
  /// emit(begin, end) for the byte range of each smaller part in the view, in order. Empty parts
  /// are dropped.
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
