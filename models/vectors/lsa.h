// Latent semantic analysis (Deerwester et al., "Indexing by latent semantic analysis", 1990): word
// embeddings from the leading singular vectors of a word matrix.
#pragma once

#include <cstdint>

#include "weft/core/parallel.h"
#include "weft/models/vectors/sparse_matrix.h"
#include "weft/models/vectors/word_text.h"
#include "weft/models/vectors/word_vectors.h"

namespace WEFT_API weft {

/// Returns the positive pointwise mutual information of co-occurrence counts (co_occurrences()):
/// max(0, ln(p(w, c) / (p(w) p(c))) - shift). p(c) is proportional to the counts to the power of
/// `smoothing` (Levy, Goldberg and Dagan, "Improving distributional similarity with lessons learned
/// from word embeddings", 2015).
SparseMatrix positive_pmi(const SparseMatrix& counts, double smoothing = 0.75, double shift = 0);

/// Returns tf-idf weights with one row per word and one column per sentence: (1 + ln n) * ln(N / d)
/// for a word that occurs n times in a sentence and in d of N sentences.
SparseMatrix tf_idf_matrix(const WordText& text);

struct LsaOptions {
  std::int64_t width = 100;
  double power = 0.5;  // element k of an embedding is u_k s_k ^ power
  std::uint64_t seed = 1;
};
/// Returns the embeddings of the rows of a matrix with one row per word. Throws ArgumentError under
/// the same conditions as truncated_svd().
WordVectors lsa(const SparseMatrix& matrix, const WordCounts& words, const LsaOptions& options,
                Workers& workers);

}  // namespace weft
