// Automata over characters, which can be intersected. Internal.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "weft/models/generate/structured/characters.h"
#include "weft/models/generate/structured/grammar.h"

namespace weft::structured {

/// A nondeterministic automaton that reads characters. It begins in state 0.
class CharacterAutomaton {
 public:
  struct Edge {
    CharacterSet characters;
    std::int32_t to;
  };
  struct State {
    std::vector<Edge> edges;
    std::vector<std::int32_t> empty;  // states that are reached without a character
    bool is_end = false;
  };

  /// The automaton has state 0 only.
  explicit CharacterAutomaton(std::int64_t most_states) : most_states_(most_states), states_(1) {}

  /// Throws the error of fail_states() if there are too many states.
  std::int32_t add_state();
  void empty(std::int32_t from, std::int32_t to) { states_[index(from)].empty.push_back(to); }
  std::int32_t character(std::int32_t from, const CharacterSet& characters);
  void end(std::int32_t state) { states_[index(state)].is_end = true; }

  /// Returns the states with the edges and ends that are reached without a character.
  std::vector<State> without_empty_edges() const;

 private:
  std::int64_t most_states_;
  std::vector<State> states_;
};

/// Emits the texts that all automata accept.
std::int32_t emit_intersection(GrammarBuilder& grammar, std::int32_t from,
                               std::span<const CharacterAutomaton> automata, TextForm form);

}  // namespace weft::structured
