// Small texts for word-embedding tests, and conversion of matrices to tensors.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "weft/core/tensor.h"
#include "weft/models/data/rng.h"
#include "weft/models/vectors/row_sums.h"
#include "weft/models/vectors/word_text.h"

namespace weft::testing {

inline WordText text_of(const std::vector<std::string>& sentences, std::int64_t min_count = 1) {
  WordTextBuilder builder;
  for (const std::string& sentence : sentences) builder.add_sentence(sentence);
  return builder.finish(min_count);
}

/// Returns the matrix as an f32 tensor [rows, width], without the padding of its rows.
inline Tensor tensor_of(const RowMatrix& matrix) {
  Tensor t = Tensor::empty(DType::f32, {matrix.rows(), matrix.width()});
  for (std::int64_t r = 0; r < matrix.rows(); ++r)
    std::copy_n(matrix.row(r), matrix.width(), t.mutable_data<float>() + r * matrix.width());
  return t;
}

/// Returns sentences that are about either ships or gardens, never about both.
inline std::vector<std::string> two_topics(int sentences, std::uint64_t seed) {
  const std::vector<std::vector<std::string>> topics = {
      {"ship", "sail", "harbour", "sea", "captain", "anchor", "wave", "deck"},
      {"garden", "rose", "leaf", "soil", "gardener", "seed", "flower", "root"}};
  const std::vector<std::string> common = {"the", "a", "of", "and"};
  Rng rng(seed);
  std::vector<std::string> result;
  for (int s = 0; s < sentences; ++s) {
    const auto& topic = topics[static_cast<std::size_t>(rng.below(2))];
    std::string sentence;
    for (int w = 0; w < 8; ++w) {
      const auto& from = rng.uniform() < 0.3 ? common : topic;
      sentence += from[static_cast<std::size_t>(rng.below(std::ssize(from)))] + " ";
    }
    result.push_back(sentence);
  }
  return result;
}

}  // namespace weft::testing
