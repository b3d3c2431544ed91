// The bytes of the tokens of a vocabulary, as a trie. Internal.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "weft/models/generate/structured/constraint.h"

namespace weft::structured {

/// A trie in preorder: the nodes below node n are n + 1 .. nodes[n].end - 1, and the tokens at and
/// below n are ids[nodes[n].ids] .. ids[nodes[nodes[n].end].ids - 1]. Node 0 is the root; a last
/// node that follows all others ends the lists.
struct TokenTrie {
  struct Node {
    std::uint32_t end;  // the node that follows this one and those below it
    std::uint32_t ids;  // the first token at this node
    std::uint16_t depth;
    /// The bytes of the longest token below this node, if the node ends a character and all tokens
    /// below it continue with plain characters only; else kNotPlain.
    std::uint16_t plain;
    std::uint8_t byte;
  };
  /// Plain characters are those that JSON strings need not escape, without U+007F and the line
  /// separators U+2028 and U+2029. Most tokens consist of them.
  static constexpr std::uint16_t kNotPlain = 0xFFFF;
  std::vector<Node> nodes;
  std::vector<std::int32_t> ids;
  std::size_t depth = 0;  // bytes of the longest token

  /// `tokens` are the bytes and ids of the tokens. Tokens without bytes are left out, because a
  /// text of them would never end, and so are tokens of more than 10,000 bytes.
  explicit TokenTrie(std::vector<std::pair<std::string, std::int32_t>> tokens);

 private:
  void find_plain_nodes();
};

/// Returns the bytes that each id adds to a text. Special ids have none.
std::vector<std::string> token_bytes(const Tokenizer& tokenizer);

}  // namespace weft::structured

namespace weft {

struct ConstraintVocabulary::Impl {
  std::int64_t size;
  std::vector<std::int64_t> end_ids;
  std::vector<std::string> bytes;  // of each id
  structured::TokenTrie trie;
};

}  // namespace weft
