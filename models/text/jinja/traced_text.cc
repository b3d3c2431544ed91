#include "weft/models/text/jinja/traced_text.h"

#include <algorithm>
#include <utility>

namespace weft::chat {

TracedText::TracedText(std::string text, Origin origin) : text_(std::move(text)) {
  if (!text_.empty()) runs_.push_back({text_.size(), origin});
}

void TracedText::append(std::string_view text, Origin origin) {
  if (text.empty()) return;
  text_ += text;
  if (!runs_.empty() && runs_.back().origin == origin) {
    runs_.back().end = text_.size();
  } else {
    runs_.push_back({text_.size(), origin});
  }
}

void TracedText::append(const TracedText& other) { append(other, 0, other.size()); }

void TracedText::append(const TracedText& other, std::size_t begin, std::size_t end) {
  const std::string_view all = other.text_;
  auto run =
      std::upper_bound(other.runs_.begin(), other.runs_.end(), begin,
                       [](std::size_t at, const TextRun& candidate) { return at < candidate.end; });
  for (; begin < end; ++run) {
    const std::size_t stop = std::min(end, run->end);
    append(all.substr(begin, stop - begin), run->origin);
    begin = stop;
  }
}

TracedText TracedText::part(std::size_t begin, std::size_t end) const {
  TracedText result;
  result.append(*this, begin, end);
  return result;
}

void TracedText::set_generated() {
  TracedText result;
  std::size_t begin = 0;
  for (TextRun run : runs_) {
    run.origin.generated = true;
    result.append(std::string_view(text_).substr(begin, run.end - begin), run.origin);
    begin = run.end;
  }
  *this = std::move(result);
}

}  // namespace weft::chat
