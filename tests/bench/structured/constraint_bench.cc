// weft_constraint_bench [VOCABULARY]: the time of ConstraintState::allowed_ids() for five schemas
// of increasing size. VOCABULARY is a file in tiktoken's format (a token in base64 and its id in
// each line); the default is a synthetic vocabulary of 150,000 tokens. Each text has a newly
// compiled constraint with empty caches, and consists of random allowed tokens.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <fstream>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "weft/models/generate/structured/constraint.h"

using namespace weft;

namespace {

using Clock = std::chrono::steady_clock;

double milliseconds(Clock::duration time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

std::string decode_base64(const std::string& text) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string result;
  std::uint32_t bits = 0, count = 0;
  for (const char c : text) {
    if (c == '=') break;
    bits = bits << 6 | static_cast<std::uint32_t>(kDigits.find(c));
    count += 6;
    if (count >= 8) result += static_cast<char>(bits >> (count -= 8) & 0xFF);
  }
  return result;
}

std::vector<std::string> read_tokens(const char* path) {
  std::ifstream file(path);
  std::vector<std::string> tokens;
  for (std::string text, id; file >> text >> id;) tokens.push_back(decode_base64(text));
  return tokens;
}

/// Returns all bytes, punctuation that is frequent in JSON, numbers, and words of random syllables
/// with the prefixes and suffixes of byte-level BPE.
std::vector<std::string> synthetic_tokens() {
  std::set<std::string> tokens;
  for (int byte = 0; byte < 256; ++byte) tokens.insert(std::string(1, static_cast<char>(byte)));
  const std::vector<std::string> marks = {"\"", "{", "}",  "[",  "]", ":",
                                          ",",  " ", "\n", "\\", ".", "'"};
  for (const std::string& a : marks) {
    for (const std::string& b : marks) {
      for (const std::string& c : marks) tokens.insert({a + b, a + b + c});
    }
  }
  for (int i = 0; i < 1000; ++i) tokens.insert(std::to_string(i));
  for (int i = 2; i <= 64; i *= 2) tokens.insert({std::string(i, ' '), "\n" + std::string(i, ' ')});
  const std::array<std::string, 24> syllables = {
      "a",   "er",  "in",  "tion", "ment",     "con",          "pre",      "st",
      "ing", "ly",  "un",  "re",   "de",       "ed",           "al",       "or",
      "is",  "the", "and", "it",   "\xC3\xA4", "\xE4\xB8\xAD", "\xD0\xB4", "es"};
  std::mt19937 random(1);
  while (tokens.size() < 150'000) {
    std::string word;
    for (std::uint32_t n = 1 + static_cast<std::uint32_t>(random() % 5); n > 0; --n)
      word += syllables[random() % syllables.size()];
    const std::array<std::string, 12> forms = {word,         " " + word, " " + word,  " " + word,
                                               word + "s",   "_" + word, "\"" + word, word + "\"",
                                               word + "\":", "." + word, word + ",",  "(" + word};
    tokens.insert(forms[random() % forms.size()]);
  }
  return {tokens.begin(), tokens.end()};
}

/// Returns an object schema with `count` properties of all kinds.
std::string properties(int count, int depth) {
  const std::array<std::string, 8> kinds = {
      R"({"type":"string"})",
      R"({"type":"integer","minimum":0,"maximum":1000})",
      R"({"enum":["red","green","blue","yellow"]})",
      R"({"type":["string","null"],"description":"text"})",
      R"({"type":"array","items":{"type":"string"},"maxItems":20})",
      R"({"type":"string","format":"date-time"})",
      R"({"type":"string","pattern":"^[A-Z][a-z]{1,20}-[0-9]+$"})",
      R"({"type":"string","maxLength":200})"};
  std::string names, values;
  for (int i = 0; i < count; ++i) {
    const std::string name = fmt::format("\"property_{}_{}\"", depth, i);
    names += (i == 0 ? "" : ",") + name;
    values += (i == 0 ? "" : ",") + name + ":" +
              (depth > 0 && i % 4 == 3 ? properties(count, depth - 1)
                                       : kinds[static_cast<std::size_t>(i) % kinds.size()]);
  }
  return R"({"type":"object","additionalProperties":false,"required":[)" + names +
         R"(],"properties":{)" + values + "}}";
}

void measure(const char* name, const std::string& schema, const std::vector<std::string>& tokens,
             const std::shared_ptr<const ConstraintVocabulary>& vocabulary) {
  std::vector<std::uint64_t> mask(static_cast<std::size_t>(vocabulary->size() + 63) / 64);
  std::vector<double> times;
  double compile = 0, accept = 0;
  std::mt19937 random(5);
  int texts = 0;
  for (; times.size() < 3000 && texts < 200; ++texts) {
    const Clock::time_point begin = Clock::now();
    ConstraintState state(Constraint::json_schema(schema, vocabulary));
    compile += milliseconds(Clock::now() - begin);
    for (int step = 0; step < 400; ++step) {
      const Clock::time_point before = Clock::now();
      state.allowed_ids(mask);
      times.push_back(milliseconds(Clock::now() - before));
      std::vector<std::int64_t> ids;
      for (std::size_t word = 0; word < mask.size(); ++word) {
        for (std::uint64_t bits = mask[word]; bits != 0; bits &= bits - 1)
          ids.push_back(static_cast<std::int64_t>(word * 64) + std::countr_zero(bits));
      }
      std::int64_t id = ids[random() % ids.size()];
      // Strings end after 8 tokens on average.
      for (const char* wanted : {"\"", "}"}) {
        if (random() % 8 != 0) continue;
        const auto found = std::find_if(ids.begin(), ids.end(), [&](std::int64_t i) {
          return i < static_cast<std::int64_t>(tokens.size()) &&
                 tokens[static_cast<std::size_t>(i)] == wanted;
        });
        if (found != ids.end()) id = *found;
      }
      const Clock::time_point chosen = Clock::now();
      state.accept(id);
      accept += milliseconds(Clock::now() - chosen);
      if (id == static_cast<std::int64_t>(tokens.size())) break;
    }
  }
  std::sort(times.begin(), times.end());
  fmt::print("{:<12} {:>8} {:>6} {:>10.2f} {:>10.3f} {:>10.3f} {:>10.3f} {:>10.4f}\n", name,
             schema.size(), texts, compile / texts, times[times.size() / 2],
             times[times.size() * 99 / 100], times.back(),
             accept / static_cast<double>(times.size()));
}

}  // namespace

