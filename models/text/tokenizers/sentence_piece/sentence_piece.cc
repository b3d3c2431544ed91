#include "weft/models/text/tokenizers/sentence_piece/sentence_piece.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <unordered_map>
#include <utility>

#include "weft/core/error.h"
#include "weft/models/text/tokenizers/base/sentence_piece_text.h"
#include "weft/models/text/tokenizers/base/split_text.h"
#include "weft/models/text/tokenizers/normalizers/sentence_piece_normalizer.h"
#include "weft/models/text/tokenizers/normalizers/text_preparation.h"
#include "weft/models/text/tokenizers/sentence_piece/piece_segmenter.h"
#include "weft/models/text/tokenizers/subwords/byte_pieces.h"
#include "weft/models/text/unicode/characters.h"
#include "weft/models/text/unicode/properties.h"
#include "weft/models/text/unicode/repair.h"
#include "weft/models/text/unicode/utf8.h"

namespace weft {
namespace {

using sentence_piece::kBlank;
using Kind = SentencePieceModel::Kind;

std::vector<std::string_view> symbols_of(const SentencePieceModel& model) {
  std::vector<std::string_view> symbols;
  for (const auto& piece : model.pieces) {
    if (piece.kind == Kind::symbol) symbols.push_back(piece.text);
  }
  return symbols;
}

SentencePieceNormalizer normalizer_of(const SentencePieceModel::Normalizer& options,
                                      const SentencePieceModel* model) {
  const std::string& blob = options.compiled_map;
  return SentencePieceNormalizer(
      {.dummy_prefix = options.dummy_prefix,
       .remove_extra_whitespace = options.remove_extra_whitespace,
       .escape_whitespace = options.escape_whitespace,
       .whitespace_as_suffix = model != nullptr && model->whitespace_as_suffix},
      blob.empty() ? PrecompiledMap() : PrecompiledMap::parse(blob),
      model == nullptr ? std::vector<std::string_view>() : symbols_of(*model));
}

void append_with_blanks(std::string& text, std::string_view piece) {
  for (std::size_t at = 0; at < piece.size();) {
    const std::size_t blank = std::min(piece.find(kBlank, at), piece.size());
    text += piece.substr(at, blank - at);
    if (blank < piece.size()) text += ' ';
    at = blank + kBlank.size();
  }
}

/// Appends `bytes` to `text`. Each byte that is not part of a valid character is replaced by
/// U+FFFD.
void append_characters(std::string& text, std::string_view bytes) {
  for (std::size_t at = 0; at < bytes.size();) {
    const int size = examine_character(bytes, at);
    text += size < 0 ? kReplacementCharacter : bytes.substr(at, static_cast<std::size_t>(size));
    at += static_cast<std::size_t>(std::max(size, 1));
  }
}

}  // namespace

/// A model and all data derived from it. Built once and shared by all copies of the tokenizer.
struct SentencePieceTokenizer::State {
  SentencePieceModel model;
  SentencePieceNormalizer normalizer = {};
  std::optional<SentencePieceNormalizer> denormalizer = {};
  PieceSegmenter cutter = {};
  std::unordered_map<std::string_view, std::int32_t> ids = {};  // keyed by the text of the piece
  std::vector<std::int32_t> outer = {};  // for each piece, its id in the layout
  SpecialIds special = {};
  PieceTrie named = {};   // special ids and added pieces by their names, which texts may contain
  bool prepares = false;  // true if the layout has text changes or re-segments pieces
  std::shared_ptr<const State> target = {};  // null if the target tokenizer is this one

  State() = default;
  explicit State(SentencePieceModel made);
  State(const State&) = delete;  // `ids` contains views of `model`
  State& operator=(const State&) = delete;
  void find_special();

