// Translation metrics (BLEU, chrF, exact match) that match sacreBLEU 2 (Post 2018, "A call for
// clarity in reporting BLEU scores"): the same texts have the same scores.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// The references of one output, at least one.
using References = std::vector<std::string>;

/// Tokenises a line like mteval-v13a, the tokeniser of WMT. Each ASCII punctuation mark or symbol
/// is a separate token, but a full stop or comma only next to a non-digit, and a hyphen only after
/// a digit. The entities &quot; &amp; &lt; &gt; are replaced by their characters.
std::vector<std::string> tokenize_13a(std::string_view line);

/// Corpus BLEU (Papineni et al. 2002): brevity penalty times the geometric mean of the precisions
/// of 1- to 4-grams.
struct Bleu {
  static constexpr std::size_t kOrder = 4;
  double score = 0;                            // 0 to 100
  std::array<std::int64_t, kOrder> correct{};  // n-grams that occur in a reference, clipped
  std::array<std::int64_t, kOrder> total{};    // n-grams of the outputs
  std::array<double, kOrder> precisions{};     // 0 to 100, smoothed
  double brevity_penalty = 0;
  std::int64_t output_length = 0;     // in tokens
  std::int64_t reference_length = 0;  // total tokens of the references closest in length
  std::string signature;              // the settings: "nrefs:1|case:mixed|eff:no|tok:13a|..."

  /// Returns the score in the format of sacreBLEU: "BLEU = 48.53 82.4/50.0/45.5/37.5 (BP = 0.943
  /// ratio = 0.944 hyp_len = 17 ref_len = 18)".
  std::string to_string() const;
};

/// Computes BLEU with 13a tokens, case-sensitive, with exponential smoothing: the k-th consecutive
/// order without a match counts as 1 / 2^k matches (Chen and Cherry 2014, method 3). Throws
/// ArgumentError if there is no output, if the numbers of outputs and of lists of references
/// differ, or if an output has no reference.
Bleu corpus_bleu(const std::vector<std::string>& outputs,
                 const std::vector<References>& references);

/// Computes corpus chrF2 (Popović 2015): the F-score, with recall counting twice as much as
/// precision, averaged over n-grams of 1 to 6 characters without white space. If an output has
/// several references, the one with the best score counts. The result is between 0 and 100. Throws
/// ArgumentError under the same conditions as corpus_bleu().
double corpus_chrf(const std::vector<std::string>& outputs,
                   const std::vector<References>& references);

/// Returns the fraction of outputs that equal one of their references. Throws ArgumentError under
/// the same conditions as corpus_bleu().
double exact_match(const std::vector<std::string>& outputs,
                   const std::vector<References>& references);

}  // namespace weft
