// Applies several pre-tokenizers in order.
#pragma once

#include <vector>

#include "weft/models/text/tokenizers/pre_tokenizers/pre_tokenizer.h"

namespace WEFT_API weft {
namespace pre_tokenizers {

/// Applies a list of pre-tokenizers in order. Only the last step may leave bytes unmapped.
class Sequence : public PreTokenizer {
 public:
  static constexpr const char* kName = "Sequence";
  template <class Fields>
  void describe(Fields& fields) {
    fields.required("pretokenizers", steps_);
  }
  void split(SplitText& parts) const override {
    const bool takes_bytes = parts.takes_bytes;
    for (const PreTokenizerPtr& step : steps_) {
      parts.takes_bytes = takes_bytes && step == steps_.back();
      step->split(parts);
    }
    parts.takes_bytes = takes_bytes;
  }
  bool is_byte_level() const override { return !steps_.empty() && steps_.back()->is_byte_level(); }

 private:
  std::vector<PreTokenizerPtr> steps_;
};

}  // namespace pre_tokenizers
}  // namespace weft
