#include "weft/models/metrics/span_f1.h"

#include <fmt/format.h>

#include <algorithm>

#include "weft/core/error.h"
#include "weft/models/data/formats/tagged_text.h"
#include "weft/models/metrics/share.h"

namespace weft {

std::vector<TagSpan> tag_spans(std::span<const std::string> tags) {
  std::vector<TagSpan> spans;
  bool inside = false;  // true while the last span may continue
  for (std::size_t i = 0; i < tags.size(); ++i) {
    const auto tag = parse_bio_tag(tags[i]);
    if (!tag) {
      throw ArgumentError(
          fmt::format("the tag '{}' of word {} is not O, B-TYPE or I-TYPE", tags[i], i));
    }
    if (tag->part == 'O') {
      inside = false;
    } else if (tag->part == 'I' && inside && spans.back().type == tag->type) {
      spans.back().end = i + 1;
    } else {
      spans.push_back({std::string(tag->type), i, i + 1});
      inside = true;
    }
  }
  return spans;
}

double SpanCounts::precision() const { return share(right, found); }

double SpanCounts::recall() const { return share(right, truth); }

double SpanCounts::f1() const { return f1_of_counts(right, found, truth); }

void SpanScores::add(std::span<const std::string> truth, std::span<const std::string> found) {
  if (truth.size() != found.size()) {
    throw ArgumentError(fmt::format("{} tags were predicted for a sentence of {} words",
                                    found.size(), truth.size()));
  }
  const std::vector<TagSpan> true_spans = tag_spans(truth), found_spans = tag_spans(found);
  for (const TagSpan& span : true_spans) ++types_[span.type].truth;
  auto candidate = true_spans.begin();
  for (const TagSpan& span : found_spans) {
    SpanCounts& counts = types_[span.type];
    ++counts.found;
    // Spans do not overlap, so both lists are ordered by `begin`.
    candidate = std::find_if(candidate, true_spans.end(),
                             [&](const TagSpan& other) { return other.begin >= span.begin; });
    if (candidate != true_spans.end() && *candidate == span) ++counts.right;
  }
}

SpanCounts SpanScores::all() const {
  SpanCounts sum;
  for (const auto& [type, counts] : types_) {
    sum.truth += counts.truth;
    sum.found += counts.found;
    sum.right += counts.right;
  }
  return sum;
}

std::string SpanScores::table() const {
  std::size_t width = 4;
  for (const auto& [type, counts] : types_) width = std::max(width, type.size());
  std::string text = fmt::format("  {:<{}}  precision  recall      F1     spans\n", "type", width);
  const auto add_line = [&](const std::string& name, const SpanCounts& counts) {
    text += fmt::format("  {:<{}}  {:9.4f}  {:6.4f}  {:6.4f}  {:8}\n", name, width,
                        counts.precision(), counts.recall(), counts.f1(), counts.truth);
  };
  for (const auto& [type, counts] : types_) add_line(type, counts);
  add_line("all", all());
  return text;
}

}  // namespace weft
