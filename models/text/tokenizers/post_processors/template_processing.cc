#include "weft/models/text/tokenizers/post_processors/template_processing.h"

#include <fmt/format.h>

#include <utility>

#include "weft/core/error.h"
#include "weft/core/excerpt.h"

namespace weft::post_processors {
namespace {

// Every part of a template costs time and memory for each encoded text.
constexpr std::size_t kMaxAdded = 1000, kMaxTexts = 10;

}  // namespace

Template::Template(Pieces single, Pieces pair, Tokens tokens)
    : single_(std::move(single)), pair_(std::move(pair)), tokens_(std::move(tokens)) {
  prepare();
}

void Template::prepare() const {
  const auto check = [this](const Pieces& pieces, std::string_view what, bool has_second) {
    std::size_t texts = 0, ids = 0;
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
      texts += piece.is_text ? 1 : 0;
      ids += piece.is_text ? 0 : tokens_.at(piece.id).ids.size();
    }
    if (pieces.size() > kMaxAdded || ids > kMaxAdded || texts > kMaxTexts) {
      throw FormatError(fmt::format(
          "the template '{}' has {} parts with {} texts and {} special tokens; the limits are {} "
          "parts, {} texts and {} special tokens",
          what, pieces.size(), texts, ids, kMaxAdded, kMaxTexts, kMaxAdded));
    }
  };
  check(single_, "single", false);
  check(pair_, "pair", true);
}

std::vector<std::int32_t> Template::ids() const {
  std::vector<std::int32_t> all;
  for (const Pieces* pieces : {&single_, &pair_}) {
    for (const TemplatePiece& piece : *pieces) {
      if (piece.is_text) continue;
      const std::vector<std::int32_t>& some = tokens_.at(piece.id).ids;
      all.insert(all.end(), some.begin(), some.end());
    }
  }
  return all;
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
