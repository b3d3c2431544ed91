// The normaliser "Precompiled" of tokenizer.json, which applies SentencePiece's compiled rules.
#pragma once

#include <string>
#include <vector>

#include "weft/models/tokenizers/normalizers/normalizer.h"
#include "weft/models/tokenizers/normalizers/precompiled.h"

namespace WEFT_API weft {
namespace normalizers {

/// Bytes that files store in base64.
struct Base64 {
  std::string bytes;
};

/// Applies a PrecompiledMap as Hugging Face's tokenizers library does.
class Precompiled : public Normalizer {
 public:
  static constexpr const char* kName = "Precompiled";
  template <class Fields>
  void describe(Fields& fields) {
    fields.required("precompiled_charsmap", blob_);
  }
  void prepare();
  void normalise(SplitText& parts) const override;

 private:
  bool stays(char32_t c) const;

  Base64 blob_;
  PrecompiledMap map_;
  // By character of the Basic Multilingual Plane: true if the character is a grapheme of its own
  // and no rule starts with it, so that it is unchanged among such characters.
  std::vector<bool> stays_;
};

}  // namespace normalizers
}  // namespace weft
