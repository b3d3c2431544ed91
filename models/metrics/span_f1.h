// How well spans are found that tags stand for: named entities in sentences.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// Words [begin, end) of a sentence.
struct TagSpan {
  std::string type;
  std::size_t begin = 0, end = 0;
  friend bool operator==(const TagSpan&, const TagSpan&) = default;
};
/// The spans of a sentence's BIO tags, in their order: a span begins with a "B-", and with an "I-"
/// that has no span of its type in front of it. So does conlleval, and seqeval unless it is told
/// to be strict about the scheme. Throws ArgumentError for a tag that is not of the scheme.
std::vector<TagSpan> tag_spans(std::span<const std::string> tags);

/// What is true, what was found, and how much of it is right.
struct SpanCounts {
  std::int64_t truth = 0, found = 0, right = 0;

  /// Of those found, the share that is right; 0 where none was.
  double precision() const;
  /// Of the true ones, the share that was found; 0 where there is none.
  double recall() const;
  /// 2 precision recall / (precision + recall); 0 where both are.
  double f1() const;
};

/// Counts spans as seqeval does: one is right where type, begin and end are all those of a true
/// one.
class SpanScores {
 public:
  /// Tags of one sentence. Throws ArgumentError as tag_spans, and where the numbers of both differ.
  void add(std::span<const std::string> truth, std::span<const std::string> found);

  /// By type: those that are true or were found somewhere.
  const std::map<std::string, SpanCounts>& types() const { return types_; }
  /// Of all types together: its F1 is the micro-averaged one.
  SpanCounts all() const;

  /// The figures of every type and of all, a line each, as text for people.
  std::string table() const;

 private:
  std::map<std::string, SpanCounts> types_;
};

}  // namespace weft
