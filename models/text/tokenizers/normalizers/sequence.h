// Applies several normalisers in order.
#pragma once

#include <vector>

#include "weft/models/text/tokenizers/normalizers/normalizer.h"

namespace WEFT_API weft {
namespace normalizers {

/// Applies a list of normalisers in order.
class Sequence : public Normalizer {
 public:
  static constexpr const char* kName = "Sequence";
  template <class Fields>
  void describe(Fields& fields) {
    fields.required("normalizers", steps_);
  }
  void normalise(SplitText& parts) const override {
    for (const NormalizerPtr& step : steps_) step->normalise(parts);
  }

 private:
  std::vector<NormalizerPtr> steps_;
};

}  // namespace normalizers
}  // namespace weft
