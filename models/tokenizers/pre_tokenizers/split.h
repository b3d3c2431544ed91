// Splits at a string or a regular expression.
#pragma once

#include <memory>
#include <string>

#include "weft/models/tokenizers/pattern.h"
#include "weft/models/tokenizers/pre_tokenizers/delimiters.h"
#include "weft/models/tokenizers/pre_tokenizers/known_patterns.h"
#include "weft/models/tokenizers/pre_tokenizers/pre_tokenizer.h"

namespace WEFT_API weft {
namespace pre_tokenizers {

/// Splits at the matches of a pattern, or at everything else if "invert" is set.
class Split : public PreTokenizer {
 public:
  static constexpr const char* kName = "Split";
  template <class Fields>
  void describe(Fields& fields) {
    fields.required("pattern", pattern_);
    fields.required("behavior", behaviour_);
    fields.required("invert", invert_);
  }
  void prepare();
  void split(SplitText& parts) const override;

 private:
  Pattern pattern_;
  Delimiter behaviour_ = Delimiter::removed;
  bool invert_ = false;
  std::shared_ptr<const Regex> regex_;
  SplitFunction known_ = nullptr;  // a faster equivalent of the pattern
};

}  // namespace pre_tokenizers
}  // namespace weft