int main(int argc, char** argv) try {
  const std::vector<std::string> tokens = argc > 1 ? read_tokens(argv[1]) : synthetic_tokens();
  const Clock::time_point begin = Clock::now();
  const auto size = static_cast<std::int64_t>(tokens.size());
  const auto vocabulary =
      std::make_shared<const ConstraintVocabulary>(tokens, size + 1, std::vector{size});
  fmt::print("{} tokens, {:.0f} ms to build the vocabulary; times in ms\n", size,
             milliseconds(Clock::now() - begin));
  fmt::print("{:<12} {:>8} {:>6} {:>10} {:>10} {:>10} {:>10} {:>10}\n", "schema", "bytes", "texts",
             "compile", "median", "p99", "largest", "accept");
  measure("flat", properties(3, 0), tokens, vocabulary);
  measure(
      "recursive",
      R"({"type":"object","additionalProperties":false,"required":["name","children"],"properties":{
      "name":{"type":"string"},"children":{"type":"array","items":{"$ref":"#"}}}})",
      tokens, vocabulary);
  measure("json_object", R"({"type":"object"})", tokens, vocabulary);
  measure("nested", properties(8, 2), tokens, vocabulary);
  measure("large", properties(32, 1), tokens, vocabulary);
  return 0;
} catch (const std::exception& e) {
  fmt::print(stderr, "error: {}\n", e.what());
  return 1;
}
