// Tokenizers in Hugging Face's format give the same ids, spans and texts as Hugging Face's library.
#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "goldens.h"
#include "weft/core/error.h"
#include "weft/models/text/tokenizers/formats/components.h"
#include "weft/models/text/tokenizers/text_stream.h"
#include "weft/models/text/tokenizers/tokenizer.h"
#include "weft/models/text/tokenizers/tokenizer_folder.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::golden_rows;
using testing::golden_strings;
using testing::GoldenCount;
using Ids = std::vector<std::int32_t>;

/// Returns the tokenizer for a golden file. For "json-wordpiece-4k", it is read from
/// files/json/wordpiece-4k.json; for "gpt2", from the folder files/gpt2.
std::optional<Tokenizer> find_tokenizer(const std::string& name) {
  if (name.starts_with("json-")) {
    const fs::path file = testing::token_file("json/" + name.substr(5) + ".json");
    if (file.empty()) return std::nullopt;
    return Tokenizer(SubwordTokenizer::from_bytes(testing::golden_bytes(file)));
  }
  const fs::path folder = testing::token_file(name);
  if (folder.empty()) return std::nullopt;
  return read_tokenizer_folder(folder.string()).tokenizer;
}

/// Returns the tokenizers for all golden files with outputs of the library, by file name.
const std::map<std::string, Tokenizer>& tokenizers() {
  static const auto found = [] {
    std::map<std::string, Tokenizer> result;
    if (!testing::have_token_goldens()) return result;
    const std::set<std::string> others = {"strings", "multilingual", "pairs", "decode"};
    for (const auto& entry : fs::directory_iterator(testing::token_goldens())) {
      const std::string name = entry.path().stem().string();
      if (entry.path().extension() != ".jsonl" || others.contains(name)) continue;
      const std::vector<json> rows = golden_rows(entry.path().filename().string());
      if (rows.empty() || !rows.front().contains("tokens")) continue;
      if (auto tokenizer = find_tokenizer(name)) {
        result.emplace(name, *std::move(tokenizer));
      } else {
        std::cout << "tokenizer " << name << " has no file: skipped\n";
      }
    }
    return result;
  }();
  return found;
}

json as_json(const std::vector<Span>& spans) {
  json result = json::array();
  for (const Span span : spans) result.push_back({span.begin, span.end});
  return result;
}

std::string difference(const char* what, const json& is, const json& wanted) {
  if (is == wanted) return {};
  return std::string(what) + " " + is.dump() + " instead of " + wanted.dump();
}

/// Returns true for the golden ids and for a listed alternative.
bool right_ids(const Ids& ids, const json& row) {
  if (row.at("ids") == ids) return true;
  if (row.contains("alt_ids"))
    for (const json& other : row["alt_ids"])
      if (other == ids) return true;
  return false;
}

std::string check_row(const Tokenizer& tokenizer, const json& row,
                      const testing::GoldenString& string) {
  const std::string& text = string.text;
  const Encoding plain = tokenizer.encode_text(text, {.add_special = false});
  if (!right_ids(plain.ids, row)) return difference("ids", plain.ids, row["ids"]);
  if (tokenizer.encode(text) != plain.ids) return "the ids differ without spans";
  if (tokenizer.encode(string.bytes) != plain.ids) return "the ids of the invalid bytes differ";
  if (row["ids"] != plain.ids) return {};  // the other fields belong to the golden ids
  if (auto wrong = difference("offsets", as_json(in_code_points(plain, text)), row["offsets"]);
      !wrong.empty())
    return wrong;
  for (std::size_t i = 0; i < plain.size(); ++i) {
    const std::string token = row["tokens"][i];
    if (plain.ids[i] != tokenizer.unk_id() && tokenizer.piece(plain.ids[i]) != token)
      return difference("piece", tokenizer.piece(plain.ids[i]), token);
  }
  const Encoding with_special = tokenizer.encode_text(text);
  if (auto wrong = difference("ids_sp", with_special.ids, row.value("ids_sp", row["ids"]));
      !wrong.empty())
    return wrong;
  const std::string dec = row["dec"];
  if (auto wrong = difference("dec", tokenizer.decode(plain.ids, DecodeOptions{true}), dec);
      !wrong.empty())
    return wrong;
  return difference("dec_skip", tokenizer.decode(with_special.ids, DecodeOptions{}),
                    row.value("dec_skip", dec));
}

