#include "weft/models/text/tokenizers/post_processors/template_processing.h"

#include <fmt/format.h>

#include <utility>

#include "weft/core/error.h"
#include "weft/core/excerpt.h"

namespace weft::post_processors {

Template::Template(Pieces single, Pieces pair, Tokens tokens)
    : single_(std::move(single)), pair_(std::move(pair)), tokens_(std::move(tokens)) {
  prepare();
}

void Template::prepare() const {
  const auto check = [this](const Pieces& pieces, std::string_view what, bool has_second) {
    for (const TemplatePiece& piece : pieces) {
      if (piece.is_text) {
        if (piece.id != "A" && !(has_second && piece.id == "B")) {
          throw FormatError(
              fmt::format("the template '{}' refers to the text '{}'; valid texts are A{}", what,
                          excerpt(piece.id), has_second ? " or B" : " only"));
        }
      } else if (!tokens_.contains(piece.id)) {
        throw FormatError(
            fmt::format("the template '{}' uses '{}', which is not in 'special_tokens'", what,
                        excerpt(piece.id)));
      }
    }
  };
  check(single_, "single", false);
  check(pair_, "pair", true);
}

std::size_t Template::added(bool pair) const {
  std::size_t count = 0;
  for (const TemplatePiece& piece : pair ? pair_ : single_)
    if (!piece.is_text) count += tokens_.at(piece.id).ids.size();
  return count;
}

void Template::process(std::vector<Encoding>& encodings, bool add_special, const PieceOf&) const {
  std::vector<Encoding> result;
  for (const TemplatePiece& piece : encodings.size() > 1 ? pair_ : single_) {
    if (piece.is_text) {
      Encoding& text = encodings[piece.id == "A" ? 0 : 1];
      text.set_type(piece.type_id);
      result.push_back(text);
    } else if (add_special) {
      Encoding special;
      for (const std::int32_t id : tokens_.at(piece.id).ids) special.add_special(id, piece.type_id);
      result.push_back(std::move(special));
    }
  }
  encodings = std::move(result);
}

}  // namespace weft::post_processors
