// Pads the encodings of a batch to a common length.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "weft/models/text/tokenizers/base/encoding.h"
#include "weft/models/text/tokenizers/base/truncation.h"

namespace WEFT_API weft {

struct Padding {
  std::optional<std::uint64_t> length = {};  // if not set, the longest encoding of the batch
  TextEnd direction = TextEnd::right;
  /// if set, the length is rounded up to a multiple of this
  std::optional<std::uint64_t> multiple = {};
  std::int32_t pad_id = 0;
  std::int32_t pad_type_id = 0;
  std::string pad_token = "[PAD]";  // not used; stored so that files are written back unchanged

  template <class Fields>
  void describe(Fields& fields) {
    fields.padding_strategy("strategy", length);
    fields.required("direction", direction);
    fields.required("pad_to_multiple_of", multiple);
    fields.required("pad_id", pad_id);
    fields.required("pad_type_id", pad_type_id);
    fields.required("pad_token", pad_token);
  }
};

/// Pads every encoding in the batch and its overflow windows.
void pad(std::span<Encoding> batch, const Padding& padding);

}  // namespace weft
