#include "weft/models/text/chat/encode_chat.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string_view>
#include <utility>

#include "weft/core/error.h"
#include "weft/models/text/chat/marks.h"
#include "weft/models/text/jinja/python_characters.h"
#include "weft/models/text/tokenizers/base/encode_options.h"

namespace weft {
namespace {

/// Returns the span that covers bytes [begin, end).
Span span_of(std::size_t begin, std::size_t end) {
  return {static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)};
}

/// Returns the spans of the runs for which takes(origin) is true. Adjacent runs are merged into one
/// span.
template <class Takes>
std::vector<Span> spans_where(const RenderedChat& chat, const Takes& takes) {
  std::vector<Span> spans;
  std::size_t begin = 0;
  for (const TextRun& run : chat.runs) {
    if (takes(run.origin)) {
      if (!spans.empty() && spans.back().end == begin) {
        spans.back().end = static_cast<std::uint32_t>(run.end);
      } else {
        spans.push_back(span_of(begin, run.end));
      }
    }
    begin = run.end;
  }
  return spans;
}

/// Returns true if `span` overlaps any of `spans`, which must be in ascending order.
bool overlaps(const std::vector<Span>& spans, Span span) {
  const auto found =
      std::upper_bound(spans.begin(), spans.end(), span.begin,
                       [](std::uint32_t at, const Span& part) { return at < part.end; });
  return span.begin < span.end && found != spans.end() && found->begin < span.end;
}

/// Encodes a rendered conversation. Special tokens are recognised only in text that the format
/// wrote, unless `special_in_messages` is set.
Encoding encode_rendered(const Tokenizer& tokenizer, const RenderedChat& chat,
                         bool special_in_messages) {
  EncodeOptions options = {.add_special = false};
  Encoding encoding = tokenizer.encode_text(chat.text, options);
  if (special_in_messages) return encoding;
  const std::vector<Span> others =
      spans_where(chat, [](const Origin& origin) { return origin.writer != Writer::format; });
  // Treat all tokens that the format writes as markers, even if they are not special tokens. Tokens
  // that consist only of whitespace are not markers.
  std::vector<std::int32_t> marks;
  for (std::size_t i = 0; i < encoding.size(); ++i) {
    const Span span = encoding.spans[i];
    if (overlaps(others, span)) continue;
    const std::string_view text =
        std::string_view(chat.text).substr(span.begin, span.end - span.begin);
    if (chat::strip(text, chat::Ends::both).begin < text.size()) marks.push_back(encoding.ids[i]);
  }
  std::sort(marks.begin(), marks.end());
  marks.erase(std::unique(marks.begin(), marks.end()), marks.end());
  bool found = false;
  for (std::size_t i = 0; i < encoding.size() && !found; ++i) {
    const std::int32_t id = encoding.ids[i];
    found = overlaps(others, encoding.spans[i]) &&
            (tokenizer.is_special(id) || std::binary_search(marks.begin(), marks.end(), id));
  }
  if (!found) return encoding;
  options.plain = {others, marks};
  return tokenizer.encode_text(chat.text, options);
}

/// Returns the spans of the answers. A span extends from the first to the last byte of an answer's
/// contents, but ends earlier if text from another message occurs in between.
std::vector<Span> answer_spans(const RenderedChat& chat, const Conversation& conversation,
                               const std::vector<std::string>& roles) {
  const auto answers = [&](std::int32_t message) {
    const std::string& role = conversation[static_cast<std::size_t>(message)].role;
    return std::find(roles.begin(), roles.end(), role) != roles.end();
  };
  std::vector<Span> spans;
  std::int32_t open = -1;  // the message whose span may still be extended, or -1
  std::size_t begin = 0;
  for (const TextRun& run : chat.runs) {
    const Origin& origin = run.origin;
    if (origin.writer == Writer::contents && answers(origin.message)) {
      if (open == origin.message) {
        spans.back().end = static_cast<std::uint32_t>(run.end);
      } else {
        spans.push_back(span_of(begin, run.end));
      }
      open = origin.message;
    } else if (origin.writer == Writer::header || origin.writer == Writer::contents) {
      open = -1;
    }
    begin = run.end;
  }
  return spans;
}

bool is_end(const Tokenizer& tokenizer, const ChatFormat& format, std::int32_t id,
            std::string_view text) {
  if (tokenizer.is_special(id)) return true;
  const auto& specials = format.specials();
  return std::any_of(specials.begin(), specials.end(),
                     [&](const auto& special) { return special.second == text; });
}

/// Returns the size in bytes of the end marker that the format writes after an answer, including
/// preceding whitespace, or 0 if there is none. This function is used if the tokenizer has no id
/// for the marker, so that a model learns to generate its text.
std::size_t spelled_end(const ChatFormat& format, const std::vector<Span>& own, Span answer,
                        std::string_view text) {
  const auto run = std::find_if(own.begin(), own.end(), [&](const Span& span) {
    return span.begin <= answer.end && answer.end < span.end;
  });
  if (run == own.end()) return 0;
  const std::string_view after_answer = text.substr(answer.end, run->end - answer.end);
  const std::size_t blank = chat::strip(after_answer, chat::Ends::both).begin;
  const std::size_t mark = mark_size(after_answer.substr(blank), format.specials());
  return mark == 0 ? 0 : blank + mark;
}

/// Extends the answer mask to include, after each answer, the token that ends it or the ids that
/// spell the end marker.
void add_ends(const Tokenizer& tokenizer, const ChatFormat& format, const std::vector<Span>& spans,
              const RenderedChat& chat, EncodedChat& encoded) {
  const std::vector<Span> own =
      spans_where(chat, [](const Origin& origin) { return origin.writer == Writer::format; });
  for (std::size_t i = 0, next = 0; i < spans.size(); ++i) {
    while (next < encoded.size() && encoded.spans[next].end <= spans[i].end) ++next;
    // An id may cover both the end of the answer and the start of the text after it.
    while (next < encoded.size() && encoded.spans[next].begin < spans[i].end) ++next;
    bool found = false;
    for (std::size_t at = next; at < encoded.size() && overlaps(own, encoded.spans[at]); ++at) {
      const Span span = encoded.spans[at];
      const std::string_view text =
          std::string_view(encoded.text).substr(span.begin, span.end - span.begin);
      if (is_end(tokenizer, format, encoded.ids[at], text)) {
        std::fill(encoded.answer.begin() + static_cast<std::ptrdiff_t>(next),
                  encoded.answer.begin() + static_cast<std::ptrdiff_t>(at) + 1, 1);
        found = true;
        break;
      }
      if (chat::strip(text, chat::Ends::both).begin < text.size()) break;
    }
    if (found) continue;
    const std::size_t end = spans[i].end + spelled_end(format, own, spans[i], encoded.text);
    for (std::size_t at = next; at < encoded.size() && encoded.spans[at].end <= end; ++at)
      encoded.answer[at] = 1;
  }
}

}  // namespace

EncodedChat encode_chat(const Tokenizer& tokenizer, const ChatFormat& format,
                        const Conversation& conversation, const EncodeChatOptions& options) {
  RenderedChat chat = format.render(conversation, options.chat);
  if (chat.text.size() > std::numeric_limits<std::uint32_t>::max())
    throw DataError("the rendered conversation exceeds 4 GiB");
  Encoding encoding = encode_rendered(tokenizer, chat, options.special_in_messages);
  EncodedChat encoded;
  encoded.ids = std::move(encoding.ids);
  encoded.spans = std::move(encoding.spans);
  encoded.answer.resize(encoded.ids.size(), 0);
  encoded.text = chat.text;
  const std::vector<Span> answers =
      chat.marks_generation
          ? spans_where(chat, [](const Origin& origin) { return origin.generated; })
          : answer_spans(chat, conversation, options.answer_roles);
  for (std::size_t i = 0; i < encoded.size(); ++i)
    encoded.answer[i] = overlaps(answers, encoded.spans[i]) ? 1 : 0;
  if (!chat.marks_generation) add_ends(tokenizer, format, answers, chat, encoded);
  return encoded;
}

}  // namespace weft
