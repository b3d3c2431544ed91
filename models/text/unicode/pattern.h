// Search patterns for normalisers, pre-tokenizers and decoders.
#pragma once

#include <memory>
#include <string>

#include "weft/core/export.h"
#include "weft/models/text/unicode/regex.h"

namespace WEFT_API weft {

/// A literal string or a regular expression. JSON form: {"String": "..."} or {"Regex": "..."}.
struct Pattern {
  std::string text;
  bool is_regex = false;

  /// Returns an equivalent regular expression.
  std::string regex() const { return is_regex ? text : quoted_for_regex(text); }
};

/// Replaces each match of a pattern with a fixed text. Base class of the normaliser "Replace" and
/// the decoder "Replace".
class Replacement {
 public:
  static constexpr const char* kName = "Replace";
  template <class Fields>
  void describe(Fields& fields) {
    fields.required("pattern", pattern_);
    fields.required("content", content_);
  }
  void prepare() { regex_ = std::make_shared<const Regex>(pattern_.regex()); }

 protected:
  Pattern pattern_;
  std::string content_;
  std::shared_ptr<const Regex> regex_;
};

}  // namespace weft
