#include "weft/models/text/chat/marks.h"

#include <algorithm>

#include "weft/core/error.h"
#include "weft/models/text/chat/encode_chat.h"

namespace weft {
namespace {

const Conversation& sample() {
  static const Conversation turns = {{"user", "a"}, {"assistant", "b"}};
  return turns;
}

}  // namespace

std::size_t mark_size(std::string_view text, const SpecialTexts& specials) {
  std::size_t size = 0;
  for (const auto& [name, special] : specials) {
    if (text.starts_with(special)) size = std::max(size, special.size());
  }
  if (size > 0 || !text.starts_with('<')) return size;
  const std::size_t end = text.find_first_of("> \t\r\n", 1);
  return end != std::string_view::npos && end > 1 && text[end] == '>' ? end + 1 : 0;
}

std::vector<std::string> marks_of(const ChatFormat& format) {
  RenderedChat shown;
  try {
    shown = format.render(sample());
  } catch (const DataError&) {
    return {};
  }
  std::vector<std::string> marks;
  std::size_t begin = 0;
  for (const TextRun& run : shown.runs) {
    std::string_view text = std::string_view(shown.text).substr(begin, run.end - begin);
    begin = run.end;
    if (run.origin.writer != Writer::format) continue;
    while (!text.empty()) {
      const std::size_t size = mark_size(text, format.specials());
      const std::string_view mark = text.substr(0, size);
      if (size > 0 && std::find(marks.begin(), marks.end(), mark) == marks.end())
        marks.emplace_back(mark);
      text.remove_prefix(std::max<std::size_t>(size, 1));
    }
  }
  return marks;
}

AnswerEnd answer_end(const Tokenizer& tokenizer, const ChatFormat& format) {
  EncodedChat shown;
  const EncodeChatOptions usual;
  try {
    shown = encode_chat(tokenizer, format, sample(), usual);
  } catch (const DataError&) {
    return {};
  }
  AnswerEnd end;
  std::size_t contents_end = 0, last = 0;  // ends of the answer's contents and of its end marker
  for (std::size_t i = 0; i < shown.size(); ++i) {
    if (shown.answer[i] == 0) continue;
    if (contents_end == 0) contents_end = shown.text.find('b', shown.spans[i].begin) + 1;
    last = shown.spans[i].end;
    end.id = tokenizer.is_special(shown.ids[i]) ? shown.ids[i] : -1;
  }
  if (last <= contents_end) return {};
  end.text = shown.text.substr(contents_end, last - contents_end);
  end.text.erase(0, end.text.find_first_not_of(" \t\r\n"));
  return end;
}

}  // namespace weft
