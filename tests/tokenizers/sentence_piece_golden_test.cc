// SentencePiece models give the same ids, spans and texts as the reference library.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "goldens.h"
#include "weft/models/text/tokenizers/sentence_piece/sentence_piece.h"

namespace weft {
namespace {

using nlohmann::json;
using testing::golden_rows;
using testing::golden_strings;
using testing::GoldenCount;
using Ids = std::vector<std::int32_t>;

struct GoldenModel {
  const char* name;
  const char* file;
};
constexpr GoldenModel kModels[] = {
    {"t5-base", "t5-base/spiece.model"},
    {"sp-unigram-1k", "sp-unigram-1k/test_model.model"},
    {"sp-bpe-1k", "sp-bpe-1k/test_sentencepiece_bpe.model"},
    {"sp-unigram-2k-bytefallback",
     "sp-unigram-2k-bytefallback/test_sentencepiece_with_bytefallback.model"},
    {"mistral-v1", "mistral-v1/tokenizer.model"}};

std::vector<std::pair<std::string, SentencePieceTokenizer>> models() {
  std::vector<std::pair<std::string, SentencePieceTokenizer>> found;
  if (!testing::have_token_goldens()) return found;
  for (const GoldenModel& model : kModels) {
    const auto file = testing::token_file(model.file);
    if (file.empty()) {
      std::cout << "tokenizer " << model.name << " has no file: skipped\n";
      continue;
    }
    found.emplace_back(model.name, SentencePieceTokenizer::from_bytes(testing::golden_bytes(file)));
  }
  return found;
}

/// Returns the concatenated pieces and the sum of their scores. Unknown pieces and bytes add no
/// score.
std::pair<std::string, double> text_and_score(const SentencePieceTokenizer& tokenizer,
                                              const Ids& ids) {
  std::pair<std::string, double> result;
  for (const std::int32_t id : ids) {
    const auto& piece = tokenizer.model().pieces[static_cast<std::size_t>(id)];
    result.first += piece.text;
    if (piece.kind == SentencePieceModel::Kind::normal) result.second += double{piece.score};
  }
  return result;
}

/// Returns true for the golden ids, for a listed alternative, and for a segmentation with the same
/// score.
bool same_ids(const SentencePieceTokenizer& tokenizer, const Ids& ids, const json& row,
              const char* key = "ids") {
  const Ids golden = row.at(key);
  if (ids == golden) return true;
  if (row.contains("alt_ids")) {
    for (const json& other : row.at("alt_ids")) {
      if (other.is_array() && ids == other.get<Ids>()) return true;
    }
  }
  if (tokenizer.model().algorithm != SentencePieceModel::Algorithm::unigram) return false;
  const auto [text, score] = text_and_score(tokenizer, ids);
  const auto [golden_text, golden_score] = text_and_score(tokenizer, golden);
  return text == golden_text && std::abs(score - golden_score) < 1e-3;
}

std::string describe_difference(const SentencePieceTokenizer& tokenizer,
                                const testing::GoldenString& string, const json& row) {
  const Ids ids = tokenizer.encode(string.bytes);
  if (!same_ids(tokenizer, ids, row))
    return "ids " + json(ids).dump() + " instead of " + row.at("ids").dump();
  if (tokenizer.decode(row.at("ids").get<Ids>()) != row.at("dec").get<std::string>()) {
    return "decoded '" + tokenizer.decode(row.at("ids").get<Ids>()) + "' instead of " +
           row.at("dec").dump();
  }
  Ids with_spans;
  json offsets = json::array();
  const auto before = testing::code_points_before(string.bytes);
  for (const SubwordSpan& part : tokenizer.encode_spans(string.bytes)) {
    with_spans.push_back(part.id);
    offsets.push_back({before[part.begin], before[part.end]});
  }
  if (with_spans != ids) return "the ids differ if spans are requested";
  if (ids != row.at("ids").get<Ids>()) return {};  // golden spans are for the golden ids
  if (row.contains("offsets") && offsets != row.at("offsets"))
    return "spans " + offsets.dump() + " instead of " + row.at("offsets").dump();
  if (const json pieces = tokenizer.pieces(string.bytes); pieces != row.at("pieces"))
    return "pieces " + pieces.dump() + " instead of " + row.at("pieces").dump();
  return {};
}

BOOST_AUTO_TEST_CASE(sentence_piece_ids_and_texts_equal_the_reference) {
  for (const auto& [name, tokenizer] : models()) {
    GoldenCount count(name);
    for (const json& row : golden_rows(name + ".jsonl")) {
      const auto& string = golden_strings().at(row.at("id"));
      count.add("string " + row.at("id").dump() + " (" + string.category + ")",
                describe_difference(tokenizer, string, row));
    }
  }
}

BOOST_AUTO_TEST_CASE(sentence_piece_ids_for_many_languages_equal_the_reference) {
  for (const auto& [name, tokenizer] : models()) {
    GoldenCount count("multilingual " + name);
    for (const json& row : golden_rows("multilingual.jsonl")) {
      if (!row.at("ids").contains(name)) continue;
      const Ids ids = tokenizer.encode(row.at("text").get<std::string>());
      count.add(row.at("lang"),
                same_ids(tokenizer, ids, row.at("ids"), name.c_str())
                    ? std::string()
                    : "ids " + json(ids).dump() + " instead of " + row.at("ids").at(name).dump());
    }
  }
}

BOOST_AUTO_TEST_CASE(the_best_unigram_segmentations_equal_the_reference) {
  for (const auto& [name, tokenizer] : models()) {
    GoldenCount count("nbest " + name);
    for (const json& row : golden_rows("nbest-" + name + ".jsonl")) {
      const auto& string = golden_strings().at(row.at("id"));
      const json& golden = row.at("nbest");
      const auto segmentations = tokenizer.best(string.bytes, golden.size());
      std::string wrong;
      if (segmentations.size() != golden.size())
        wrong = std::to_string(segmentations.size()) + " segmentations instead of " + golden.dump();
      for (std::size_t i = 0; wrong.empty() && i < segmentations.size(); ++i) {
        const double score = golden[i].at("score");
        if (std::abs(segmentations[i].score - score) > 1e-3)
          wrong =
              "score " + std::to_string(segmentations[i].score) + " instead of " + golden[i].dump();
        // Segmentations with the same score may be in any order.
        bool found = false;
        for (const json& other : golden) {
          found =
              found || (other.at("ids").get<Ids>() == segmentations[i].ids &&
                        std::abs(other.at("score").get<double>() - segmentations[i].score) < 1e-3);
        }
        const bool last_is_tied =
            std::abs(segmentations.back().score - segmentations[i].score) < 1e-3;
        if (wrong.empty() && !found && !last_is_tied)
          wrong = "ids " + json(segmentations[i].ids).dump() + " are in none of " + golden.dump();
      }
      count.add("string " + row.at("id").dump(), wrong);
    }
  }
}

BOOST_AUTO_TEST_CASE(sentence_piece_models_round_trip) {
  for (const auto& [name, tokenizer] : models()) {
    const auto again = SentencePieceTokenizer::from_bytes(tokenizer.to_bytes());
    BOOST_TEST((again.to_bytes() == tokenizer.to_bytes()));
    for (const auto& [id, string] : golden_strings())
      BOOST_TEST((again.encode(string.bytes) == tokenizer.encode(string.bytes)));
  }
}

}  // namespace
}  // namespace weft
