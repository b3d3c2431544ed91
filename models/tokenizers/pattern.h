// What components look for in texts: a string or a regular expression.
#pragma once

#include <memory>
#include <string>

#include "weft/core/export.h"
#include "weft/models/tokenizers/unicode/regex.h"

namespace WEFT_API weft {

/// {"String": "..."} or {"Regex": "..."} in files.
struct Pattern {
  std::string text;
  bool is_regex = false;

  /// The regular expression that finds it.
  std::string regex() const { return is_regex ? text : quoted_for_regex(text); }
};

/// Every match of a pattern becomes one text: what the normaliser and the decoder have in common.
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
