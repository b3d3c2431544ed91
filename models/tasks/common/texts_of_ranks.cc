#include "weft/models/tasks/common/texts_of_ranks.h"

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

std::string to_word(const std::vector<WrittenText>& texts) {
  std::string word;
  for (const WrittenText& text : texts) {
    append_text(word, text.text);
    append_text(word, bytes_of(text.ids));
    append_text(word, std::to_string(static_cast<int>(text.finish)));
    append_text(word, text.score ? bytes_of(std::vector<double>{*text.score}) : "");
  }
  return word;
}

std::vector<WrittenText> written_texts_of(std::string_view word) {
  const std::vector<std::string> parts = split_texts(word);
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

std::string to_word(const std::vector<ContinuationScore>& scores) {
  std::string word;
  for (const ContinuationScore& score : scores)
    append_text(word, bytes_of(score.log_probabilities));
  return word;
}

std::vector<ContinuationScore> scores_of(std::string_view word) {
  std::vector<ContinuationScore> scores;
  for (const std::string& part : split_texts(word)) scores.push_back({values_of<double>(part)});
  return scores;
}

}  // namespace weft
