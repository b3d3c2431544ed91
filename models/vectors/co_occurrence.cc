#include "weft/models/vectors/co_occurrence.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "weft/core/error.h"

namespace weft {
namespace {

constexpr std::int64_t kRowsPerBlock = 64;

// The positions of each word in the text, in ascending order.
struct WordPositions {
  std::vector<std::int64_t> ends, positions;  // ends[w]: end of the range of word w

  explicit WordPositions(const WordText& text) : positions(text.words.size()) {
    std::int64_t sum = 0;
    for (std::int64_t w = 0; w < text.counts.size(); ++w) {
      ends.push_back(sum);
      sum += text.counts.count(w);
    }
    for (std::int64_t p = 0; p < text.size(); ++p) {
      const auto word = static_cast<std::size_t>(text.words[static_cast<std::size_t>(p)]);
      positions[static_cast<std::size_t>(ends[word]++)] = p;
    }
  }
};

// Returns the sentence number of every position of the text.
std::vector<std::int32_t> sentence_numbers(const WordText& text) {
  std::vector<std::int32_t> result;
  for (std::size_t s = 0; s < text.ends.size(); ++s)
    result.resize(static_cast<std::size_t>(text.ends[s]), static_cast<std::int32_t>(s));
  return result;
}

// Co-occurrence sums for a range of rows.
struct RowBlock {
  std::vector<std::int64_t> ends;
  std::vector<std::int32_t> column;
  std::vector<float> value;
};

}  // namespace

SparseMatrix co_occurrences(const WordText& text, const CoOccurrenceOptions& options,
                            Workers& workers) {
  if (options.window < 1)
    throw ArgumentError(fmt::format("the window must be at least 1, but is {}", options.window));
  const WordPositions positions(text);
  const std::vector<std::int32_t> sentences = sentence_numbers(text);
  const std::int64_t words = text.counts.size();
  std::vector<RowBlock> parts(
      static_cast<std::size_t>((words + kRowsPerBlock - 1) / kRowsPerBlock));
  std::atomic<std::int64_t> elements = 0;
  workers.for_chunks(std::ssize(parts), [&](std::int64_t chunk, int) {
    RowBlock& part = parts[static_cast<std::size_t>(chunk)];
    std::vector<double> sums(static_cast<std::size_t>(words), 0.0);
    std::vector<std::int32_t> touched;
    const auto count = [&](std::int64_t position, std::int64_t other) {
      const std::int32_t word = text.words[static_cast<std::size_t>(other)];
      double& sum = sums[static_cast<std::size_t>(word)];
      if (sum == 0) touched.push_back(word);
      sum += options.by_distance ? 1 / static_cast<double>(std::abs(other - position)) : 1;
    };
    for (std::int64_t w = chunk * kRowsPerBlock; w < std::min((chunk + 1) * kRowsPerBlock, words);
         ++w) {
      const std::int64_t begin = w == 0 ? 0 : positions.ends[static_cast<std::size_t>(w - 1)];
      for (std::int64_t i = begin; i < positions.ends[static_cast<std::size_t>(w)]; ++i) {
        const std::int64_t position = positions.positions[static_cast<std::size_t>(i)];
        const std::int32_t sentence = sentences[static_cast<std::size_t>(position)];
        const std::int64_t first = std::max<std::int64_t>(0, position - options.window);
        const std::int64_t last = std::min(text.size() - 1, position + options.window);
        for (std::int64_t other = first; other <= last; ++other) {
          if (other != position && sentences[static_cast<std::size_t>(other)] == sentence)
            count(position, other);
        }
      }
      std::sort(touched.begin(), touched.end());
      for (const std::int32_t word : touched) {
        part.column.push_back(word);
        part.value.push_back(
            static_cast<float>(std::exchange(sums[static_cast<std::size_t>(word)], 0.0)));
      }
      touched.clear();
      part.ends.push_back(std::ssize(part.column));
    }
    const std::int64_t all = elements += std::ssize(part.column);
    if (options.check) options.check(all);
  });
  SparseMatrix all{words, words, {}, {}, {}};
  for (RowBlock& part : parts) {
    const std::int64_t before = std::ssize(all.column);
    for (const std::int64_t end : part.ends) all.ends.push_back(before + end);
    all.column.insert(all.column.end(), part.column.begin(), part.column.end());
    all.value.insert(all.value.end(), part.value.begin(), part.value.end());
    part = {};
  }
  return all;
}

}  // namespace weft
