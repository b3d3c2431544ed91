#include "weft/models/vectors/lsa.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

namespace weft {

SparseMatrix positive_pmi(const SparseMatrix& counts, double smoothing, double shift) {
  std::vector<double> rows(static_cast<std::size_t>(counts.rows), 0.0);
  std::vector<double> columns(static_cast<std::size_t>(counts.columns), 0.0);
  double total = 0, contexts = 0;
  for (std::int64_t r = 0; r < counts.rows; ++r) {
    for (std::int64_t i = counts.begin(r); i < counts.end(r); ++i) {
      const double count = counts.value[static_cast<std::size_t>(i)];
      rows[static_cast<std::size_t>(r)] += count;
      columns[static_cast<std::size_t>(counts.column[static_cast<std::size_t>(i)])] += count;
    }
  }
  for (const double count : rows) total += count;
  for (double& count : columns) contexts += count = std::pow(count, smoothing);
  SparseMatrix result{counts.rows, counts.columns, {}, {}, {}};
  for (std::int64_t r = 0; r < counts.rows; ++r) {
    for (std::int64_t i = counts.begin(r); i < counts.end(r); ++i) {
      const std::int32_t c = counts.column[static_cast<std::size_t>(i)];
      const double together = counts.value[static_cast<std::size_t>(i)] / total;
      const double apart = rows[static_cast<std::size_t>(r)] / total *
                           columns[static_cast<std::size_t>(c)] / contexts;
      const double information = std::log(together / apart) - shift;
      if (!(information > 0)) continue;
      result.column.push_back(c);
      result.value.push_back(static_cast<float>(information));
    }
    result.ends.push_back(std::ssize(result.column));
  }
  return result;
}

SparseMatrix tf_idf_matrix(const WordText& text) {
  // Build the transpose first, with one row per sentence.
  SparseMatrix across{std::ssize(text.ends), text.counts.size(), {}, {}, {}};
  std::vector<double> sentences_with(static_cast<std::size_t>(text.counts.size()), 0.0);
  std::int64_t begin = 0;
  for (const std::int64_t end : text.ends) {
    std::map<std::int32_t, double> counts;
    for (std::int64_t p = begin; p < end; ++p) ++counts[text.words[static_cast<std::size_t>(p)]];
    for (const auto& [word, count] : counts) {
      ++sentences_with[static_cast<std::size_t>(word)];
      across.column.push_back(word);
      across.value.push_back(static_cast<float>(1 + std::log(count)));
    }
    across.ends.push_back(std::ssize(across.column));
    begin = end;
  }
  const double sentences = static_cast<double>(across.rows);
  for (std::size_t i = 0; i < across.value.size(); ++i) {
    const double with = sentences_with[static_cast<std::size_t>(across.column[i])];
    across.value[i] *= static_cast<float>(std::log(sentences / with));
  }
  return across.transposed();
}

WordVectors lsa(const SparseMatrix& matrix, const WordCounts& words, const LsaOptions& options,
                Workers& workers) {
  const TruncatedSvd f =
      truncated_svd(matrix, {.rank = options.width, .seed = options.seed}, workers);
  Tensor vectors = f.u.clone();
  std::vector<float> scales;
  for (const float s : f.s.span<float>())
    scales.push_back(s > 0 ? static_cast<float>(std::pow(s, options.power)) : 0.0f);
  float* const to = vectors.mutable_data<float>();
  for (std::int64_t i = 0; i < vectors.numel(); ++i)
    to[i] *= scales[static_cast<std::size_t>(i % options.width)];
  return WordVectors(words.words(), std::move(vectors));
}

}  // namespace weft
