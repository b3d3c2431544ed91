// Which tokens may follow a position: computed once per set of states of a rule. Internal.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "weft/models/generate/structured/position.h"
#include "weft/models/generate/structured/token_trie.h"

namespace weft::structured {

/// Computes and caches masks. A token either stays within the call of a rule, and then depends on
/// the states of this call only, or it passes the end of the call, and then the rest of the token
/// depends on the place to which the call returns. A mask is therefore a chain of cached parts:
/// those of the states in a frame, then those of the states to which the frame returns, for the few
/// tokens that pass its end. (XGrammar, Dong et al. 2024, divides tokens in the same way, but
/// checks those that pass the end at every step.) Not thread-safe.
class TokenMasks {
 public:
  /// Both arguments must outlive the object.
  TokenMasks(const Grammar& grammar, const TokenTrie& trie, std::int64_t vocab);

  /// Sets the bits of the ids that may follow `position`. Throws DataError if the grammar is so
  /// ambiguous that this would take more than about 0.1 s.
  void allow(const Position& position, std::span<std::uint64_t> mask);

 private:
  /// A part of a mask: the tokens below some nodes of the trie that a set of states allows.
  struct Part {
    std::vector<std::int32_t> ids;     // the allowed ids, if they are few
    std::vector<std::uint64_t> words;  // or their mask
    std::vector<std::uint32_t> exits;  // the nodes at which the call may end, with tokens below
    std::map<std::vector<std::int32_t>, std::unique_ptr<Part>> next;  // by states after the call
  };
  /// A state of the deterministic automaton that is built while tokens are read.
  struct Known {
    Position position;
    std::array<std::int32_t, 256> next;  // kUnknown, kDead or an index into known_
    std::int32_t after_plain;  // the state after any plain character; kDead if there is none
    std::int32_t plain;        // see plain_characters(); kUnknown until it is needed
    bool is_end, has_items;
  };
  struct KeyHash {
    std::size_t operator()(const std::vector<std::int32_t>& key) const;
  };

  std::unique_ptr<Part> part(std::span<const std::int32_t> states,
                             std::span<const std::uint32_t> nodes);
  void apply(Part& part, const Position& position, std::int32_t frame,
             std::span<std::uint64_t> mask);
  std::int32_t known(Position position);
  std::int32_t after(std::int32_t state, std::uint8_t byte);
  std::int32_t after_or_restart(std::int32_t state, std::uint8_t byte,
                                std::span<std::int32_t> path);
  std::int32_t after_plain(std::int32_t state);
  std::int32_t plain_characters(std::int32_t state);
  void spend(std::int64_t work);

  const Grammar& grammar_;
  const TokenTrie& trie_;
  std::size_t words_;
  std::map<std::vector<std::int32_t>, std::unique_ptr<Part>> parts_;  // by states
  std::size_t bytes_ = 0;                                             // of all parts
  std::vector<Known> known_;
  std::unordered_map<std::vector<std::int32_t>, std::int32_t, KeyHash> known_by_key_;
  std::int64_t work_ = 0;  // of the current call
};

}  // namespace weft::structured
