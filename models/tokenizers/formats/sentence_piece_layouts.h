// Layouts of ids in published models whose ids differ from the piece indices of their SentencePiece
// model: shifted, or with tokens added.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "weft/models/tokenizers/added_tokens.h"
#include "weft/models/tokenizers/formats/sentence_piece_model.h"
#include "weft/models/tokenizers/subwords/vocabulary.h"

namespace WEFT_API weft {

/// The identity layout: ids are the piece indices.
SentencePieceModel::Layout plain_layout(const SentencePieceModel& model);
/// T5's layout: the sentinels "<extra_id_0>" and so on follow the pieces in reverse order.
SentencePieceModel::Layout t5_layout(const SentencePieceModel& model, std::int64_t extra_ids);
/// XLM-R's layout: "<s>", "<pad>", "</s>", "<unk>", the pieces, "<mask>". mBART's layout also has
/// `languages` before "<mask>".
SentencePieceModel::Layout fairseq_layout(const SentencePieceModel& model,
                                          std::span<const std::string_view> languages = {});
/// The language codes of mBART-25, or of mBART-50 if `fifty`.
std::span<const std::string_view> mbart_languages(bool fifty);
/// PEGASUS's layout: "<pad>", "</s>", `offset` ids for its pre-training tokens, then the other
/// pieces.
SentencePieceModel::Layout pegasus_layout(const SentencePieceModel& model, std::int64_t offset);
/// DeBERTa's layout: "[MASK]" follows the pieces if it is not one of them.
SentencePieceModel::Layout deberta_layout(const SentencePieceModel& model);
/// Marian's layout: vocab.json maps the texts of pieces to ids. Throws FormatError if an id is
/// missing or there is no piece "<unk>".
SentencePieceModel::Layout marian_layout(const SentencePieceModel& model, const Vocabulary& vocab);

/// Adds `tokens` to `layout` unless they are in it, and looks up the special ids by `names`. Throws
/// FormatError if a token already has another id, or if its id would leave a gap.
void add_tokens(const SentencePieceModel& model, SentencePieceModel::Layout& layout,
                std::span<const AddedToken> tokens, const SpecialNames& names);

}  // namespace weft
