#include "weft/models/generate/structured/grammar.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "weft/core/error.h"

namespace weft::structured {
namespace {

/// For each state and rule, whether a text leads from it to an end: a fixed point, computed by
/// following the edges backwards. If `without_bytes` is true, only the empty text counts.
struct Ends {
  std::vector<char> states, rules;
};

Ends find_ends(const Grammar& grammar, bool without_bytes) {
  const std::size_t states = grammar.states.size();
  // For each state, the states with an edge to it; the rule of a call must have an end as well.
  struct Source {
    std::int32_t state;
    std::int32_t rule;  // -1 if the edge is no call
  };
  std::vector<std::vector<Source>> sources(states);
  std::vector<std::vector<CallEdge>> callers(grammar.rules.size());  // {calling state, to}
  std::vector<std::vector<std::int32_t>> started(states);            // the rules that start here
  Ends ends{std::vector<char>(states, 0), std::vector<char>(grammar.rules.size(), 0)};
  std::vector<std::int32_t> work;
  for (std::size_t s = 0; s < states; ++s) {
    const auto id = static_cast<std::int32_t>(s);
    const GrammarState& state = grammar.states[s];
    for (const std::int32_t to : state.empty) sources[index(to)].push_back({id, -1});
    if (!without_bytes) {
      for (const ByteEdge& edge : state.bytes) sources[index(edge.to)].push_back({id, -1});
    }
    for (const CallEdge& edge : state.calls) {
      sources[index(edge.to)].push_back({id, edge.rule});
      callers[index(edge.rule)].push_back({id, edge.to});
    }
    if (state.is_end) {
      ends.states[s] = 1;
      work.push_back(id);
    }
  }
  for (std::size_t r = 0; r < grammar.rules.size(); ++r)
    started[index(grammar.rules[r])].push_back(static_cast<std::int32_t>(r));
  const auto reach = [&](std::int32_t state) {
    if (std::exchange(ends.states[index(state)], 1) == 0) work.push_back(state);
  };
  while (!work.empty()) {
    const std::int32_t state = work.back();
    work.pop_back();
    for (const Source& source : sources[index(state)]) {
      if (source.rule < 0 || ends.rules[index(source.rule)] != 0) reach(source.state);
    }
    for (const std::int32_t rule : started[index(state)]) {
      ends.rules[index(rule)] = 1;
      for (const CallEdge& caller : callers[index(rule)]) {
        if (ends.states[index(caller.to)] != 0) reach(caller.rule);
      }
    }
  }
  return ends;
}

/// Throws if a rule can call itself before it reads a byte: parsing would not terminate.
void check_progress(const Grammar& grammar) {
  enum : char { kNew, kOpen, kDone };
  // Nodes are the states; the edges are those without a byte, and from a call to the called rule.
  std::vector<char> seen(grammar.states.size(), kNew);
  struct Visit {
    std::int32_t state;
    std::size_t next = 0;
  };
  for (std::size_t s = 0; s < grammar.states.size(); ++s) {
    if (seen[s] != kNew) continue;
    std::vector<Visit> path = {{static_cast<std::int32_t>(s)}};
    seen[s] = kOpen;
    while (!path.empty()) {
      const GrammarState& state = grammar.states[index(path.back().state)];
      const std::size_t next = path.back().next++;
      if (next == state.calls.size()) {
        seen[index(path.back().state)] = kDone;
        path.pop_back();
        continue;
      }
      const std::int32_t to = grammar.rules[index(state.calls[next].rule)];
      if (seen[index(to)] == kOpen) {
        throw ArgumentError(
            "a schema refers to itself without an object, an array or a text in between: remove "
            "the $ref, or put it into 'properties' or 'items'");
      }
      if (seen[index(to)] == kNew) {
        seen[index(to)] = kOpen;
        path.push_back({to});
      }
    }
  }
}

/// Adds to every state the bytes, calls and ends of the states that it reaches without a byte, and
/// removes those edges. Loops of empty edges therefore do no harm.
void remove_empty_edges(Grammar& grammar, std::int64_t most_edges) {
  std::vector<GrammarState> result(grammar.states.size());
  std::vector<std::int32_t> work;
  std::vector<std::size_t> seen(grammar.states.size(), 0);
  std::int64_t edges = 0;
  for (std::size_t s = 0; s < grammar.states.size(); ++s) {
    const auto reach = [&](std::int32_t state) {
      if (std::exchange(seen[index(state)], s + 1) != s + 1) work.push_back(state);
    };
    reach(static_cast<std::int32_t>(s));
    while (!work.empty()) {
      const GrammarState& state = grammar.states[index(work.back())];
      work.pop_back();
      result[s].bytes.insert(result[s].bytes.end(), state.bytes.begin(), state.bytes.end());
      result[s].calls.insert(result[s].calls.end(), state.calls.begin(), state.calls.end());
      result[s].is_end = result[s].is_end || state.is_end;
      for (const std::int32_t to : state.empty) reach(to);
    }
    edges += static_cast<std::int64_t>(result[s].bytes.size() + result[s].calls.size());
    if (edges > most_edges) {
      throw ArgumentError(
          fmt::format("the constraint needs more than {} edges of its automata "
                      "(16 x ConstraintLimits::states): simplify it or raise the limit",
                      most_edges));
    }
  }
  grammar.states = std::move(result);
}

}  // namespace

void fail_states(std::int64_t most_states) {
  throw ArgumentError(
      fmt::format("the constraint needs more than {} states (ConstraintLimits::states): use "
                  "smaller counts or fewer alternatives, or raise the limit",
                  most_states));
}

std::int32_t GrammarBuilder::add_state() {
  if (static_cast<std::int64_t>(grammar_.states.size()) >= most_states_) fail_states(most_states_);
  grammar_.states.emplace_back();
  return static_cast<std::int32_t>(grammar_.states.size() - 1);
}

std::int32_t GrammarBuilder::add_rule() {
  grammar_.rules.push_back(add_state());
  return static_cast<std::int32_t>(grammar_.rules.size() - 1);
}

std::int32_t GrammarBuilder::text(std::int32_t from, std::string_view text) {
  for (const char c : text) {
    const std::int32_t to = add_state();
    bytes(from, static_cast<std::uint8_t>(c), static_cast<std::uint8_t>(c), to);
    from = to;
  }
  return from;
}

std::int32_t GrammarBuilder::call(std::int32_t from, std::int32_t rule) {
  const std::int32_t to = add_state();
  call(from, rule, to);
  return to;
}

std::int32_t GrammarBuilder::one_of(std::int32_t from, std::vector<std::string_view> texts) {
  std::sort(texts.begin(), texts.end());
  texts.erase(std::unique(texts.begin(), texts.end()), texts.end());
  const std::int32_t to = add_state();
  one_of(from, texts, 0, to);
  return to;
}

void GrammarBuilder::one_of(std::int32_t from, std::span<const std::string_view> texts,
                            std::size_t depth, std::int32_t to) {
  // The loop, not recursion, follows the bytes that all remaining texts have in common.
  while (!texts.empty()) {
    if (texts.front().size() == depth) {  // sorted: the shortest text comes first
      empty(from, to);
      texts = texts.subspan(1);
      continue;
    }
    const auto byte = static_cast<std::uint8_t>(texts.front()[depth]);
    const auto other = std::find_if(texts.begin(), texts.end(), [&](std::string_view text) {
      return static_cast<std::uint8_t>(text[depth]) != byte;
    });
    const std::int32_t next = add_state();
    bytes(from, byte, byte, next);
    if (other == texts.end()) {
      from = next;
      ++depth;
      continue;
    }
    const auto count = static_cast<std::size_t>(other - texts.begin());
    one_of(next, texts.first(count), depth + 1, to);
    texts = texts.subspan(count);
  }
}

Grammar GrammarBuilder::finish(std::int32_t root) && {
  Grammar grammar = std::move(grammar_);
  grammar.root = root;
  const Ends useful = find_ends(grammar, false);
  if (useful.rules[index(root)] == 0) {
    throw ArgumentError(
        "no text satisfies the constraint: an alternative is empty, or every text of a recursive "
        "schema would be infinite");
  }
  for (GrammarState& state : grammar.states) {
    const auto dead = [&](std::int32_t to) { return useful.states[index(to)] == 0; };
    std::erase_if(state.bytes, [&](const ByteEdge& edge) { return dead(edge.to); });
    std::erase_if(state.empty, dead);
    std::erase_if(state.calls, [&](const CallEdge& edge) { return dead(edge.to); });
  }
  // A call of a rule that can be empty may be skipped. Positions therefore ignore empty texts of a
  // rule that has just been called.
  const Ends nullable = find_ends(grammar, true);
  for (GrammarState& state : grammar.states) {
    for (const CallEdge& edge : state.calls) {
      if (nullable.rules[index(edge.rule)] != 0) state.empty.push_back(edge.to);
    }
  }
  remove_empty_edges(grammar, 16 * most_states_);
  check_progress(grammar);
  return grammar;
}

}  // namespace weft::structured
