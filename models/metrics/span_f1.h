// Span-level F1 of taggers, for example of named entities in sentences.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// A span of the words [begin, end) of a sentence.
struct TagSpan {
  std::string type;
  std::size_t begin = 0, end = 0;
  friend bool operator==(const TagSpan&, const TagSpan&) = default;
};
/// Returns the spans of a sentence's BIO tags, in order. A span begins with a "B-" tag, or with an
/// "I-" tag that does not continue a span of its type. This is the rule of conlleval, and of
/// seqeval without its strict mode. Throws ArgumentError if a tag is not in the BIO scheme.
std::vector<TagSpan> tag_spans(std::span<const std::string> tags);

/// Numbers of true spans, predicted spans, and correctly predicted spans.
struct SpanCounts {
  std::int64_t truth = 0, found = 0, right = 0;

  /// Returns the fraction of predicted spans that are correct; 0 if none was predicted.
  double precision() const;
  /// Returns the fraction of true spans that were predicted; 0 if there are no true spans.
  double recall() const;
  /// Returns 2 precision recall / (precision + recall); 0 if both are 0.
  double f1() const;
};

/// Counts spans like seqeval: a predicted span is correct if a true span has the same type, begin
/// and end.
class SpanScores {
 public:
  /// Adds the tags of one sentence. Throws ArgumentError under the same conditions as tag_spans(),
  /// and if the numbers of true and predicted tags differ.
  void add(std::span<const std::string> truth, std::span<const std::string> found);

  /// Returns the counts by type, for all types that occur in true or predicted spans.
  const std::map<std::string, SpanCounts>& types() const { return types_; }
  /// Returns the counts over all types. Their F1 is the micro-averaged F1.
  SpanCounts all() const;

  /// Returns a readable table with one line of metrics per type and one for all types.
  std::string table() const;

 private:
  std::map<std::string, SpanCounts> types_;
};

}  // namespace weft