BOOST_AUTO_TEST_CASE(ids_spans_and_texts_equal_the_reference) {
  for (const auto& [name, tokenizer] : tokenizers()) {
    GoldenCount count(name);
    for (const json& row : golden_rows(name + ".jsonl"))
      count.add("string " + row["id"].dump(),
                check_row(tokenizer, row, golden_strings().at(row["id"])));
  }
}

BOOST_AUTO_TEST_CASE(tokenizers_round_trip_with_the_same_ids) {
  for (const auto& [name, tokenizer] : tokenizers()) {
    BOOST_TEST_CONTEXT(name) {
      const Tokenizer again = Tokenizer::from_bytes(tokenizer.type(), tokenizer.bytes());
      BOOST_TEST(again.bytes() == tokenizer.bytes());
      BOOST_TEST((again.special() == tokenizer.special()));
      BOOST_TEST(again.vocab_size() == tokenizer.vocab_size());
      for (const auto& [id, string] : golden_strings())
        BOOST_TEST((again.encode_text(string.text) == tokenizer.encode_text(string.text)));
      for (std::int32_t id = 0; id < tokenizer.vocab_size(); ++id)
        if (!tokenizer.piece(id).empty()) BOOST_TEST(again.find(tokenizer.piece(id)) == id);
    }
  }
}

BOOST_AUTO_TEST_CASE(ids_for_many_languages_equal_the_reference) {
  for (const auto& [name, tokenizer] : tokenizers()) {
    GoldenCount count("multilingual " + name);
    for (const json& row : golden_rows("multilingual.jsonl")) {
      if (!row["ids"].contains(name)) continue;
      const std::string text = row["text"];
      count.add(row["lang"], difference("ids", tokenizer.encode(text), row["ids"][name]));
    }
  }
}

BOOST_AUTO_TEST_CASE(decoded_texts_for_any_ids_equal_the_reference) {
  for (const auto& [name, tokenizer] : tokenizers()) {
    GoldenCount count("decode " + name);
    for (const json& row : golden_rows("decode.jsonl")) {
      if (row["tok"] != name) continue;
      const Ids ids = row["ids"];
      std::string wrong = difference("dec", tokenizer.decode(ids, DecodeOptions{true}), row["dec"]);
      if (wrong.empty())
        wrong = difference("dec_skip", tokenizer.decode(ids, DecodeOptions{}), row["dec_skip"]);
      // Decoding the ids one at a time must give the same text.
      TextStream stream(tokenizer);
      std::string streamed;
      for (const std::int32_t id : ids) streamed += stream.add(id);
      streamed += stream.finish();
      if (wrong.empty()) wrong = difference("stream", streamed, tokenizer.decode(ids));
      count.add(row["ids"].dump(), wrong);
    }
  }
}

EncodeOptions options_of(const json& row) {
  EncodeOptions options;
  if (row.contains("truncation") && !row["truncation"].is_null()) {
    const json& given = row["truncation"];
    options.truncation =
        Truncation{.direction = parse_choice<TextEnd>(std::string(given["direction"])),
                   .max_length = given["maxLength"],
                   .strategy = parse_choice<TruncationStrategy>(std::string(given["strategy"])),
                   .stride = given["stride"]};
  }
  if (row.contains("padding") && !row["padding"].is_null()) {
    const json& given = row["padding"];
    options.padding = Padding{.length = given["maxLength"].get<std::uint64_t>(),
                              .direction = parse_choice<TextEnd>(std::string(given["direction"])),
                              .pad_id = given["padId"],
                              .pad_type_id = given["padTypeId"],
                              .pad_token = given["padToken"]};
  }
  return options;
}

