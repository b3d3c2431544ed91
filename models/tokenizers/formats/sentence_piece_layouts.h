// The ids that published models give SentencePiece's pieces, where these are not the places in the
// model file: shifted, with others added.
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

/// The model's own ids.
SentencePieceModel::Layout plain_layout(const SentencePieceModel& model);
/// T5's: sentinels "<extra_id_0>" and so on behind the pieces, the first one last.
SentencePieceModel::Layout t5_layout(const SentencePieceModel& model, std::int64_t extra_ids);
/// XLM-R's: "<s>", "<pad>", "</s>", "<unk>", then the pieces; mBART's the same with `languages`; at
/// the end "<mask>".
SentencePieceModel::Layout fairseq_layout(const SentencePieceModel& model,
                                          std::span<const std::string_view> languages = {});
/// mBART's languages, of 25 or of 50.
std::span<const std::string_view> mbart_languages(bool fifty);
/// PEGASUS's: `offset` ids for what it was trained with in front of the pieces.
SentencePieceModel::Layout pegasus_layout(const SentencePieceModel& model, std::int64_t offset);
/// DeBERTa's: "[MASK]" behind the pieces where it is none of them.
SentencePieceModel::Layout deberta_layout(const SentencePieceModel& model);
/// Marian's: ids by the names of the pieces in vocab.json. Throws FormatError where one is missing
/// among them, or none is called "<unk>".
SentencePieceModel::Layout marian_layout(const SentencePieceModel& model, const Vocabulary& vocab);

/// Gives `tokens` their ids, where they do not have them already, and special ids their names.
/// Throws FormatError where a token has another id, or where there would be a gap.
void add_tokens(const SentencePieceModel& model, SentencePieceModel::Layout& layout,
                std::span<const AddedToken> tokens, const SpecialNames& names);

}  // namespace weft
