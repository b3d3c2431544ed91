// A post-processor that adds special tokens according to a template.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "weft/models/text/tokenizers/post_processors/post_processor.h"

namespace WEFT_API weft {
namespace post_processors {

/// A text or a special token in a template. JSON form: {"Sequence": {"id": "A", "type_id": 0}} or
/// {"SpecialToken": {"id": "[SEP]", "type_id": 0}}.
struct TemplatePiece {
  bool is_text = false;
  std::string id;  // "A", "B", or the name of a special token
  std::int32_t type_id = 0;
};

/// The definition of a special token in a template. The token may expand to several ids.
struct TemplateToken {
  std::string id;
  std::vector<std::int32_t> ids;
  std::vector<std::string> tokens;

  template <class Fields>
  void describe(Fields& fields) {
    fields.required("id", id);
    fields.required("ids", ids);
    fields.required("tokens", tokens);
  }
};

/// Adds special tokens according to two templates: one for single texts and one for pairs.
class Template : public PostProcessor {
 public:
  static constexpr const char* kName = "TemplateProcessing";
  using Pieces = std::vector<TemplatePiece>;
  using Tokens = std::map<std::string, TemplateToken>;

  Template() = default;
  /// Throws FormatError under the same conditions as prepare().
  Template(Pieces single, Pieces pair, Tokens tokens);
  template <class Fields>
  void describe(Fields& fields) {
    fields.required("single", single_);
    fields.required("pair", pair_);
    fields.required("special_tokens", tokens_);
  }
  /// Throws FormatError if a template uses a special token that is not in "special_tokens", or a
  /// text that does not exist, or if it adds more ids or copies of texts than any published
  /// tokenizer.
  void prepare() const;

  std::size_t added(bool pair) const override;
  std::vector<std::int32_t> ids() const override;
  void process(std::vector<Encoding>& encodings, bool add_special,
               const PieceOf& piece) const override;

 private:
  Pieces single_, pair_;
  Tokens tokens_;
};

}  // namespace post_processors
}  // namespace weft
