// The normaliser "Precompiled" of tokenizer.json, which applies SentencePiece's compiled rules.
#pragma once

#include <string>
#include <vector>

#include "weft/models/text/tokenizers/normalizers/normalizer.h"
#include "weft/models/text/tokenizers/normalizers/precompiled.h"

namespace WEFT_API weft {
namespace normalizers {

/// Bytes that are stored as base64 in files.
struct Base64 {
  std::string bytes;
};

/// Applies a PrecompiledMap in the same way as Hugging Face's tokenizers library.
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
  // For each character of the Basic Multilingual Plane: true if the character forms a grapheme
  // cluster on its own and no rule starts with it. In a run of such characters, every character is
  // unchanged.
  std::vector<bool> stays_;
};

}  // namespace normalizers
}  // namespace weft
