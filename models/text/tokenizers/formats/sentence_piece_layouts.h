// Id layouts of published models whose ids differ from the piece indices in their SentencePiece
// model because ids are shifted or tokens are added.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "weft/models/text/tokenizers/pipeline/added_tokens.h"
#include "weft/models/text/tokenizers/sentence_piece/sentence_piece_model.h"
#include "weft/models/text/tokenizers/subwords/vocabulary.h"

namespace WEFT_API weft {

/// Returns the identity layout: ids equal piece indices.
SentencePieceModel::Layout plain_layout(const SentencePieceModel& model);
/// Returns T5's layout: the sentinels ("<extra_id_0>" and so on) follow the pieces, in reverse
/// order.
SentencePieceModel::Layout t5_layout(const SentencePieceModel& model, std::int64_t extra_ids);
/// Returns XLM-R's layout: "<s>", "<pad>", "</s>", "<unk>", the pieces, "<mask>". The layouts of
/// mBART and NLLB also have `languages` before "<mask>".
SentencePieceModel::Layout fairseq_layout(const SentencePieceModel& model,
                                          std::span<const std::string_view> languages = {});
/// Returns PEGASUS's layout: "<pad>", "</s>", `offset` ids for its pre-training tokens, and then
/// the other pieces.
SentencePieceModel::Layout pegasus_layout(const SentencePieceModel& model, std::int64_t offset);
/// Returns DeBERTa's layout: "[MASK]" follows the pieces unless it is one of the pieces.
SentencePieceModel::Layout deberta_layout(const SentencePieceModel& model);
/// Returns Marian's layout: vocab.json maps the texts of pieces to ids. Throws FormatError if an id
/// is missing or if there is no piece "<unk>".
SentencePieceModel::Layout marian_layout(const SentencePieceModel& model, const Vocabulary& vocab);

/// Returns M2M100's layout: the ids of vocab.json, as in marian_layout(), and then the tokens
/// "__<code>__" of the languages. Errors are those of marian_layout().
SentencePieceModel::Layout m2m100_layout(const SentencePieceModel& model, const Vocabulary& vocab,
                                         std::span<const std::string_view> languages);

/// Adds those `tokens` to `layout` that it does not contain yet, and looks up the special ids by
/// `names`. Throws FormatError if a token already has a different id, or if adding its id would
/// leave a gap.
void add_tokens(const SentencePieceModel& model, SentencePieceModel::Layout& layout,
                std::span<const AddedToken> tokens, const SpecialNames& names);

}  // namespace weft
