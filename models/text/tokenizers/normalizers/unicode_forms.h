// Normalisers for Unicode normalisation forms.
#pragma once

#include "weft/models/text/tokenizers/normalizers/normalizer.h"
#include "weft/models/text/unicode/normal_forms.h"

namespace WEFT_API weft {
namespace normalizers {

/// Converts texts to a Unicode normalisation form.
template <UnicodeForm kForm>
class InForm : public Normalizer {
 public:
  template <class Fields>
  void describe(Fields&) {}
  void normalise(SplitText& parts) const override {
    parts.rewrite([](std::string_view text) { return !is_in_form(text, kForm); },
                  [](TextEdit& edit) { write_in_form(edit, kForm); });
  }
};

struct Nfc : InForm<UnicodeForm::nfc> {
  static constexpr const char* kName = "NFC";
};
struct Nfd : InForm<UnicodeForm::nfd> {
  static constexpr const char* kName = "NFD";
};
struct Nfkc : InForm<UnicodeForm::nfkc> {
  static constexpr const char* kName = "NFKC";
};
struct Nfkd : InForm<UnicodeForm::nfkd> {
  static constexpr const char* kName = "NFKD";
};

}  // namespace normalizers
}  // namespace weft
