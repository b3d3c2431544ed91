#include "weft/models/zoo/data/sentences.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <map>
#include <unordered_map>
#include <utility>

namespace weft::zoo {

std::vector<Sentence> sentences_of(const std::string& text, std::int64_t longest) {
  std::vector<Sentence> sentences(1);
  std::string word;
  const auto end_word = [&] {
    if (!word.empty()) sentences.back().push_back(std::move(word));
    word.clear();
    if (std::ssize(sentences.back()) >= longest) sentences.emplace_back();
  };
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x80 || std::isalpha(byte) != 0 || (c == '\'' && !word.empty())) {
      word += static_cast<char>(std::tolower(byte));
      continue;
    }
    end_word();
    if (std::ispunct(byte) == 0) continue;
    word = c;
    end_word();
    if ((c == '.' || c == '!' || c == '?') && !sentences.back().empty()) sentences.emplace_back();
  }
  end_word();
  if (sentences.back().empty()) sentences.pop_back();
  return sentences;
}

std::vector<std::string> frequent_words(const std::vector<Sentence>& sentences, std::int64_t most) {
  std::map<std::string, std::int64_t> counts;
  for (const Sentence& sentence : sentences) {
    for (const std::string& word : sentence) ++counts[word];
  }
  std::vector<std::pair<std::int64_t, std::string>> order;
  for (const auto& [word, count] : counts) order.emplace_back(-count, word);
  std::sort(order.begin(), order.end());
  std::vector<std::string> words = {"(rare)"};
  for (const auto& [count, word] : order) {
    if (std::ssize(words) < most) words.push_back(word);
  }
  return words;
}

std::vector<NamedTensors> sentence_batches(const std::vector<Sentence>& sentences,
                                           const std::vector<std::string>& words, std::int64_t rows,
                                           std::int64_t longest) {
  std::unordered_map<std::string, std::int32_t> ids;
  for (std::size_t i = 1; i < words.size(); ++i) ids[words[i]] = static_cast<std::int32_t>(i);
  std::vector<NamedTensors> batches;
  const auto width = static_cast<std::size_t>(longest), most = static_cast<std::size_t>(rows);
  for (std::size_t begin = 0; begin < sentences.size(); begin += most) {
    const std::size_t count = std::min(most, sentences.size() - begin);
    std::vector<std::int32_t> symbols(count * width), lengths;
    for (std::size_t r = 0; r < count; ++r) {
      const Sentence& sentence = sentences[begin + r];
      lengths.push_back(static_cast<std::int32_t>(sentence.size()));
      for (std::size_t t = 0; t < sentence.size(); ++t) {
        const auto found = ids.find(sentence[t]);
        symbols[r * width + t] = found == ids.end() ? 0 : found->second;
      }
    }
    const auto here = static_cast<std::int64_t>(count);
    batches.push_back({{"symbols", Tensor::of<std::int32_t>({here, longest}, symbols)},
                       {"lengths", Tensor::of<std::int32_t>({here}, lengths)}});
  }
  return batches;
}

}  // namespace weft::zoo
