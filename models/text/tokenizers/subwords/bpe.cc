#include "weft/models/text/tokenizers/subwords/bpe.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <queue>

#include "weft/core/error.h"
#include "weft/core/excerpt.h"
#include "weft/models/text/tokenizers/base/sentence_piece_text.h"
#include "weft/models/text/tokenizers/pre_tokenizers/byte_level.h"
#include "weft/models/text/tokenizers/subwords/byte_pieces.h"
#include "weft/models/text/tokenizers/subwords/hash.h"
#include "weft/models/text/unicode/characters.h"

namespace weft::subwords {
namespace {

constexpr std::uint64_t kMixer = 0x9E3779B97F4A7C15U;
// In words of at most this many symbols, each merge is found by scanning all pairs. Longer words
// use a priority queue.
constexpr std::size_t kFew = 24;

std::uint64_t key_of(std::int32_t left, std::int32_t right) {
  return static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32 |
         static_cast<std::uint32_t>(right);
}

void drop_empty(std::optional<std::string>& text) {
  if (text && text->empty()) text.reset();
}

}  // namespace

Bpe::Bpe(Vocabulary vocabulary, Merges merges, Settings settings, bool takes_bytes)
    : settings_(std::move(settings)), merges_(std::move(merges)) {
  vocabulary_ = std::move(vocabulary);
  prepare(takes_bytes);
}

void Bpe::prepare(bool takes_bytes) {
  if (settings_.dropout.value_or(0) != 0) {
    throw FormatError(
        fmt::format("'dropout' is {}, but BPE dropout is not supported; it must be null or 0",
                    *settings_.dropout));
  }
  drop_empty(settings_.unknown_token);
  drop_empty(settings_.prefix);
  drop_empty(settings_.suffix);
  takes_bytes_ = takes_bytes && can_take_bytes();
  if (settings_.unknown_token) {
    unknown_ = vocabulary_.find(*settings_.unknown_token);
    if (unknown_ < 0) {
      throw FormatError(fmt::format("'unk_token' is '{}', which is not in the vocabulary",
                                    excerpt(*settings_.unknown_token)));
    }
  }
  add_merges();
  if (takes_bytes_) {
    std::vector<std::string> spelled;
    spelled.reserve(static_cast<std::size_t>(vocabulary_.size()));
    std::vector<std::pair<std::string_view, std::int32_t>> pieces;
    for (std::int32_t id = 0; id < vocabulary_.size(); ++id) {
      if (!vocabulary_.has(id)) continue;
      if (auto bytes = spelled_bytes(vocabulary_.piece(id))) {
        spelled.push_back(*std::move(bytes));
        pieces.emplace_back(spelled.back(), id);
      }
    }
    by_bytes_ = Vocabulary(pieces);
  }
  for (unsigned byte = 0; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    byte_ids_[byte] = takes_bytes_  ? by_bytes_.find({&c, 1})
                      : byte < 0x80 ? vocabulary_.find({&c, 1})
                                    : -1;
    fallback_ids_[byte] = vocabulary_.find(byte_piece(static_cast<unsigned char>(byte)));
  }
  add_characters();
  add_joints();
}

void Bpe::add_characters() {
  constexpr char32_t kEnd = 0x10000;  // all characters of up to three bytes
  character_ids_.assign(kEnd, -1);
  for (std::int32_t id = 0; id < vocabulary_.size(); ++id) {
    const std::string_view piece = vocabulary_.has(id) ? vocabulary_.piece(id) : "";
    if (piece.size() < 2 || piece.size() != character_size(piece, 0)) continue;
    if (const char32_t c = character_at(piece, 0); c < kEnd)
      character_ids_[c] = vocabulary_.find(piece);
  }
}

void Bpe::add_merges() {
  pairs_.assign(std::bit_ceil(std::max<std::size_t>(2 * merges_.size(), 8)), 0);
  found_.assign(pairs_.size(), Merge());
  const std::size_t prefix = settings_.prefix ? settings_.prefix->size() : 0;
  std::string joined;
  for (std::size_t rank = 0; rank < merges_.size(); ++rank) {
    const std::string& left = merges_[rank].first;
    const std::string& right = merges_[rank].second;
    const auto id_of = [&](std::string_view piece) {
      const std::int32_t id = vocabulary_.find(piece);
      if (id < 0) {
        throw FormatError(
            fmt::format("merge {} ('{}' and '{}') requires '{}', which is not in the "
                        "vocabulary",
                        rank, excerpt(left), excerpt(right), excerpt(piece)));
      }
      return id;
    };
    joined = left;
    joined += std::string_view(right).substr(std::min(prefix, right.size()));
    const std::uint64_t key = key_of(id_of(left), id_of(right));
    std::size_t slot = mix(key, kMixer) & (pairs_.size() - 1);
    while (found_[slot].rank != kNoRank && pairs_[slot] != key)
      slot = (slot + 1) & (pairs_.size() - 1);
    pairs_[slot] = key;
    // the last duplicate takes precedence
    found_[slot] = {static_cast<std::uint32_t>(rank), id_of(joined)};
  }
}

void Bpe::add_joints() {
  // Words in the vocabulary, and the first and last character of a word are treated in a special
  // way, so a part of a word differs from the whole.
  if (settings_.ignore_merges || settings_.prefix || settings_.suffix) return;
  const auto complete = [](const auto& ids) {
    return std::all_of(ids.begin(), ids.end(), [](std::int32_t id) { return id >= 0; });
  };
  const bool knows_all =
      takes_bytes_ ? complete(byte_ids_) : settings_.byte_fallback && complete(fallback_ids_);
  unknown_joins_ = !knows_all && (unknown_ < 0 || settings_.fuse_unknown);
  std::vector<std::uint64_t> joined;
  joined.reserve(merges_.size());
  for (const auto& [left, right] : merges_) {
    // These pieces also represent characters outside the vocabulary.
    if (left == settings_.unknown_token || right == settings_.unknown_token) return;
    if (settings_.byte_fallback && (byte_of_piece(left) || byte_of_piece(right))) return;
    if (takes_bytes_) {
      const auto before = spelled_bytes(left), after = spelled_bytes(right);
      if (!before || !after || before->empty() || after->empty()) return;
      joined.push_back(Joints::pair(static_cast<unsigned char>(before->back()),
                                    static_cast<unsigned char>(after->front())));
    } else if (!left.empty() && !right.empty()) {
      joined.push_back(Joints::pair(character_before(left, left.size()), character_at(right, 0)));
    }
  }
  joints_ = Joints(std::move(joined));
  has_joints_ = true;
}

bool Bpe::is_unknown(std::string_view word, std::size_t begin, std::size_t end) const {
  return symbol_of(word.substr(begin, end - begin), false, false) < 0;
}

std::size_t Bpe::independent_size(std::string_view word) const {
  if (!has_joints_) return word.size();
  std::size_t at = 0, left_begin = 0;
  const auto take = [&] {
    return takes_bytes_ ? static_cast<char32_t>(static_cast<unsigned char>(word[at++]))
                        : take_character(word, at);
  };
  char32_t left = take();
  while (at < word.size()) {
    const std::size_t border = at;
    const char32_t right = take();
    if (!joints_.has(left, right) &&
        !(unknown_joins_ && (is_unknown(word, left_begin, border) || is_unknown(word, border, at))))
      return border;
    left = right;
    left_begin = border;
  }
  return word.size();
}

Bpe::Merge Bpe::merge_of(std::int32_t left, std::int32_t right) const {
  const std::uint64_t key = key_of(left, right);
  for (std::size_t slot = mix(key, kMixer) & (pairs_.size() - 1);;
       slot = (slot + 1) & (pairs_.size() - 1)) {
    const Merge& found = found_[slot];
    if (found.rank == kNoRank || pairs_[slot] == key) return found;
  }
}

std::int32_t Bpe::id_of_character(std::string_view character) const {
  if (character.size() == character_size(character.front())) {
    const char32_t c = character_at(character, 0);
    if (c < character_ids_.size()) {
      const std::int32_t id = character_ids_[c];
      // Invalid UTF-8, which is not in the vocabulary, may have the code point of a character.
      return id >= 0 && vocabulary_.piece(id) == character ? id : -1;
    }
  }
  return vocabulary_.find(character);
}

std::int32_t Bpe::symbol_of(std::string_view character, bool first, bool last) const {
  const bool with_prefix = !first && settings_.prefix, with_suffix = last && settings_.suffix;
  if (!with_prefix && !with_suffix) {
    if (character.size() == 1) return byte_ids_[static_cast<unsigned char>(character.front())];
    return id_of_character(character);
  }
  std::string text;
  if (with_prefix) text = *settings_.prefix;
  text += character;
  if (with_suffix) text += *settings_.suffix;
  return vocabulary_.find(text);
}

bool Bpe::add_bytes(std::string_view character, std::uint32_t at,
                    std::vector<SubwordSpan>& out) const {
  for (const char byte : character)
    if (fallback_ids_[static_cast<unsigned char>(byte)] < 0) return false;
  for (const char byte : character) {
    out.push_back({fallback_ids_[static_cast<unsigned char>(byte)], at, at + 1});
    ++at;
  }
  return true;
}

void Bpe::split(std::string_view word, std::vector<SubwordSpan>& out) const {
  bool open_unknown = false;  // the last symbol is unknown and may be fused with the next one
  for (std::size_t at = 0; at < word.size();) {
    const std::size_t size = takes_bytes_ ? 1 : character_size(word, at);
    const std::string_view character = word.substr(at, size);
    const auto begin = static_cast<std::uint32_t>(at);
    const auto end = static_cast<std::uint32_t>(at + size);
    const std::int32_t id = symbol_of(character, at == 0, end == word.size());
    at = end;
    if (id >= 0) {
      out.push_back({id, begin, end});
      open_unknown = false;
    } else if (settings_.byte_fallback && add_bytes(character, begin, out)) {
      open_unknown = false;
    } else if (unknown_ >= 0) {
      if (open_unknown && settings_.fuse_unknown) {
        out.back().end = end;
      } else {
        out.push_back({unknown_, begin, end});
      }
      open_unknown = true;
    }
  }
}

void Bpe::merge_few(std::vector<SubwordSpan>& symbols, std::size_t first) const {
  std::array<Merge, kFew> merges;
  std::size_t count = symbols.size() - first;
  SubwordSpan* const word = symbols.data() + first;
  for (std::size_t i = 0; i + 1 < count; ++i) merges[i] = merge_of(word[i].id, word[i + 1].id);
  while (count > 1) {
    std::size_t best = 0;
    for (std::size_t i = 1; i + 1 < count; ++i)
      if (merges[i].rank < merges[best].rank) best = i;
    if (merges[best].rank == kNoRank) break;
    word[best] = {merges[best].id, word[best].begin, word[best + 1].end};
    --count;
    for (std::size_t i = best + 1; i < count; ++i) word[i] = word[i + 1];
    for (std::size_t i = best + 1; i + 1 < count; ++i) merges[i] = merges[i + 1];
    if (best + 1 < count) merges[best] = merge_of(word[best].id, word[best + 1].id);
    if (best > 0) merges[best - 1] = merge_of(word[best - 1].id, word[best].id);
  }
  symbols.resize(first + count);
}

void Bpe::merge_many(std::vector<SubwordSpan>& symbols, std::size_t first) const {
  constexpr std::uint32_t kNone = 0xFFFFFFFFU;
  const auto count = static_cast<std::uint32_t>(symbols.size() - first);
  SubwordSpan* const word = symbols.data() + first;
  std::vector<std::uint32_t> before(count), after(count);
  struct Candidate {
    std::uint32_t rank, at;
    std::int32_t id;
    bool operator<(const Candidate& other) const {
      return rank != other.rank ? rank > other.rank : at > other.at;
    }
  };
  std::priority_queue<Candidate> queue;
  const auto consider = [&](std::uint32_t left, std::uint32_t right) {
    const Merge merge = merge_of(word[left].id, word[right].id);
    if (merge.rank != kNoRank) queue.push({merge.rank, left, merge.id});
  };
  for (std::uint32_t i = 0; i < count; ++i) {
    before[i] = i == 0 ? kNone : i - 1;
    after[i] = i + 1 == count ? kNone : i + 1;
    if (i > 0) consider(i - 1, i);
  }
  while (!queue.empty()) {
    const Candidate best = queue.top();
    queue.pop();
    if (word[best.at].id < 0 || after[best.at] == kNone) continue;
    const std::uint32_t right = after[best.at];
    if (merge_of(word[best.at].id, word[right].id).id != best.id) continue;  // stale candidate
    word[best.at] = {best.id, word[best.at].begin, word[right].end};
    word[right].id = -1;
    after[best.at] = after[right];
    if (after[right] != kNone) before[after[right]] = best.at;
    if (before[best.at] != kNone) consider(before[best.at], best.at);
    if (after[best.at] != kNone) consider(best.at, after[best.at]);
  }
  symbols.erase(std::remove_if(symbols.begin() + static_cast<std::ptrdiff_t>(first), symbols.end(),
                               [](const SubwordSpan& symbol) { return symbol.id < 0; }),
                symbols.end());
}

void Bpe::segment(std::string_view word, std::vector<SubwordSpan>& out) const {
  if (settings_.ignore_merges) {
    const std::int32_t id = (takes_bytes_ ? by_bytes_ : vocabulary_).find(word);
    if (id >= 0) {
      out.push_back({id, 0, static_cast<std::uint32_t>(word.size())});
      return;
    }
  }
  const std::size_t first = out.size();
  split(word, out);
  if (out.size() - first <= kFew) {
    merge_few(out, first);
  } else {
    merge_many(out, first);
  }
}

bool Bpe::begins_word(std::string_view piece) const {
  if (settings_.prefix) return !piece.starts_with(*settings_.prefix);
  if (settings_.suffix) return true;
  constexpr std::string_view kSpelledBlank = "\xC4\xA0";
  return piece.starts_with(kSpelledBlank) || piece.starts_with(sentence_piece::kBlank) ||
         piece.starts_with(' ');
}

}  // namespace weft::subwords