std::string check_pair(const Tokenizer& tokenizer, const json& row) {
  const std::string first = row["a"];
  const std::optional<std::string> second =
      row["b"].is_null() ? std::nullopt : std::optional<std::string>(row["b"]);
  Encoding is;
  try {
    is = tokenizer.encode_pair({first, second}, options_of(row));
  } catch (const ArgumentError& e) {
    return row.contains("error") ? "" : std::string("unexpected error: ") + e.what();
  }
  if (row.contains("error")) return "an error is missing";
  json sequences = json::array(), overflow = json::array();
  for (const std::int32_t sequence : is.sequences)
    sequences.push_back(sequence < 0 ? json() : json(sequence));
  for (const Encoding& window : is.overflowing) overflow.push_back(window.ids);
  for (const auto& [what, value] : std::vector<std::pair<const char*, json>>{
           {"ids", is.ids},
           {"type_ids", is.type_ids},
           {"attention_mask", is.attention},
           {"special_tokens_mask", is.special},
           {"offsets", as_json(in_code_points(is, first, second.value_or("")))},
           {"sequence_ids", sequences},
           {"overflow", overflow}}) {
    if (auto wrong = difference(what, value, row[what]); !wrong.empty()) return wrong;
  }
  return {};
}

BOOST_AUTO_TEST_CASE(truncation_and_padding_of_pairs_equal_the_reference) {
  for (const auto& [name, tokenizer] : tokenizers()) {
    GoldenCount count("pairs " + name);
    for (const json& row : golden_rows("pairs.jsonl"))
      if (row["tok"] == name) count.add(row.dump().substr(0, 300), check_pair(tokenizer, row));
  }
}

SplitText& begin_parts(SplitText& parts, const std::string& text) {
  parts.text.assign(text);
  parts.parts.assign(1, {0, parts.text.size(), -1});
  return parts;
}

BOOST_AUTO_TEST_CASE(normalised_texts_equal_the_reference) {
  const std::map<std::string, std::string> kinds = {
      {"nfc", R"({"type": "NFC"})"},
      {"nfd", R"({"type": "NFD"})"},
      {"nfkc", R"({"type": "NFKC"})"},
      {"nfkd", R"({"type": "NFKD"})"},
      {"lowercase", R"({"type": "Lowercase"})"},
      {"strip", R"({"type": "Strip", "strip_left": true, "strip_right": true})"},
      {"nmt", R"({"type": "Nmt"})"},
      {"nfd+strip_accents",
       R"({"type": "Sequence", "normalizers": [{"type": "NFD"}, {"type": "StripAccents"}]})"},
      {"bert_uncased", R"({"type": "BertNormalizer", "clean_text": true, "lowercase": true,
                           "handle_chinese_chars": true, "strip_accents": null})"},
      {"bert_cased", R"({"type": "BertNormalizer", "clean_text": true, "lowercase": false,
                         "handle_chinese_chars": true, "strip_accents": null})"}};
  for (const auto& [name, description] : kinds) {
    NormalizerPtr normaliser;
    JsonForm<NormalizerPtr>::read(json::parse(description), name, normaliser);
    GoldenCount count("normalizer " + name);
    for (const json& row : golden_rows("normalizers.jsonl")) {
      const std::string& text = golden_strings().at(row["id"]).text;
      SplitText parts;
      normaliser->normalise(begin_parts(parts, text));
      std::string is;
      for (const TextPart& part : parts.parts) is += parts.view(part);
      count.add("string " + row["id"].dump(), difference("text", is, row.value(name, text)));
    }
  }
}

BOOST_AUTO_TEST_CASE(pre_tokenizer_splits_equal_the_reference) {
  const std::map<std::string, std::string> kinds = {
      {"byte_level", R"({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true})"},
      {"whitespace", R"({"type": "Whitespace"})"},
      {"whitespace_split", R"({"type": "WhitespaceSplit"})"},
      {"bert", R"({"type": "BertPreTokenizer"})"},
      {"punctuation", R"({"type": "Punctuation"})"},
      {"digits", R"({"type": "Digits", "individual_digits": false})"},
      {"metaspace", R"({"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always"})"}};
  for (const auto& [name, description] : kinds) {
    PreTokenizerPtr pre_tokenizer;
    JsonForm<PreTokenizerPtr>::read(json::parse(description), name, pre_tokenizer);
    GoldenCount count("pre-tokenizer " + name);
    for (const json& row : golden_rows("pretokenizers.jsonl")) {
      SplitText parts;
      const std::string& text = golden_strings().at(row["id"]).text;
      pre_tokenizer->split(begin_parts(parts, text));
      json is = json::array();
      for (const TextPart& part : parts.parts) is.push_back(std::string(parts.view(part)));
      count.add("string " + row["id"].dump(), difference("parts", is, row[name]));
    }
  }
}

}  // namespace
}  // namespace weft
