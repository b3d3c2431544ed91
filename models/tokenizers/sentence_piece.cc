#include "weft/models/tokenizers/sentence_piece.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <queue>

#include "weft/core/error.h"
#include "weft/models/tokenizers/sentence_piece_text.h"
#include "weft/models/tokenizers/utf8.h"
#include "weft_proto/sentence_piece.pb.h"

namespace weft {
namespace sentence_piece {

std::string normalise(std::string_view text, TextPlace place) {
  std::string result;
  bool between = place == TextPlace::beginning;  // words
  for (std::size_t offset = 0; offset < text.size();) {
    const std::size_t begin = offset;
    const char32_t c = next_code_point(text, offset);
    if (c == ' ' || (c >= '\t' && c <= '\r')) {
      between = true;
      continue;
    }
    if (between) result += kBlank;
    between = false;
    result += text.substr(begin, offset - begin);
  }
  return result;
}

std::string with_all_whitespace(std::string_view text, TextPlace place) {
  std::string result;
  if (place == TextPlace::beginning && !text.empty()) result = kBlank;
  for (std::size_t offset = 0; offset < text.size();) {
    const std::size_t begin = offset;
    if (next_code_point(text, offset) == ' ') {
      result += kBlank;
    } else {
      result += text.substr(begin, offset - begin);
    }
  }
  return result;
}

}  // namespace sentence_piece

namespace {

using sentence_piece::kBlank;

// Of what is merged at once; takes about 1.5 GB.
constexpr std::size_t kLongestPart = std::size_t{16} << 20;

std::size_t character_size(char first) {
  const auto byte = static_cast<unsigned char>(first);
  return byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}

[[noreturn]] void fail(const std::string& what) {
  throw FormatError(fmt::format("not a SentencePiece model: {}", what));
}

[[noreturn]] void refuse(const std::string& what) {
  throw FormatError(fmt::format("a SentencePiece model that is not supported: {}", what));
}

void check_valid_utf8(std::string_view piece, int id) {
  try {
    for (std::size_t offset = 0; offset < piece.size();) next_code_point(piece, offset);
  } catch (const FormatError& e) {
    fail(fmt::format("piece {} is {}", id, e.what()));
  }
}

/// Only byte-pair models whose text is what it is.
void check_supported(const sentence_piece::Model& model) {
  const auto& trainer = model.trainer_spec();
  if (trainer.model_type() != sentence_piece::TrainerSpec::BPE) {
    refuse(fmt::format("model_type {}, only BPE is",
                       sentence_piece::TrainerSpec::ModelType_Name(trainer.model_type())));
  }
  if (trainer.byte_fallback()) refuse("byte_fallback");
  if (trainer.treat_whitespace_as_suffix()) refuse("treat_whitespace_as_suffix");
  const auto& normalizer = model.normalizer_spec();
  if (!normalizer.precompiled_charsmap().empty() ||
      !model.denormalizer_spec().precompiled_charsmap().empty())
    refuse(fmt::format("normalization '{}', only identity is", normalizer.name()));
  if (!normalizer.add_dummy_prefix()) refuse("add_dummy_prefix = false");
  if (!normalizer.escape_whitespaces()) refuse("escape_whitespaces = false");
}

}  // namespace

SentencePieceTokenizer::SentencePieceTokenizer(std::vector<Piece> pieces, bool keep_whitespace)
    : pieces_(std::move(pieces)), keep_whitespace_(keep_whitespace) {
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    const Piece& piece = pieces_[i];
    ids_.emplace(piece.text, static_cast<std::int32_t>(i));
    if (piece.kind == Kind::symbol) longest_symbol_ = std::max(longest_symbol_, piece.text.size());
    // The marker of a blank in front belongs to the piece's own word.
    if (piece.kind == Kind::normal || piece.kind == Kind::symbol)
      crosses_words_ = crosses_words_ || piece.text.find(kBlank, 1) != std::string::npos;
    if (piece.kind == Kind::unknown) special_.unk = static_cast<std::int32_t>(i);
  }
  const auto control = [&](std::string_view text) {
    const std::int32_t id = find(text);
    return id >= 0 && at(id).kind == Kind::control ? id : -1;
  };
  special_.pad = control("<pad>");
  special_.bos = control("<s>");
  special_.eos = control("</s>");
  special_.cls = control("[CLS]");
  special_.sep = control("[SEP]");
  special_.mask = control("[MASK]");
}

