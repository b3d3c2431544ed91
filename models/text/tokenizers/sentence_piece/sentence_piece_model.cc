#include "weft/models/text/tokenizers/sentence_piece/sentence_piece_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <bitset>
#include <cmath>
#include <unordered_map>

#include "weft/core/error.h"
#include "weft/models/text/tokenizers/subwords/byte_pieces.h"
#include "weft/models/text/unicode/utf8.h"
#include "weft_proto/sentence_piece.pb.h"

namespace weft {
namespace {

using Kind = SentencePieceModel::Kind;
using Algorithm = SentencePieceModel::Algorithm;
using ProtoPiece = sentence_piece::Model::Piece;
using sentence_piece::TrainerSpec;

[[noreturn]] void reject(const std::string& what) {
  throw FormatError(fmt::format("not a SentencePiece model: {}", what));
}

void check_valid_utf8(std::string_view piece, int id) {
  try {
    for (std::size_t offset = 0; offset < piece.size();) next_code_point(piece, offset);
  } catch (const FormatError& e) {
    reject(fmt::format("piece {} is {}", id, e.what()));
  }
}

Kind kind_of(ProtoPiece::Type type) {
  switch (type) {
    case ProtoPiece::NORMAL: return Kind::normal;
    case ProtoPiece::UNKNOWN: return Kind::unknown;
    case ProtoPiece::CONTROL: return Kind::control;
    case ProtoPiece::USER_DEFINED: return Kind::symbol;
    case ProtoPiece::UNUSED: return Kind::unused;
    case ProtoPiece::BYTE: return Kind::byte;
  }
  return Kind::normal;  // unreachable: proto2 rejects other values
}

Algorithm algorithm_of(TrainerSpec::ModelType type) {
  switch (type) {
    case TrainerSpec::UNIGRAM: return Algorithm::unigram;
    case TrainerSpec::BPE: return Algorithm::byte_pairs;
    case TrainerSpec::WORD: return Algorithm::words;
    case TrainerSpec::CHAR: return Algorithm::characters;
  }
  return Algorithm::unigram;
}

SentencePieceModel::Normalizer normalizer_of(const sentence_piece::NormalizerSpec& spec) {
  return {.name = spec.name(),
          .compiled_map = spec.precompiled_charsmap(),
          .dummy_prefix = spec.add_dummy_prefix(),
          .remove_extra_whitespace = spec.remove_extra_whitespaces(),
          .escape_whitespace = spec.escape_whitespaces()};
}

/// Returns true for kinds of pieces that represent text. Their texts may be equal to the texts of
/// other pieces.
bool stands_for_text(Kind kind) {
  return kind == Kind::normal || kind == Kind::symbol || kind == Kind::unused;
}

void read_pieces(const sentence_piece::Model& model, SentencePieceModel& result) {
  std::unordered_map<std::string_view, int> texts, reserved;
  int unknown = 0;
  std::bitset<256> bytes;
  for (int id = 0; id < model.pieces_size(); ++id) {
    const ProtoPiece& piece = model.pieces(id);
    if (piece.piece().empty()) reject(fmt::format("piece {} is empty", id));
    check_valid_utf8(piece.piece(), id);
    const Kind kind = kind_of(piece.type());
    auto& seen = stands_for_text(kind) ? texts : reserved;
    if (const auto [first, added] = seen.emplace(piece.piece(), id); !added)
      reject(fmt::format("pieces {} and {} are both '{}'", first->second, id, piece.piece()));
    if (!std::isfinite(piece.score()))
      reject(fmt::format("piece {} has the score {}, which is not finite", id, piece.score()));
    if (kind == Kind::byte) {
      const auto byte = byte_of_piece(piece.piece());
      if (!byte || piece.piece() != byte_piece(*byte))
        reject(
            fmt::format("piece {} is a byte piece with the invalid text '{}'", id, piece.piece()));
      bytes.set(*byte);
    }
    unknown += kind == Kind::unknown ? 1 : 0;
    result.pieces.push_back({piece.piece(), piece.score(), kind});
  }
  if (unknown != 1) reject(fmt::format("it has {} unknown pieces instead of 1", unknown));
  if (result.byte_fallback && !bytes.all()) {
    reject(fmt::format("byte fallback is on, but it has {} byte pieces instead of 256",
                       bytes.count()));
  }
  if (!result.byte_fallback && bytes.any()) reject("it has byte pieces, but byte fallback is off");
}

SentencePieceModel parse_model(std::string_view bytes, bool is_target);

void read_layout(const sentence_piece::Layout& proto, SentencePieceModel& model, bool is_target) {
  SentencePieceModel::Layout& layout = model.layout;
  for (const auto& added : proto.added()) {
    for (std::size_t at = 0; at < added.text().size();) next_code_point(added.text(), at);
    layout.added.push_back({added.text(), added.special(), added.lstrip(), added.rstrip()});
  }
  const auto count = [](const auto& list) { return static_cast<std::int64_t>(list.size()); };
  for (const std::int32_t piece : proto.ids()) {
    if (piece >= count(model.pieces) || -1 - std::int64_t{piece} >= count(layout.added))
      reject(
          fmt::format("id {} refers to piece {}, which does not exist", layout.ids.size(), piece));
    layout.ids.push_back(piece);
  }
  if (layout.ids.empty()) reject("its layout has no ids");
  for (int i = 0; i < std::min<int>(kSpecialIds.size(), proto.special_size()); ++i) {
    const std::int32_t id = proto.special(i);
    if (id < -1 || id >= count(layout.ids))
      reject(fmt::format("the special id {} is out of range for {} ids", id, layout.ids.size()));
    layout.special.*kSpecialIds[static_cast<std::size_t>(i)].id = id;
  }
  layout.restarts = proto.restarts();
  const sentence_piece::Layout::Preparation& preparation = proto.preparation();
  layout.preparation = {.remove_punctuation = preparation.remove_punctuation(),
                        .single_blanks = preparation.single_blanks(),
                        .quotes = preparation.quotes(),
                        .strip_accents = preparation.strip_accents(),
                        .lowercase = preparation.lowercase(),
                        .split_punctuation = preparation.split_punctuation(),
                        .commas_apart = preparation.commas_apart()};
  if (!proto.has_target()) return;
  if (is_target) reject("the model for target texts has its own target model");
  auto target = std::make_shared<const SentencePieceModel>(parse_model(proto.target(), true));
  if (target->layout.ids.size() != layout.ids.size()) {
    reject(fmt::format("it has {} ids, but the model for target texts has {}", layout.ids.size(),
                       target->layout.ids.size()));
  }
  layout.target = std::move(target);
}

void write_layout(const SentencePieceModel::Layout& layout, sentence_piece::Layout& proto) {
  for (const std::int32_t piece : layout.ids) proto.add_ids(piece);
  for (const auto& added : layout.added) {
    sentence_piece::Layout::Added& one = *proto.add_added();
    one.set_text(added.text);
    one.set_special(added.special);
    one.set_lstrip(added.lstrip);
    one.set_rstrip(added.rstrip);
  }
  for (const SpecialIdName& special : kSpecialIds) proto.add_special(layout.special.*special.id);
  proto.set_restarts(layout.restarts);
  if (const TextPreparation& from = layout.preparation; from != TextPreparation()) {
    sentence_piece::Layout::Preparation& preparation = *proto.mutable_preparation();
    if (from.remove_punctuation) preparation.set_remove_punctuation(true);
    preparation.set_single_blanks(from.single_blanks);
    preparation.set_quotes(from.quotes);
    preparation.set_strip_accents(from.strip_accents);
    preparation.set_lowercase(from.lowercase);
    preparation.set_split_punctuation(from.split_punctuation);
    preparation.set_commas_apart(from.commas_apart);
  }
  if (layout.target != nullptr) proto.set_target(layout.target->to_bytes());
}

ProtoPiece::Type type_of(Kind kind) {
  switch (kind) {
    case Kind::normal: return ProtoPiece::NORMAL;
    case Kind::unknown: return ProtoPiece::UNKNOWN;
    case Kind::control: return ProtoPiece::CONTROL;
    case Kind::symbol: return ProtoPiece::USER_DEFINED;
    case Kind::unused: return ProtoPiece::UNUSED;
    case Kind::byte: return ProtoPiece::BYTE;
  }
  return ProtoPiece::NORMAL;
}

TrainerSpec::ModelType type_of(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::unigram: return TrainerSpec::UNIGRAM;
    case Algorithm::byte_pairs: return TrainerSpec::BPE;
    case Algorithm::words: return TrainerSpec::WORD;
    case Algorithm::characters: return TrainerSpec::CHAR;
  }
  return TrainerSpec::UNIGRAM;
}

/// Serialises a model that was not read from a file.
std::string file_of(const SentencePieceModel& model) {
  sentence_piece::Model proto;
  std::int32_t unk = -1, bos = -1, eos = -1, pad = -1;
  for (std::size_t i = 0; i < model.pieces.size(); ++i) {
    const SentencePieceModel::Piece& piece = model.pieces[i];
    const auto id = static_cast<std::int32_t>(i);
    ProtoPiece& p = *proto.add_pieces();
    p.set_piece(piece.text);
    p.set_score(piece.score);
    if (piece.kind != Kind::normal) p.set_type(type_of(piece.kind));
    if (piece.kind == Kind::unknown) unk = id;
    if (piece.kind != Kind::control) continue;
    if (piece.text == model.names.pad) pad = id;
    if (piece.text == model.names.bos) bos = id;
    if (piece.text == model.names.eos) eos = id;
  }
  TrainerSpec& trainer = *proto.mutable_trainer_spec();
  trainer.set_model_type(type_of(model.algorithm));
  trainer.set_vocab_size(static_cast<std::int32_t>(model.pieces.size()));
  trainer.set_unk_id(unk);
  trainer.set_bos_id(bos);
  trainer.set_eos_id(eos);
  trainer.set_pad_id(pad);
  trainer.set_unk_piece(unk < 0 ? "" : model.pieces[static_cast<std::size_t>(unk)].text);
  // This field distinguishes SentencePiece's BPE models from models trained by Weft, which do not
  // set it.
  if (model.algorithm == Algorithm::byte_pairs && !model.own)
    trainer.set_max_sentencepiece_length(trainer.max_sentencepiece_length());
  if (model.byte_fallback) trainer.set_byte_fallback(true);
  if (model.whitespace_as_suffix) trainer.set_treat_whitespace_as_suffix(true);
  sentence_piece::NormalizerSpec& normalizer = *proto.mutable_normalizer_spec();
  normalizer.set_name(model.normalizer.name);
  if (!model.normalizer.compiled_map.empty())
    normalizer.set_precompiled_charsmap(model.normalizer.compiled_map);
  normalizer.set_add_dummy_prefix(model.normalizer.dummy_prefix);
  normalizer.set_remove_extra_whitespaces(model.normalizer.remove_extra_whitespace);
  normalizer.set_escape_whitespaces(model.normalizer.escape_whitespace);
  return proto.SerializeAsString();
}

SentencePieceModel parse_model(std::string_view bytes, bool is_target) {
  sentence_piece::Model proto;
  if (bytes.size() > 0x7FFFFFFF ||
      !proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    reject("the bytes cannot be parsed as the protobuf message of such a model");
  if (proto.pieces_size() == 0) reject("it has no pieces");
  SentencePieceModel model;
  const TrainerSpec& trainer = proto.trainer_spec();
  model.algorithm = algorithm_of(trainer.model_type());
  model.byte_fallback = trainer.byte_fallback();
  model.whitespace_as_suffix = trainer.treat_whitespace_as_suffix();
  if (trainer.has_unk_surface()) model.unknown_surface = trainer.unk_surface();
  model.names = {trainer.pad_piece(), trainer.bos_piece(), trainer.eos_piece()};
  model.normalizer = normalizer_of(proto.normalizer_spec());
  if (!proto.denormalizer_spec().precompiled_charsmap().empty())
    model.denormalizer = std::make_shared<const SentencePieceModel::Normalizer>(
        normalizer_of(proto.denormalizer_spec()));
  read_pieces(proto, model);
  if (proto.has_layout()) {
    read_layout(proto.layout(), model, is_target);
    proto.clear_layout();
    model.file = proto.SerializeAsString();
  } else {
    model.file = bytes;
  }
  // SentencePiece's trainer writes many more fields than Weft's trainer, for example the names of
  // its input files.
  model.own = proto.has_trainer_spec() && trainer.unknown_fields().empty() &&
              proto.unknown_fields().empty() && trainer.model_type() == TrainerSpec::BPE &&
              !trainer.has_max_sentencepiece_length() && !model.byte_fallback &&
              !model.whitespace_as_suffix && !model.denormalizer &&
              model.normalizer.name == "identity" && model.normalizer.compiled_map.empty() &&
              model.normalizer.dummy_prefix && model.normalizer.escape_whitespace &&
              std::all_of(model.pieces.begin(), model.pieces.end(),
                          [](const SentencePieceModel::Piece& piece) {
                            return piece.kind != Kind::unused;
                          });
  return model;
}

}  // namespace

SentencePieceModel SentencePieceModel::parse(std::string_view bytes) {
  return parse_model(bytes, false);
}

std::string SentencePieceModel::to_bytes() const {
  std::string bytes = file.empty() ? file_of(*this) : file;
  if (!layout.ids.empty()) {
    // Concatenated protobuf messages are merged when they are parsed.
    sentence_piece::Model proto;
    write_layout(layout, *proto.mutable_layout());
    bytes += proto.SerializeAsString();
  }
  return bytes;
}

std::int32_t SentencePieceModel::unknown() const {
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (pieces[i].kind == Kind::unknown) return static_cast<std::int32_t>(i);
  }
  return -1;
}

}  // namespace weft
