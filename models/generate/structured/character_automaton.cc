#include "weft/models/generate/structured/character_automaton.h"

#include <algorithm>
#include <map>
#include <utility>

namespace weft::structured {

std::int32_t CharacterAutomaton::add_state() {
  if (static_cast<std::int64_t>(states_.size()) >= most_states_) fail_states(most_states_);
  states_.emplace_back();
  return static_cast<std::int32_t>(states_.size() - 1);
}

std::int32_t CharacterAutomaton::character(std::int32_t from, const CharacterSet& characters) {
  const std::int32_t to = add_state();
  states_[index(from)].edges.push_back({characters, to});
  return to;
}

std::vector<CharacterAutomaton::State> CharacterAutomaton::without_empty_edges() const {
  std::vector<State> result(states_.size());
  std::vector<std::size_t> seen(states_.size(), 0);
  std::vector<std::int32_t> work;
  std::int64_t edges = 0;
  for (std::size_t s = 0; s < states_.size(); ++s) {
    const auto reach = [&](std::int32_t state) {
      if (std::exchange(seen[index(state)], s + 1) != s + 1) work.push_back(state);
    };
    reach(static_cast<std::int32_t>(s));
    while (!work.empty()) {
      const State& state = states_[index(work.back())];
      work.pop_back();
      result[s].edges.insert(result[s].edges.end(), state.edges.begin(), state.edges.end());
      result[s].is_end = result[s].is_end || state.is_end;
      for (const std::int32_t to : state.empty) reach(to);
    }
    edges += static_cast<std::int64_t>(result[s].edges.size());
    if (edges > 16 * most_states_) fail_states(most_states_);
  }
  return result;
}

std::int32_t emit_intersection(GrammarBuilder& grammar, std::int32_t from,
                               std::span<const CharacterAutomaton> automata, TextForm form) {
  std::vector<std::vector<CharacterAutomaton::State>> states;
  for (const CharacterAutomaton& automaton : automata)
    states.push_back(automaton.without_empty_edges());
  // One state for each combination of states that is reached.
  std::map<std::vector<std::int32_t>, std::int32_t> known;
  std::vector<std::vector<std::int32_t>> work;
  const auto reach = [&](const std::vector<std::int32_t>& combination) {
    const auto [found, is_new] = known.try_emplace(combination, -1);
    if (is_new) {
      found->second = grammar.add_state();
      work.push_back(combination);
    }
    return found->second;
  };
  const std::int32_t to = grammar.add_state();
  grammar.empty(from, reach(std::vector<std::int32_t>(automata.size(), 0)));
  std::int64_t combined = 0;  // edges
  while (!work.empty()) {
    const std::vector<std::int32_t> combination = std::move(work.back());
    work.pop_back();
    // The characters by the states after them, for the automata so far.
    std::map<std::vector<std::int32_t>, CharacterSet> edges = {{{}, CharacterSet::all()}};
    bool is_end = true;
    for (std::size_t a = 0; a < states.size(); ++a) {
      const CharacterAutomaton::State& state = states[a][index(combination[a])];
      is_end = is_end && state.is_end;
      std::map<std::vector<std::int32_t>, CharacterSet> next;
      for (const auto& [before, characters] : edges) {
        for (const CharacterAutomaton::Edge& edge : state.edges) {
          if (++combined > 64 * grammar.most_states()) fail_states(grammar.most_states());
          const CharacterSet both = characters.intersection(edge.characters);
          if (both.ranges().empty()) continue;
          std::vector<std::int32_t> target = before;
          target.push_back(edge.to);
          next[std::move(target)].add(both);
        }
      }
      edges = std::move(next);
    }
    const std::int32_t state = known.at(combination);
    if (is_end) grammar.empty(state, to);
    for (const auto& [target, characters] : edges)
      grammar.empty(emit_character(grammar, state, characters, form), reach(target));
  }
  return to;
}

}  // namespace weft::structured
