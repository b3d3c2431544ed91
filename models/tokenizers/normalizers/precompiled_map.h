// SentencePiece's compiled rules as a normaliser of a tokenizer.json.
#pragma once

#include <string>
#include <vector>

#include "weft/models/tokenizers/normalizers/normalizer.h"
#include "weft/models/tokenizers/normalizers/precompiled.h"

namespace WEFT_API weft {
namespace normalizers {

/// Bytes that files spell in base 64.
struct Base64 {
  std::string bytes;
};

class Precompiled : public Normalizer {
 public:
  static constexpr const char* kName = "Precompiled";
  template <class Fields>
  void describe(Fields& fields) {
    fields.required("precompiled_charsmap", blob_);
  }
  void prepare();
  void normalise(PartedText& parts) const override;

 private:
  bool stays(char32_t c) const;

  Base64 blob_;
  PrecompiledMap map_;
  // Of the basic plane: characters that stay as they are between others that stand alone.
  std::vector<bool> stays_;
};

}  // namespace normalizers
}  // namespace weft
