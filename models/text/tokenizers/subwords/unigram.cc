#include "weft/models/text/tokenizers/subwords/unigram.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "weft/core/error.h"
#include "weft/core/excerpt.h"
#include "weft/models/text/tokenizers/subwords/byte_pieces.h"
#include "weft/models/text/unicode/utf8.h"

namespace weft {
namespace {

/// Difference between the score of the worst piece and the score of unknown characters.
constexpr double kUnknownPenalty = 10;
constexpr std::size_t kMaxCandidates = std::size_t{1} << 28;

}  // namespace

Unigram::Unigram(const std::vector<Entry>& entries, const Options& options) : options_(options) {
  if (options.unknown &&
      (*options.unknown < 0 || static_cast<std::size_t>(*options.unknown) >= entries.size())) {
    throw ArgumentError(
        fmt::format("the unknown id of a unigram model is {}, but the model has only {} pieces",
                    *options.unknown, entries.size()));
  }
  std::vector<std::pair<std::string_view, std::int32_t>> found;
  found.reserve(entries.size());
  double worst = std::numeric_limits<float>::max();
  best_score_ = std::numeric_limits<float>::min();
  for (std::size_t id = 0; id < entries.size(); ++id) {
    const Entry& entry = entries[id];
    if (!std::isfinite(entry.score)) {
      throw ArgumentError(fmt::format(
          "piece {} of a unigram model has the score {}, which is not finite", id, entry.score));
    }
    scores_.push_back(entry.use == Use::forced ? std::numeric_limits<double>::quiet_NaN()
                                               : entry.score);
    if (entry.use == Use::normal) {
      worst = std::min(worst, entry.score);
      best_score_ = std::max(best_score_, entry.score);
    }
    if (entry.use == Use::normal || entry.use == Use::forced)
      found.emplace_back(entry.text, static_cast<std::int32_t>(id));
  }
  unknown_score_ = worst - kUnknownPenalty;
  trie_ = PieceTrie(std::move(found));
  if (!options.byte_fallback) return;
  std::array<std::int32_t, 256> bytes;
  for (std::size_t byte = 0; byte < bytes.size(); ++byte)
    bytes[byte] = trie_.find(byte_piece(static_cast<unsigned char>(byte)));
  bytes_ = bytes;
}

void Unigram::check(std::string_view text) const {
  if (text.size() >= std::numeric_limits<std::uint32_t>::max()) {
    throw DataError(fmt::format("cannot tokenize a text of {} bytes: it must be smaller than 4 GiB",
                                text.size()));
  }
}

std::int32_t Unigram::unknown_id(std::string_view text, std::size_t at) const {
  if (options_.unknown) return *options_.unknown;
  throw DataError(fmt::format(
      "'{}' at byte {} is not in the vocabulary of a unigram model, which has no unknown id",
      excerpt(text.substr(at, character_size(text, at))), at));
}

// Calls visit(end, id, score) for each piece that starts at `begin`, the shortest first. If no
// piece covers exactly the first character, also visits that character as unknown, with the id -1.
template <class Visit>
void Unigram::visit_edges(std::string_view text, std::size_t begin, const Visit& visit) const {
  const std::size_t one = character_size(text, begin);
  bool has_one = false;
  std::uint32_t node = PieceTrie::kRoot;
  for (std::size_t end = begin; end < text.size();) {
    if (!trie_.step(node, static_cast<unsigned char>(text[end]))) break;
    ++end;
    const std::int32_t id = trie_.id(node);
    if (id == PieceTrie::kNone) continue;
    double score = scores_[static_cast<std::size_t>(id)];
    if (std::isnan(score)) score = static_cast<double>(end - begin) * best_score_ - 0.1;
    visit(end, id, score);
    has_one = has_one || end - begin == one;
  }
  if (!has_one) visit(begin + one, -1, unknown_score_);
}

template <class Sum>
void Unigram::viterbi(std::string_view text, std::vector<Piece>& out, double* sum) const {
  constexpr std::uint32_t kUnreached = std::numeric_limits<std::uint32_t>::max();
  struct Best {  // the best segmentation that ends at this position
    Sum score = 0;
    std::uint32_t begin = kUnreached;  // start of its last piece
    std::int32_t id = -1;
  };
  // Most texts are single words, for which this array avoids heap allocation.
  std::array<Best, 128> few;
  std::vector<Best> many;
  if (text.size() >= few.size()) many.resize(text.size() + 1);
  Best* const ends = many.empty() ? few.data() : many.data();
  if (sum != nullptr) ends[0].score = static_cast<Sum>(*sum);
  for (std::size_t begin = 0; begin < text.size(); begin += character_size(text, begin)) {
    const Sum before = ends[begin].score;
    visit_edges(text, begin, [&](std::size_t end, std::int32_t id, double score) {
      Best& best = ends[end];
      double whole = score + static_cast<double>(before);
      // When SentencePiece adds the score of an unknown character, it rounds the sum to `float`
      // before comparing. For pieces, it compares the sums before rounding.
      if (id < 0) whole = static_cast<Sum>(static_cast<Sum>(score) + before);
      if (best.begin == kUnreached || whole > static_cast<double>(best.score))
        best = {static_cast<Sum>(whole), static_cast<std::uint32_t>(begin), id};
    });
  }
  if (sum != nullptr) *sum = static_cast<double>(ends[text.size()].score);
  const std::size_t first = out.size();
  for (std::size_t end = text.size(); end > 0; end = ends[end].begin)
    out.push_back({ends[end].id, ends[end].begin, static_cast<std::uint32_t>(end)});
  std::reverse(out.begin() + static_cast<std::ptrdiff_t>(first), out.end());
}

void Unigram::best_segmentation(std::string_view text, std::vector<Piece>& out, double* sum) const {
  check(text);
  options_.single_precision ? viterbi<float>(text, out, sum) : viterbi<double>(text, out, sum);
}

void Unigram::segment_characters(std::string_view text, std::vector<Piece>& out,
                                 double* sum) const {
  const std::size_t first = out.size();
  best_segmentation(text, out, sum);
  for (std::size_t i = first; i < out.size(); ++i) {
    if (out[i].id < 0) out[i].id = unknown_id(text, out[i].begin);
  }
}

void Unigram::segment(std::string_view text, std::vector<Piece>& out) const {
  const std::size_t first = out.size();
  best_segmentation(text, out, nullptr);
  const auto unknown = [](const Piece& piece) { return piece.id < 0; };
  const auto begin = out.begin() + static_cast<std::ptrdiff_t>(first);
  if (std::none_of(begin, out.end(), unknown)) return;
  const std::vector<Piece> parts(begin, out.end());
  out.resize(first);
  for (std::size_t i = 0; i < parts.size();) {
    if (!unknown(parts[i])) {
      out.push_back(parts[i++]);
      continue;
    }
    Piece run = parts[i];
    for (; i < parts.size() && unknown(parts[i]); ++i) run.end = parts[i].end;
    const std::string_view bytes = text.substr(run.begin, run.end - run.begin);
    const auto id_of = [&](char c) { return (*bytes_)[static_cast<unsigned char>(c)]; };
    if (bytes_ && std::all_of(bytes.begin(), bytes.end(), [&](char c) { return id_of(c) >= 0; })) {
      for (const char c : bytes) out.push_back({id_of(c), run.begin, run.end});
    } else {
      out.push_back({unknown_id(text, run.begin), run.begin, run.end});
    }
  }
}

std::vector<Unigram::Segmentation> Unigram::best(std::string_view text, std::size_t count) const {
  check(text);
  if (count == 0) return {};
  if (text.empty()) return {Segmentation()};
  if (count > kMaxCandidates / (text.size() + 1)) {
    throw DataError(
        fmt::format("the {} best segmentations of a text of {} bytes need more than {} candidates",
                    count, text.size(), kMaxCandidates));
  }
  // The best segmentations of each prefix of the text. Each of them extends a segmentation of a
  // shorter prefix by one piece.
  struct Way {
    double score;
    std::uint32_t begin, rank;  // the segmentation that this one extends
    std::int32_t id;
  };
  const auto better = [](const Way& a, const Way& b) { return a.score > b.score; };
  std::vector<std::vector<Way>> ends(text.size() + 1);
  ends[0] = {{0, 0, 0, 0}};
  for (std::size_t begin = 0; begin < text.size(); begin += character_size(text, begin)) {
    std::vector<Way>& here = ends[begin];
    std::stable_sort(here.begin(), here.end(), better);
    if (here.size() > count) here.resize(count);
    visit_edges(text, begin, [&](std::size_t end, std::int32_t id, double score) {
      for (std::size_t rank = 0; rank < here.size(); ++rank) {
        ends[end].push_back({here[rank].score + score, static_cast<std::uint32_t>(begin),
                             static_cast<std::uint32_t>(rank), id});
      }
    });
  }
  std::vector<Way>& last = ends.back();
  std::stable_sort(last.begin(), last.end(), better);
  if (last.size() > count) last.resize(count);
  std::vector<Segmentation> cuts;
  for (const Way& whole : last) {
    Segmentation cut{{}, whole.score};
    const Way* way = &whole;
    for (std::size_t end = text.size(); end > 0;) {
      const std::int32_t id = way->id < 0 ? unknown_id(text, way->begin) : way->id;
      cut.pieces.push_back({id, way->begin, static_cast<std::uint32_t>(end)});
      end = way->begin;
      way = &ends[end][way->rank];
    }
    std::reverse(cut.pieces.begin(), cut.pieces.end());
    cuts.push_back(std::move(cut));
  }
  return cuts;
}

void Unigram::add_expected(std::string_view text, double weight,
                           std::vector<double>& expected) const {
  constexpr double kNever = -std::numeric_limits<double>::infinity();
  const auto log_sum = [](double a, double b) {
    const double most = std::max(a, b), least = std::min(a, b);
    return least == kNever ? most : most + std::log1p(std::exp(least - most));
  };
  struct Edge {
    std::size_t begin, end;
    std::int32_t id;
    double score;
  };
  std::vector<Edge> edges;
  std::vector<double> before(text.size() + 1, kNever), after(text.size() + 1, kNever);
  before.front() = after.back() = 0;
  for (std::size_t begin = 0; begin < text.size(); begin += character_size(text, begin)) {
    visit_edges(text, begin, [&](std::size_t end, std::int32_t id, double score) {
      edges.push_back({begin, end, id, score});
      before[end] = log_sum(before[end], before[begin] + score);
    });
  }
  for (auto edge = edges.rbegin(); edge != edges.rend(); ++edge)
    after[edge->begin] = log_sum(after[edge->begin], edge->score + after[edge->end]);
  for (const Edge& edge : edges) {
    if (edge.id < 0) continue;
    expected[static_cast<std::size_t>(edge.id)] +=
        weight * std::exp(before[edge.begin] + edge.score + after[edge.end] - before.back());
  }
}

}  // namespace weft
