// Context-free grammars over bytes: rules whose bodies are automata that read bytes and call rules.
//
// A Grammar is what schemas, regular expressions and choices are compiled to. Internal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace weft::structured {

/// Converts the number of a state, a rule or a frame.
inline std::size_t index(std::int32_t i) { return static_cast<std::size_t>(i); }

/// The bytes first .. last lead to the state `to`.
struct ByteEdge {
  std::uint8_t first, last;
  std::int32_t to;
};

/// A text of `rule` leads to the state `to`.
struct CallEdge {
  std::int32_t rule, to;
};

struct GrammarState {
  std::vector<ByteEdge> bytes;
  std::vector<CallEdge> calls;
  std::vector<std::int32_t> empty;  // states that are reached without a byte
  bool is_end = false;              // a text of the rule may end here
};

/// A compiled grammar. In every state that can be reached, some text leads to the end of the rule.
struct Grammar {
  std::vector<GrammarState> states;
  std::vector<std::int32_t> rules;  // the first state of each rule
  std::int32_t root = 0;            // a rule
};

/// Throws ArgumentError that names ConstraintLimits::states.
[[noreturn]] void fail_states(std::int64_t most_states);

/// Builds a grammar. Functions that emit a part take the state before it and return the state after
/// it. They add no edges that lead to the state before it, so that alternatives can share it.
class GrammarBuilder {
 public:
  explicit GrammarBuilder(std::int64_t most_states) : most_states_(most_states) {}

  /// Throws the error of fail_states() if there are too many states.
  std::int32_t add_state();
  std::int64_t most_states() const { return most_states_; }
  /// Adds a rule. Its body, which starts at start(rule), can be emitted later.
  std::int32_t add_rule();
  std::int32_t start(std::int32_t rule) const { return grammar_.rules[index(rule)]; }
  /// Marks the end of a rule.
  void end(std::int32_t state) { at(state).is_end = true; }
  void empty(std::int32_t from, std::int32_t to) { at(from).empty.push_back(to); }
  void bytes(std::int32_t from, std::uint8_t first, std::uint8_t last, std::int32_t to) {
    at(from).bytes.push_back({first, last, to});
  }

  std::int32_t text(std::int32_t from, std::string_view text);
  std::int32_t call(std::int32_t from, std::int32_t rule);
  void call(std::int32_t from, std::int32_t rule, std::int32_t to) {
    at(from).calls.push_back({rule, to});
  }
  /// Emits one of `texts`, which share the states of common beginnings.
  std::int32_t one_of(std::int32_t from, std::vector<std::string_view> texts);

  /// Removes states that can never be completed, and finds the rules that can be empty. Throws
  /// ArgumentError if no text exists, or if a rule calls itself without reading a byte.
  Grammar finish(std::int32_t root) &&;

 private:
  GrammarState& at(std::int32_t state) { return grammar_.states[index(state)]; }
  void one_of(std::int32_t from, std::span<const std::string_view> texts, std::size_t depth,
              std::int32_t to);

  Grammar grammar_;
  std::int64_t most_states_;
};

}  // namespace weft::structured
