// A text that is being cut: the parts that are left of it.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/core/export.h"
#include "weft/models/tokenizers/special_ids.h"
#include "weft/models/tokenizers/unicode/aligned_text.h"

namespace WEFT_API weft {

/// Bytes [begin, end) of a text that is being cut.
struct TextPart {
  std::uint32_t begin = 0, end = 0;
  std::int32_t id = -1;  // of a token that was found whole; such a part is not changed any more
};

/// A text and its parts, in order. Normalisers change the parts, pre-tokenizers cut them.
struct PartedText {
  AlignedText text;
  std::vector<TextPart> parts, spare;
  TextPlace place = TextPlace::beginning;
  /// The model takes bytes: a byte-level pre-tokenizer that comes last leaves them as they are and
  /// says so.
  bool takes_bytes = false, bytes = false;

  std::string_view view(const TextPart& part) const {
    return text.text().substr(part.begin, part.end - part.begin);
  }

  /// Rewrites every part that `changes(view)` says true for by `write(edit)`; parts that become
  /// empty go.
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

  /// Replaces every part without an id by what `split(view, emit)` cuts it into: emit(begin, end),
  /// bytes of the view, in order. Empty ones go.
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