  std::int64_t count() const {
    return static_cast<std::int64_t>(model.layout.ids.empty() ? model.pieces.size()
                                                              : model.layout.ids.size());
  }
  /// Returns the index of the model's piece for `id`, or -1 - n for the layout's added[n].
  std::int32_t inner(std::int32_t id) const {
    if (id < 0 || id >= count())
      throw DataError(fmt::format("token id {} is outside the vocabulary [0, {})", id, count()));
    return model.layout.ids.empty() ? id : model.layout.ids[static_cast<std::size_t>(id)];
  }
  /// Returns the model's piece for `id`, or null if the piece was added by the layout.
  const SentencePieceModel::Piece* piece(std::int32_t id) const {
    const std::int32_t place = inner(id);
    return place < 0 ? nullptr : &model.pieces[static_cast<std::size_t>(place)];
  }
  const SentencePieceModel::Added& added(std::int32_t id) const {
    return model.layout.added[static_cast<std::size_t>(-1 - inner(id))];
  }
  const std::string& text_of(std::int32_t id) const {
    const SentencePieceModel::Piece* known = piece(id);
    return known == nullptr ? added(id).text : known->text;
  }
  std::int32_t find(std::string_view text) const {
    const auto it = ids.find(text);
    return it == ids.end() ? -1 : it->second;
  }
  std::string normalised(std::string_view text, TextPlace place,
                         std::vector<std::uint32_t>* origins = nullptr) const;
  std::vector<SubwordSpan> cut(std::string_view normalised) const;
  void cut_number(std::string_view piece, std::uint32_t at, std::vector<SubwordSpan>& out) const;
  template <class Visit>
  void visit_parts(std::string_view text, TextPlace place, const Visit& visit) const;
  void append(std::string_view text, std::size_t begin, std::size_t end, TextPlace place,
              std::vector<SubwordSpan>& out) const;
  std::string decode_own(std::span<const std::int32_t> list, bool special) const;
  std::string decode(std::span<const std::int32_t> list, bool special) const;
};

SentencePieceTokenizer::State::State(SentencePieceModel made)
    : model(std::move(made)), normalizer(normalizer_of(model.normalizer, &model)), cutter(model) {
  if (model.denormalizer) denormalizer = normalizer_of(*model.denormalizer, nullptr);
  prepares = model.layout.preparation != TextPreparation();
  if (model.layout.target != nullptr) target = std::make_shared<const State>(*model.layout.target);
  // Pieces that have no id in the layout are mapped to the unknown id.
  if (!model.layout.ids.empty()) {
    outer.assign(model.pieces.size(), -1);
    for (std::int32_t id = 0; id < count(); ++id) {
      if (const std::int32_t place = inner(id); place >= 0 && outer[std::size_t(place)] < 0)
        outer[static_cast<std::size_t>(place)] = id;
    }
    const std::int32_t unknown = outer[static_cast<std::size_t>(model.unknown())];
    for (std::int32_t& id : outer) id = id < 0 ? unknown : id;
  }
  for (std::int32_t id = 0; id < count(); ++id) {
    const SentencePieceModel::Piece* known = piece(id);
    const bool reserved = known == nullptr || known->kind == Kind::control ||
                          known->kind == Kind::unknown || known->kind == Kind::byte;
    // If a reserved piece and an ordinary piece have the same text, the text is mapped to the
    // reserved piece.
    if (const auto [it, fresh] = ids.emplace(text_of(id), id); !fresh && reserved) it->second = id;
  }
  find_special();
  std::vector<std::pair<std::string_view, std::int32_t>> spelled;
  for (const SpecialIdName& named_id : kSpecialIds) {
    if (const std::int32_t id = special.*named_id.id; id >= 0)
      spelled.emplace_back(text_of(id), id);
  }
  for (std::int32_t id = 0; id < count(); ++id) {
    if (piece(id) == nullptr) spelled.emplace_back(added(id).text, id);
  }
  named = PieceTrie(std::move(spelled));
}

void SentencePieceTokenizer::State::find_special() {
  if (!model.layout.ids.empty()) {
    special = model.layout.special;
    return;
  }
  const auto control = [&](std::string_view text) {
    const std::int32_t id = find(text);
    return id >= 0 && piece(id)->kind == Kind::control ? id : -1;
  };
  special = {.pad = control(model.names.pad),
             .unk = model.unknown(),
             .bos = control(model.names.bos),
             .eos = control(model.names.eos),
             .cls = control("[CLS]"),
             .sep = control("[SEP]"),
             .mask = control("[MASK]")};
}

std::string SentencePieceTokenizer::State::normalised(std::string_view text, TextPlace place,
                                                      std::vector<std::uint32_t>* origins) const {
  if (!model.own) return normalizer.normalise(text, place, origins);
  return model.normalizer.remove_extra_whitespace
             ? sentence_piece::normalise(text, place, origins)
             : sentence_piece::with_all_whitespace(text, place, origins);
}

/// Segments a text that normalised() returned. The resulting ids are those of the layout.
std::vector<SubwordSpan> SentencePieceTokenizer::State::cut(std::string_view text) const {
  std::vector<SubwordSpan> parts = cutter.cut(text);
  if (!outer.empty())
    for (SubwordSpan& part : parts) part.id = outer[static_cast<std::size_t>(part.id)];
  if (!model.layout.preparation.commas_apart) return parts;
  std::vector<SubwordSpan> result;
  for (const SubwordSpan& part : parts) {
    const std::string_view piece = text.substr(part.begin, part.end - part.begin);
    const bool is_number = piece.size() > 1 && piece.ends_with(',') &&
                           is_digit(character_before(piece, piece.size() - 1));
    if (is_number)
      cut_number(piece, part.begin, result);
    else
      result.push_back(part);
  }
  return result;
}

/// Re-segments a piece that ends in a digit and a comma. The text before the comma is segmented
/// separately and without spaces. If normalisation inserts a space before it, the space is removed.
void SentencePieceTokenizer::State::cut_number(std::string_view piece, std::uint32_t at,
                                               std::vector<SubwordSpan>& out) const {
  const auto id_of = [&](std::string_view text) {
    const std::int32_t id = find(text);
    return id < 0 ? special.unk : id;
  };
  const auto end = at + static_cast<std::uint32_t>(piece.size());
  const bool is_inside = !piece.starts_with(kBlank);
  std::string number;
  std::vector<std::uint32_t> places;  // offsets of the bytes of `number` and of its end
  for (std::size_t i = 0; i + 1 < piece.size();) {
    const bool blank = piece.substr(i).starts_with(kBlank);
    const std::size_t size = blank ? kBlank.size() : 1;
    if (!blank) {
      number += piece[i];
      places.push_back(at + static_cast<std::uint32_t>(i));
    }
    i += size;
  }
  places.push_back(end - 1);
  std::vector<std::uint32_t> origins;
  const std::string whole = normalised(number, TextPlace::beginning, &origins);
  bool first = is_inside;
  for (const SubwordSpan& found : cutter.cut(whole)) {
    std::string_view text = std::string_view(whole).substr(found.begin, found.end - found.begin);
    std::int32_t id = outer.empty() ? found.id : outer[static_cast<std::size_t>(found.id)];
    const bool has_blank = std::exchange(first, false) && text.starts_with(kBlank);
    if (has_blank) {
      text.remove_prefix(kBlank.size());
      if (text.empty()) continue;
      id = id_of(text);
    }
    // The space before a word belongs to the word's first piece.
    const bool begins_word = !is_inside && found.begin == 0;
    out.push_back(
        {id, begins_word ? at : places[origins[found.begin]], places[origins[found.end]]});
  }
  out.push_back({id_of(","), end - 1, end});
}

/// Calls visit(normalised, pieces, source) for each part of `text` that is segmented separately.
/// source(piece) returns the bytes of `text` from which a piece originated.
template <class Visit>
void SentencePieceTokenizer::State::visit_parts(std::string_view text, TextPlace place,
                                                const Visit& visit) const {
  std::vector<std::uint32_t> origins;
  if (!prepares) {
    const std::string whole = normalised(text, place, &origins);
    visit(whole, cut(whole), [&](const SubwordSpan& piece) {
      return Span{origins[piece.begin], origins[piece.end]};
    });
    return;
  }
  SplitText prepared;
  if (find_invalid_utf8(text) == text.size()) {
    prepared.text.assign(text);
  } else {
    RepairedText fixed = repair(text);
    prepared.text.assign(std::move(fixed.text), std::move(fixed.spans));
  }
  prepared.parts.assign(1, {0, prepared.text.size(), -1});
  prepare(prepared, model.layout.preparation);
  for (const TextPart& part : prepared.parts) {
    const std::string whole = normalised(prepared.view(part), place, &origins);
    visit(whole, cut(whole), [&](const SubwordSpan& piece) {
      return prepared.text.source(part.begin + origins[piece.begin],
                                  part.begin + origins[piece.end]);
    });
    place = TextPlace::beginning;
  }
}

void SentencePieceTokenizer::State::append(std::string_view text, std::size_t begin,
                                           std::size_t end, TextPlace place,
                                           std::vector<SubwordSpan>& out) const {
  if (begin == end) return;
  const auto first = static_cast<std::uint32_t>(begin);
  visit_parts(text.substr(begin, end - begin), place,
              [&](std::string_view, const std::vector<SubwordSpan>& pieces, const auto& source) {
                for (const SubwordSpan& piece : pieces) {
                  const Span span = source(piece);
                  out.push_back({piece.id, first + span.begin, first + span.end});
                }
              });
}

std::string SentencePieceTokenizer::State::decode_own(std::span<const std::int32_t> list,
                                                      bool special) const {
  std::string text;
  for (const std::int32_t id : list) {
    const SentencePieceModel::Piece* known = piece(id);
    if (known == nullptr) {
      if (special || !added(id).special) text += added(id).text;
    } else if (special || known->kind != Kind::control) {
      text += known->kind == Kind::unknown ? "\xE2\x81\x87" : known->text;
    }
  }
  std::string result;
  for (std::size_t i = 0; i < text.size();) {
    if (std::string_view(text).substr(i).starts_with(kBlank)) {
      // A leading U+2581 marks the beginning of the text. All others represent spaces.
      if (!model.normalizer.remove_extra_whitespace ? i > 0 : !result.empty()) result += ' ';
      i += kBlank.size();
    } else {
      result += text[i++];
    }
  }
  return result;
}

std::string SentencePieceTokenizer::State::decode(std::span<const std::int32_t> list,
                                                  bool special) const {
  if (model.own) return decode_own(list, special);
  std::string text, bytes;
  const bool drops_blank =
      model.normalizer.dummy_prefix || model.normalizer.remove_extra_whitespace;
  /// True at the beginning of the text. A space at this position was inserted by encoding.
  bool begins = true;
  bool seen_blank = false;  // the inserted space has already been omitted
  const auto append_piece = [&](std::string_view part) {
    if (begins && drops_blank && part.starts_with(kBlank)) {
      part.remove_prefix(kBlank.size());
      // If the normalizer removes extra whitespace, all spaces at the beginning are omitted.
      seen_blank = !model.normalizer.remove_extra_whitespace;
    }
    append_with_blanks(text, part);
  };
  for (const std::int32_t id : list) {
    const SentencePieceModel::Piece* known = piece(id);
    if (known != nullptr && known->kind == Kind::byte) {
      bytes += static_cast<char>(byte_of_piece(known->text).value());
      continue;
    }
    append_characters(text, bytes);
    bytes.clear();
    if (seen_blank || !text.empty()) begins = false;
    seen_blank = false;
    if (known == nullptr) {
      if (special || !added(id).special) append_piece(added(id).text);
    } else if (known->kind == Kind::unknown) {
      text += special ? known->text : model.unknown_surface;
    } else if (special && known->kind == Kind::control) {
      text += known->text;
    } else if (known->kind != Kind::control) {
      append_piece(known->text);
    }
  }
  append_characters(text, bytes);
  return denormalizer ? denormalizer->normalise(text) : text;
}

SentencePieceTokenizer::SentencePieceTokenizer() : state_(std::make_shared<const State>()) {}

SentencePieceTokenizer::SentencePieceTokenizer(SentencePieceModel model)
    : state_(std::make_shared<const State>(std::move(model))) {}

SentencePieceTokenizer SentencePieceTokenizer::from_bytes(std::string_view bytes) {
  try {
    return SentencePieceTokenizer(SentencePieceModel::parse(bytes));
  } catch (const DataError& e) {  // the trie would have too many nodes
    throw FormatError(fmt::format("unsupported SentencePiece model: {}", e.what()));
  }
}

std::string SentencePieceTokenizer::to_bytes() const { return state_->model.to_bytes(); }

SentencePieceTokenizer SentencePieceTokenizer::with_layout(
    SentencePieceModel::Layout layout) const {
  SentencePieceModel model = state_->model;
  model.layout = std::move(layout);
  return SentencePieceTokenizer(std::move(model));
}

const SentencePieceModel& SentencePieceTokenizer::model() const { return state_->model; }

SentencePieceTokenizer SentencePieceTokenizer::targets() const {
  return state_->target == nullptr ? *this : SentencePieceTokenizer(state_->target);
}

std::int64_t SentencePieceTokenizer::vocab_size() const { return state_->count(); }

const SpecialIds& SentencePieceTokenizer::special() const { return state_->special; }

std::vector<std::int32_t> SentencePieceTokenizer::encode(std::string_view text,
                                                         TextPlace place) const {
  std::vector<std::int32_t> ids;
  const auto add = [&](const std::vector<SubwordSpan>& pieces) {
    for (const SubwordSpan& piece : pieces) ids.push_back(piece.id);
  };
  if (state_->prepares) {
    add(encode_spans(text, place));
  } else {
    add(state_->cut(state_->normalised(text, place)));
  }
  return ids;
}

std::vector<SubwordSpan> SentencePieceTokenizer::encode_spans(std::string_view text,
                                                              TextPlace place, bool special_in_text,
                                                              const PlainParts& plain) const {
  std::vector<SubwordSpan> result;
  if (!special_in_text) {
    state_->append(text, 0, text.size(), place, result);
    return result;
  }
  const auto is_blank = [&](std::size_t at) {
    return std::isspace(static_cast<unsigned char>(text[at])) != 0;
  };
  for (std::size_t begin = 0, at = 0; begin < text.size() || at == 0;) {
    PieceTrie::Match match;
    for (; at < text.size(); ++at) {
      match = state_->named.longest(text.substr(at));
      const auto byte = static_cast<std::uint32_t>(at);
      if (match.size > 0 &&
          plain.cover({byte, byte + static_cast<std::uint32_t>(match.size)}, match.id, true))
        match = {};
      if (match.size > 0) break;
    }
    std::size_t end = at, next = at + match.size;
    const SentencePieceModel::Piece* piece = match.size > 0 ? state_->piece(match.id) : nullptr;
    if (match.size > 0 && piece == nullptr) {
      const auto& added = state_->added(match.id);
      while (added.lstrip && end > begin && is_blank(end - 1)) --end;
      while (added.rstrip && next < text.size() && is_blank(next)) ++next;
    }
    state_->append(text, begin, end, place, result);
    if (match.size == 0) break;
    result.push_back(
        {match.id, static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(at + match.size)});
    if (!state_->model.layout.restarts) place = TextPlace::middle;
    begin = at = next;
  }
  return result;
}

Encoding SentencePieceTokenizer::encode_alone(std::string_view text, const EncodeOptions& options,
                                              const TokenLimit&) const {
  Encoding result;
  for (const SubwordSpan& part :
       encode_spans(text, options.place, options.special_in_text, options.plain))
    result.add(part.id, {part.begin, part.end}, -1, 0, 0);
  return result;
}

std::vector<std::string> SentencePieceTokenizer::pieces(std::string_view text) const {
  std::vector<std::string> result;
  state_->visit_parts(
      text, TextPlace::beginning,
      [&](std::string_view whole, const std::vector<SubwordSpan>& pieces, const auto&) {
        for (const SubwordSpan& part : pieces) {
          const SentencePieceModel::Piece* piece = state_->piece(part.id);
          const bool is_byte = piece != nullptr && piece->kind == Kind::byte;
          result.emplace_back(is_byte ? piece->text
                                      : whole.substr(part.begin, part.end - part.begin));
        }
      });
  return result;
}

std::vector<SentencePieceTokenizer::Segmentation> SentencePieceTokenizer::best(
    std::string_view text, std::size_t count) const {
  const Unigram* model = state_->cutter.unigram();
  if (model == nullptr) throw ArgumentError("n-best segmentation requires a unigram model");
  const std::string whole = state_->normalised(text, TextPlace::beginning);
  std::vector<Segmentation> cuts;
  for (const Unigram::Segmentation& found : model->best(whole, count)) {
    Segmentation cut{{}, found.score};
    for (const SubwordSpan& part : state_->cutter.with_unknown(whole, found.pieces))
      cut.ids.push_back(state_->outer.empty() ? part.id
                                              : state_->outer[static_cast<std::size_t>(part.id)]);
    cuts.push_back(std::move(cut));
  }
  return cuts;
}

std::string SentencePieceTokenizer::decode(std::span<const std::int32_t> ids,
                                           const DecodeOptions& options) const {
  return state_->decode(ids, options.keep_special);
}

const std::string& SentencePieceTokenizer::piece(std::int32_t id) const {
  return state_->text_of(id);
}

std::int32_t SentencePieceTokenizer::find(std::string_view piece) const {
  return state_->find(piece);
}

bool SentencePieceTokenizer::is_special(std::int32_t id) const {
  const SentencePieceModel::Piece* known = state_->piece(id);
  if (known == nullptr) return state_->added(id).special;
  return known->kind == Kind::control || known->kind == Kind::unknown;
}

bool SentencePieceTokenizer::is_word_start(std::int32_t id) const {
  const SentencePieceModel::Piece* known = state_->piece(id);
  if (known == nullptr || known->text.starts_with(kBlank)) return true;
  return known->kind != Kind::normal && known->kind != Kind::byte && known->kind != Kind::unused;
}

}  // namespace weft
