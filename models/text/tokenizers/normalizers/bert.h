// BERT's text cleaning (Devlin et al. 2018).
#pragma once

#include <optional>

#include "weft/core/export.h"
#include "weft/models/text/tokenizers/normalizers/normalizer.h"

namespace WEFT_API weft {
namespace normalizers {

/// Cleans texts in the same way as BERT's tokenizer.
class Bert : public Normalizer {
 public:
  static constexpr const char* kName = "BertNormalizer";

  struct Settings {
    bool clean_text = true;               // drop control characters, convert whitespace to spaces
    bool handle_chinese_chars = true;     // insert spaces around ideographs
    std::optional<bool> strip_accents{};  // if not set, same as `lowercase`
    bool lowercase = true;
  };

  Bert() = default;
  explicit Bert(const Settings& settings) : settings_(settings) {}
  template <class Fields>
  void describe(Fields& fields) {
    fields.required("clean_text", settings_.clean_text);
    fields.required("handle_chinese_chars", settings_.handle_chinese_chars);
    fields.required("strip_accents", settings_.strip_accents);
    fields.required("lowercase", settings_.lowercase);
  }
  void normalise(SplitText& parts) const override;

 private:
  Settings settings_;
};

}  // namespace normalizers
}  // namespace weft