SentencePieceTokenizer SentencePieceTokenizer::from_bytes(std::string_view bytes) {
  sentence_piece::Model model;
  if (bytes.size() > 0x7FFFFFFF ||
      !model.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    fail("the bytes are no such message");
  if (model.pieces_size() == 0) fail("it has no pieces");
  check_supported(model);
  using Proto = sentence_piece::Model::Piece;
  std::vector<Piece> pieces;
  std::unordered_map<std::string_view, int> seen;
  int unknown = 0;
  for (int id = 0; id < model.pieces_size(); ++id) {
    const Proto& piece = model.pieces(id);
    if (piece.piece().empty()) fail(fmt::format("piece {} is empty", id));
    check_valid_utf8(piece.piece(), id);
    if (const auto [first, added] = seen.emplace(piece.piece(), id); !added)
      fail(fmt::format("pieces {} and {} are both '{}'", first->second, id, piece.piece()));
    if (!std::isfinite(piece.score()))
      fail(fmt::format("piece {} has the score {}", id, piece.score()));
    Kind kind = Kind::normal;
    switch (piece.type()) {
      case Proto::NORMAL: break;
      case Proto::UNKNOWN: kind = Kind::unknown; break;
      case Proto::CONTROL: kind = Kind::control; break;
      case Proto::USER_DEFINED: kind = Kind::symbol; break;
      default: refuse(fmt::format("piece {} of type {}", id, Proto::Type_Name(piece.type())));
    }
    unknown += kind == Kind::unknown ? 1 : 0;
    pieces.push_back({piece.piece(), piece.score(), kind});
  }
  if (unknown != 1)
    fail(fmt::format("it has {} pieces for what is unknown; one is needed", unknown));
  return {std::move(pieces), !model.normalizer_spec().remove_extra_whitespaces()};
}

std::string SentencePieceTokenizer::to_bytes() const {
  using Proto = sentence_piece::Model::Piece;
  sentence_piece::Model model;
  for (const Piece& piece : pieces_) {
    Proto& proto = *model.add_pieces();
    proto.set_piece(piece.text);
    proto.set_score(piece.score);
    switch (piece.kind) {
      case Kind::normal: break;
      case Kind::unknown: proto.set_type(Proto::UNKNOWN); break;
      case Kind::control: proto.set_type(Proto::CONTROL); break;
      case Kind::symbol: proto.set_type(Proto::USER_DEFINED); break;
    }
  }
  sentence_piece::TrainerSpec& trainer = *model.mutable_trainer_spec();
  trainer.set_model_type(sentence_piece::TrainerSpec::BPE);
  trainer.set_vocab_size(static_cast<std::int32_t>(vocab_size()));
  trainer.set_unk_id(unk_id());
  trainer.set_bos_id(bos_id());
  trainer.set_eos_id(eos_id());
  trainer.set_pad_id(pad_id());
  trainer.set_unk_piece(pieces_[static_cast<std::size_t>(unk_id())].text);
  sentence_piece::NormalizerSpec& normalizer = *model.mutable_normalizer_spec();
  normalizer.set_name("identity");
  normalizer.set_add_dummy_prefix(true);
  normalizer.set_remove_extra_whitespaces(!keep_whitespace_);
  normalizer.set_escape_whitespaces(true);
  return model.SerializeAsString();
}

void SentencePieceTokenizer::merge(std::string_view text, std::vector<Found>& found) const {
  constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  std::vector<std::size_t> before(found.size()), after(found.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    before[i] = i == 0 ? kNone : i - 1;
    after[i] = i + 1 == found.size() ? kNone : i + 1;
  }
  struct Candidate {
    float score;
    std::size_t left, right;
    std::size_t size;  // of both: stale if one of them has grown
    std::int32_t id;
    bool operator<(const Candidate& other) const {
      return score != other.score ? score < other.score : left > other.left;
    }
  };
  std::priority_queue<Candidate> queue;
  const auto consider = [&](std::size_t left, std::size_t right) {
    if (left == kNone || right == kNone) return;
    const std::size_t size = found[left].size + found[right].size;
    const auto it = ids_.find(text.substr(found[left].begin, size));
    if (it == ids_.end() || at(it->second).kind != Kind::normal) return;
    queue.push({at(it->second).score, left, right, size, it->second});
  };
  const auto frozen = [&](std::size_t i) {
    return found[i].id >= 0 && at(found[i].id).kind == Kind::symbol;
  };
  for (std::size_t i = 0; i + 1 < found.size(); ++i) {
    if (!frozen(i) && !frozen(i + 1)) consider(i, i + 1);
  }
  while (!queue.empty()) {
    const Candidate best = queue.top();
    queue.pop();
    Found& left = found[best.left];
    Found& right = found[best.right];
    if (left.size == 0 || right.size == 0 || left.size + right.size != best.size) continue;
    left.size = best.size;
    left.id = best.id;
    right.size = 0;
    after[best.left] = after[best.right];
    if (after[best.right] != kNone) before[after[best.right]] = best.left;
    if (before[best.left] != kNone && !frozen(before[best.left]))
      consider(before[best.left], best.left);
    if (after[best.left] != kNone && !frozen(after[best.left]))
      consider(best.left, after[best.left]);
  }
  std::erase_if(found, [](const Found& f) { return f.size == 0; });
}

std::vector<SentencePieceTokenizer::Found> SentencePieceTokenizer::segment_part(
    std::string_view text) const {
  std::vector<Found> found;
  for (std::size_t begin = 0; begin < text.size();) {
    Found next{begin, character_size(text[begin]), -1};
    const auto known = ids_.find(text.substr(begin, next.size));
    // A control piece of one character cannot come from a text.
    if (known != ids_.end() && at(known->second).kind == Kind::normal) next.id = known->second;
    for (std::size_t size = std::min(longest_symbol_, text.size() - begin); size > 0; --size) {
      const auto it = ids_.find(text.substr(begin, size));
      if (it == ids_.end() || at(it->second).kind != Kind::symbol) continue;
      next = {begin, size, it->second};
      break;
    }
    found.push_back(next);
    begin += next.size;
  }
  merge(text, found);
  return found;
}

std::vector<SentencePieceTokenizer::Found> SentencePieceTokenizer::segment(
    std::string_view text) const {
  std::vector<Found> result;
  for (std::size_t begin = 0; begin < text.size();) {
    // Merging takes some hundred bytes per character at a time: words are merged one by one where
    // no piece reaches from one into the next, which gives the same pieces.
    const std::size_t end =
        crosses_words_ ? text.size() : std::min(text.find(kBlank, begin + 1), text.size());
    if (end - begin > kLongestPart) {
      throw DataError(
          fmt::format("a {} of {} bytes at byte {} of a text: at most {} can be cut "
                      "into tokens; break it up",
                      crosses_words_ ? "line" : "word", end - begin, begin, kLongestPart));
    }
    for (Found f : segment_part(text.substr(begin, end - begin))) {
      if (f.id < 0 && !result.empty() && result.back().id == unk_id())
        result.back().size += f.size;
      else
        result.push_back({begin + f.begin, f.size, f.id < 0 ? unk_id() : f.id});
    }
    begin = end;
  }
  return result;
}

std::string SentencePieceTokenizer::normalised(std::string_view text, TextPlace place) const {
  return keep_whitespace_ ? sentence_piece::with_all_whitespace(text, place)
                          : sentence_piece::normalise(text, place);
}

std::vector<std::int32_t> SentencePieceTokenizer::encode(std::string_view text,
                                                         TextPlace place) const {
  std::vector<std::int32_t> ids;
  for (const Found& f : segment(normalised(text, place))) ids.push_back(f.id);
  return ids;
}

std::vector<std::string> SentencePieceTokenizer::pieces(std::string_view text) const {
  const std::string whole = normalised(text, TextPlace::beginning);
  std::vector<std::string> result;
  for (const Found& f : segment(whole)) result.push_back(whole.substr(f.begin, f.size));
  return result;
}

std::string SentencePieceTokenizer::decode(std::span<const std::int32_t> ids) const {
  std::string text;
  for (const std::int32_t id : ids) {
    const Piece& piece = at(id);
    if (piece.kind == Kind::control) continue;
    text += piece.kind == Kind::unknown ? "\xE2\x81\x87" : piece.text;
  }
  std::string result;
  for (std::size_t i = 0; i < text.size();) {
    if (std::string_view(text).substr(i).starts_with(kBlank)) {
      // The first one stands for the beginning; others are blanks that may be lost, or not.
      if (keep_whitespace_ ? i > 0 : !result.empty()) result += ' ';
      i += kBlank.size();
    } else {
      result += text[i++];
    }
  }
  return result;
}

const SentencePieceTokenizer::Piece& SentencePieceTokenizer::at(std::int32_t id) const {
  if (id < 0 || id >= vocab_size())
    throw DataError(fmt::format("token id {} is outside the vocabulary [0, {})", id, vocab_size()));
  return pieces_[static_cast<std::size_t>(id)];
}

const std::string& SentencePieceTokenizer::piece(std::int32_t id) const { return at(id).text; }

std::int32_t SentencePieceTokenizer::find(std::string_view piece) const {
  const auto it = ids_.find(piece);
  return it == ids_.end() ? -1 : it->second;
}

bool SentencePieceTokenizer::is_special(std::int32_t id) const {
  const Kind kind = at(id).kind;
  return kind == Kind::control || kind == Kind::unknown;
}

bool SentencePieceTokenizer::is_word_start(std::int32_t id) const {
  const Piece& piece = at(id);
  return piece.kind != Kind::normal || piece.text.starts_with(kBlank);
}

}  // namespace weft
