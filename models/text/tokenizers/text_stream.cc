#include "weft/models/text/tokenizers/text_stream.h"

#include <cstddef>
#include <string_view>
#include <utility>

#include "weft/models/text/unicode/utf8.h"

namespace weft {
namespace {

// Number of preceding ids that are kept as context. The text of an id depends on only a few of
// them.
constexpr std::size_t kContext = 4;

/// Returns false if `text` ends in an incomplete character or in U+FFFD.
bool is_certain(std::string_view text) {
  return unfinished_bytes(text) == 0 && !text.ends_with(kReplacementCharacter);
}

}  // namespace

TextStream::TextStream(const Tokenizer& tokenizer, std::span<const std::int64_t> before)
    : TextStream([&tokenizer](std::span<const std::int32_t> ids) { return tokenizer.decode(ids); },
                 before) {}

TextStream::TextStream(Decode decode, std::span<const std::int64_t> before)
    : decode_(std::move(decode)) {
  for (const std::int64_t id : before) ids_.push_back(static_cast<std::int32_t>(id));
  emitted_ = ids_.size();
}

std::string TextStream::add(std::int64_t id) {
  ids_.push_back(static_cast<std::int32_t>(id));
  return fresh(false);
}

std::string TextStream::finish() { return fresh(true); }

std::string TextStream::fresh(bool all) {
  const std::string before = decode_({ids_.data(), emitted_}), now = decode_(ids_);
  if (now.size() <= before.size() || (!all && !is_certain(now))) return {};
  std::string text = now.substr(before.size());
  emitted_ = ids_.size();
  // Special ids have no text. A context that consists only of special ids would contain no
  // information about the preceding text.
  if (emitted_ > kContext && !decode_(std::span(ids_).last(kContext)).empty()) {
    ids_.erase(ids_.begin(), ids_.end() - static_cast<std::ptrdiff_t>(kContext));
    emitted_ = kContext;
  }
  return text;
}

}  // namespace weft
