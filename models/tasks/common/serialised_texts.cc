#include "weft/models/tasks/common/serialised_texts.h"

#include <cstring>

#include "weft/core/world/text_list.h"

namespace weft {
namespace {

template <class T>
std::string_view bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}
template <class T>
std::vector<T> values_of(std::string_view bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}

}  // namespace

std::string serialise(const std::vector<WrittenText>& texts) {
  std::string bytes;
  for (const WrittenText& text : texts) {
    append_text(bytes, text.text);
    append_text(bytes, bytes_of(text.ids));
    append_text(bytes, std::to_string(static_cast<int>(text.finish)));
    append_text(bytes, text.score ? bytes_of(std::vector<double>{*text.score}) : "");
  }
  return bytes;
}

std::vector<WrittenText> parse_written_texts(std::string_view bytes) {
  const std::vector<std::string> parts = split_texts(bytes);
  std::vector<WrittenText> texts;
  for (std::size_t i = 0; i + 3 < parts.size(); i += 4) {
    WrittenText& text = texts.emplace_back();
    text.text = parts[i];
    text.ids = values_of<TokenIds::value_type>(parts[i + 1]);
    text.finish = static_cast<Finish>(std::stoi(parts[i + 2]));
    if (!parts[i + 3].empty()) text.score = values_of<double>(parts[i + 3]).front();
  }
  return texts;
}

std::string serialise(const std::vector<ContinuationScore>& scores) {
  std::string bytes;
  for (const ContinuationScore& score : scores)
    append_text(bytes, bytes_of(score.log_probabilities));
  return bytes;
}

std::vector<ContinuationScore> parse_scores(std::string_view bytes) {
  std::vector<ContinuationScore> scores;
  for (const std::string& part : split_texts(bytes)) scores.push_back({values_of<double>(part)});
  return scores;
}

}  // namespace weft
