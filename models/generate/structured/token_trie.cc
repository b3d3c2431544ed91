#include "weft/models/generate/structured/token_trie.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "weft/core/error.h"
#include "weft/models/text/tokenizers/subwords/byte_pieces.h"
#include "weft/models/text/unicode/repair.h"

namespace weft::structured {

TokenTrie::TokenTrie(std::vector<std::pair<std::string, std::int32_t>> tokens) {
  std::erase_if(
      tokens, [](const auto& token) { return token.first.empty() || token.first.size() > 10'000; });
  std::sort(tokens.begin(), tokens.end());
  std::vector<std::size_t> path = {0};  // the nodes of the last token; each has no end yet
  nodes.push_back({0, 0, 0, kNotPlain, 0});
  const auto close = [&](std::size_t length) {
    for (; path.size() > length; path.pop_back())
      nodes[path.back()].end = static_cast<std::uint32_t>(nodes.size());
  };
  std::string_view last;
  for (const auto& [bytes, id] : tokens) {
    const auto common = static_cast<std::size_t>(
        std::mismatch(last.begin(), last.end(), bytes.begin(), bytes.end()).first - last.begin());
    close(common + 1);
    for (std::size_t i = common; i < bytes.size(); ++i) {
      path.push_back(nodes.size());
      nodes.push_back({0, static_cast<std::uint32_t>(ids.size()), static_cast<std::uint16_t>(i + 1),
                       kNotPlain, static_cast<std::uint8_t>(bytes[i])});
    }
    ids.push_back(id);
    depth = std::max(depth, bytes.size());
    last = bytes;
  }
  close(0);
  nodes.push_back({static_cast<std::uint32_t>(nodes.size() + 1),
                   static_cast<std::uint32_t>(ids.size()), 0, kNotPlain, 0});
  find_plain_nodes();
}

void TokenTrie::find_plain_nodes() {
  enum : char { kOther, kInside, kPlain };  // kInside: within a character of several bytes
  std::vector<char> kinds(nodes.size(), kOther);
  std::vector<std::string> started(depth + 1);  // the bytes of the character at each depth
  std::vector<std::uint32_t> path(depth + 1, 0), parents(nodes.size(), 0);
  for (std::uint32_t n = 1; n + 1 < nodes.size(); ++n) {
    const Node& node = nodes[n];
    path[node.depth] = n;
    parents[n] = path[node.depth - 1u];
    std::string& character = started[node.depth];
    character = started[node.depth - 1u] + static_cast<char>(node.byte);
    if (find_invalid_utf8(character) < character.size()) {
      if (node.byte >= 0x80 && character.size() < 4) kinds[n] = kInside;
      continue;
    }
    const bool is_escaped = character < " " || character == "\"" || character == "\\";
    const bool is_rare = character == "\x7F" || character == "\u2028" || character == "\u2029";
    if (!is_escaped && !is_rare) kinds[n] = kPlain;
    character.clear();
  }
  // From the leaves up: the longest token below each node, and whether all of them are plain.
  std::vector<std::uint16_t> longest(nodes.size(), 0);
  std::vector<char> are_plain(nodes.size(), 1);
  for (std::size_t n = nodes.size() - 2; n > 0; --n) {
    Node& node = nodes[n];
    if (kinds[n] == kPlain && are_plain[n] != 0) node.plain = longest[n];
    const bool ends_token = nodes[n + 1].ids != node.ids;
    if (are_plain[n] == 0 || kinds[n] == kOther || (kinds[n] == kInside && ends_token))
      are_plain[parents[n]] = 0;
    const auto length = static_cast<std::uint16_t>(longest[n] + 1);
    longest[parents[n]] = std::max(longest[parents[n]], length);
  }
}

std::vector<std::string> token_bytes(const Tokenizer& tokenizer) {
  const auto count = static_cast<std::int32_t>(tokenizer.vocab_size());
  // Tokenizers may drop a space at the beginning of a text, so that the bytes of a token are those
  // that it adds to another token.
  std::int32_t before = -1;
  std::string start;
  for (std::int32_t id = 0; id < count && before < 0; ++id) {
    if (tokenizer.is_special(id)) continue;
    start = tokenizer.decode(std::span<const std::int32_t>(&id, 1));
    if (start.size() == 1 && (start[0] | 0x20) >= 'a' && (start[0] | 0x20) <= 'z') before = id;
  }
  std::vector<std::string> result(static_cast<std::size_t>(count));
  for (std::int32_t id = 0; id < count; ++id) {
    if (tokenizer.is_special(id)) continue;
    std::string& bytes = result[static_cast<std::size_t>(id)];
    if (before < 0) {
      bytes = tokenizer.decode(std::span<const std::int32_t>(&id, 1));
      continue;
    }
    const std::int32_t both[] = {before, id};
    const std::string text = tokenizer.decode(std::span<const std::int32_t>(both));
    // Some decoders replace a single byte of a character, others clean up both tokens.
    if (const auto byte = byte_of_piece(tokenizer.piece(id));
        byte && text != start + tokenizer.piece(id)) {
      bytes.assign(1, static_cast<char>(*byte));
    } else if (text.starts_with(start)) {
      bytes = text.substr(start.size());
    } else {
      bytes = tokenizer.decode(std::span<const std::int32_t>(&id, 1));
    }
  }
  return result;
}

}  // namespace weft::structured

namespace weft {

ConstraintVocabulary::ConstraintVocabulary(const Tokenizer& tokenizer, std::int64_t vocab,
                                           std::vector<std::int64_t> end_ids)
    : ConstraintVocabulary(structured::token_bytes(tokenizer), vocab, std::move(end_ids)) {}

ConstraintVocabulary::ConstraintVocabulary(std::vector<std::string> bytes, std::int64_t vocab,
                                           std::vector<std::int64_t> end_ids) {
  for (const std::int64_t id : end_ids) {
    if (id < 0 || id >= vocab) {
      throw ArgumentError(
          fmt::format("end id {} of a constraint is outside the model's {} ids", id, vocab));
    }
  }
  bytes.resize(static_cast<std::size_t>(vocab));
  for (const std::int64_t id : end_ids) bytes[static_cast<std::size_t>(id)].clear();
  std::vector<std::pair<std::string, std::int32_t>> tokens;
  for (std::size_t id = 0; id < bytes.size(); ++id)
    tokens.emplace_back(bytes[id], static_cast<std::int32_t>(id));
  impl_ = std::make_unique<const Impl>(
      Impl{vocab, std::move(end_ids), std::move(bytes), structured::TokenTrie(std::move(tokens))});
}

ConstraintVocabulary::~ConstraintVocabulary() = default;

std::int64_t ConstraintVocabulary::size() const { return impl_->size; }

}  // namespace weft
