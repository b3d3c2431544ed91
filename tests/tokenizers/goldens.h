// Golden outputs of reference implementations for many strings, in JSON files with one object per
// line.
#pragma once

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace weft::testing {

/// Returns the folder of golden files next to the source tree.
inline std::filesystem::path shared_token_goldens() {
  return std::filesystem::path(WEFT_SOURCE_DIR) / "../shared/goldens/tokenizers";
}

/// Returns the folder from which golden files are read: the value of WEFT_TOKENIZER_GOLDENS, or the
/// folder next to the source tree.
inline std::filesystem::path token_goldens() {
  const char* named = std::getenv("WEFT_TOKENIZER_GOLDENS");
  return named != nullptr && *named != '\0' ? std::filesystem::path(named) : shared_token_goldens();
}

/// Returns true if there are golden files. Otherwise, prints that the tests are skipped and returns
/// false.
inline bool have_token_goldens() {
  if (std::filesystem::exists(token_goldens() / "strings.jsonl")) return true;
  std::cout << "skipped: no golden files of tokenizers in " << token_goldens().string() << "\n";
  return false;
}

/// Returns the path of a tokenizer file (such as "gpt2/vocab.json") in token_goldens() or
/// shared_token_goldens(), or an empty path if there is no such file.
inline std::filesystem::path token_file(const std::string& name) {
  for (const std::filesystem::path& folder : {token_goldens(), shared_token_goldens()}) {
    if (const auto file = folder / "files" / name; std::filesystem::exists(file)) return file;
  }
  return {};
}

inline std::string golden_bytes(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream bytes;
  bytes << in.rdbuf();
  BOOST_REQUIRE_MESSAGE(in, "cannot read " << file);
  return std::move(bytes).str();
}

/// Returns the rows of a golden file; empty if the file does not exist.
inline std::vector<nlohmann::json> golden_rows(const std::string& name) {
  std::vector<nlohmann::json> rows;
  const std::filesystem::path file = token_goldens() / name;
  if (!std::filesystem::exists(file)) return rows;
  const std::string text = golden_bytes(file);
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    if (end > begin)
      rows.push_back(nlohmann::json::parse(text.begin() + static_cast<std::ptrdiff_t>(begin),
                                           text.begin() + static_cast<std::ptrdiff_t>(end)));
    begin = end + 1;
  }
  return rows;
}

inline std::string from_base64(std::string_view text) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    const std::size_t digit = kDigits.find(c);
    if (digit == std::string_view::npos) continue;  // padding
    bits = bits << 6 | static_cast<std::uint32_t>(digit);
    if ((count += 6) < 8) continue;
    count -= 8;
    bytes += static_cast<char>(bits >> count & 0xFF);
  }
  return bytes;
}

struct GoldenString {
  std::string category;
  std::string text;
  /// The bytes to encode. They differ from `text` if they are not valid UTF-8.
  std::string bytes;
};

/// Returns the strings in strings.jsonl by id.
inline const std::map<std::int64_t, GoldenString>& golden_strings() {
  static const auto kStrings = [] {
    std::map<std::int64_t, GoldenString> strings;
    for (const nlohmann::json& row : golden_rows("strings.jsonl")) {
      const std::string text = row.at("text");
      strings[row.at("id")] = {
          row.at("cat"), text,
          row.contains("b64") ? from_base64(row.at("b64").get<std::string>()) : text};
    }
    return strings;
  }();
  return kStrings;
}

/// Returns, for every byte of `text` and for its end, the number of code points that begin before
/// it.
inline std::vector<std::int64_t> code_points_before(std::string_view text) {
  std::vector<std::int64_t> before = {0};
  for (const char c : text) {
    // Bytes inside a character count together with its first byte.
    const bool begins = (static_cast<unsigned char>(c) & 0xC0) != 0x80;
    before.push_back(before.back() + (begins ? 1 : 0));
  }
  return before;
}

/// Counts rows, reports the first rows that differ, and prints the number of correct rows at the
/// end.
class GoldenCount {
 public:
  explicit GoldenCount(std::string name) : name_(std::move(name)) {}
  GoldenCount(const GoldenCount&) = delete;
  GoldenCount& operator=(const GoldenCount&) = delete;
  ~GoldenCount() {
    if (rows_ > 0)
      std::cout << "tokenizer " << name_ << " ok " << right_ << " of " << rows_ << std::endl;
  }

  /// Adds a row. `what` is empty if the row is correct; otherwise it describes the difference.
  void add(const std::string& row, const std::string& what) {
    ++rows_;
    right_ += what.empty() ? 1 : 0;
    if (what.empty()) return;
    constexpr int kShown = 5;
    if (rows_ - right_ <= kShown) BOOST_ERROR(name_ << ", " << row << ": " << what);
  }
  int rows() const { return rows_; }

 private:
  std::string name_;
  int rows_ = 0, right_ = 0;
};

}  // namespace weft::testing
