#include "weft/models/text/tokenizers/base/padding.h"

#include <algorithm>

namespace weft {
namespace {

void fill(Encoding& encoding, std::size_t length, const Padding& padding) {
  for (Encoding& window : encoding.overflowing) fill(window, length, padding);
  if (encoding.size() >= length) return;
  Encoding filler;
  for (std::size_t i = encoding.size(); i < length; ++i)
    filler.add_special(padding.pad_id, padding.pad_type_id);
  std::fill(filler.attention.begin(), filler.attention.end(), std::uint8_t{0});
  std::vector<Encoding> windows = std::move(encoding.overflowing);
  encoding.overflowing.clear();
  if (padding.direction == TextEnd::right) {
    encoding.append(filler);
  } else {
    filler.append(encoding);
    encoding = std::move(filler);
  }
  encoding.overflowing = std::move(windows);
}

}  // namespace

void pad(std::span<Encoding> batch, const Padding& padding) {
  std::size_t length = padding.length.value_or(0);
  if (!padding.length)
    for (const Encoding& encoding : batch) length = std::max(length, encoding.size());
  if (const std::uint64_t multiple = padding.multiple.value_or(0);
      multiple > 0 && length % multiple > 0)
    length += multiple - length % multiple;
  for (Encoding& encoding : batch) fill(encoding, length, padding);
}

}  // namespace weft
