// How close translations are to references, as sacreBLEU 2 computes it (Post 2018, "A call for
// clarity in reporting BLEU scores"): the same numbers for the same texts.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// One output's references: as many as there are, at least one.
using References = std::vector<std::string>;

/// Tokens of mteval-v13a, the tokenisation of WMT: punctuation and symbols of ASCII are tokens of
/// their own, but a full stop or comma only next to something that is no digit, and a hyphen only
/// after a digit. &quot; &amp; &lt; &gt; are what they stand for.
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
  std::int64_t reference_length = 0;  // of the references closest in length
  std::string signature;              // what was computed: "nrefs:1|case:mixed|eff:no|tok:13a|..."

  /// As sacreBLEU prints it: "BLEU = 48.53 82.4/50.0/45.5/37.5 (BP = 0.943 ratio = 0.944 hyp_len =
  /// 17 ref_len = 18)".
  std::string to_string() const;
};

/// BLEU of texts with 13a tokens, case kept, exponential smoothing: the k-th order in a row without
/// a match counts 1 / 2^k matches (Chen and Cherry 2014, method 3). Throws ArgumentError unless
/// there are as many outputs as lists of references, and one of each at least.
Bleu corpus_bleu(const std::vector<std::string>& outputs,
                 const std::vector<References>& references);

/// Corpus chrF2 (Popović 2015): F-score, recall counting twice, averaged over n-grams of 1 to 6
/// characters without white space; the reference that scores best counts. 0 to 100. Throws as
/// corpus_bleu.
double corpus_chrf(const std::vector<std::string>& outputs,
                   const std::vector<References>& references);

/// Share of the outputs that equal one of their references. Throws as corpus_bleu.
double exact_match(const std::vector<std::string>& outputs,
                   const std::vector<References>& references);

}  // namespace weft
