// A pre-tokenizer that splits at a string or at matches of a regular expression.
#pragma once

#include <memory>

#include "weft/models/text/tokenizers/pre_tokenizers/delimiters.h"
#include "weft/models/text/tokenizers/pre_tokenizers/known_patterns.h"
#include "weft/models/text/tokenizers/pre_tokenizers/pre_tokenizer.h"
#include "weft/models/text/unicode/pattern.h"

namespace WEFT_API weft {
namespace pre_tokenizers {

/// Splits at the matches of a pattern, or at the text between the matches if "invert" is set.
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
  SplitFunction known_ = nullptr;  // an equivalent but faster function, if there is one
};

}  // namespace pre_tokenizers
}  // namespace weft
