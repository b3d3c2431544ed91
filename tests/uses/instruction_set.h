// Instructions whose answers can be verified, made by a program: sixteen kinds, each said in
// several ways. The last two ways of each are for validation.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "weft/models/chat/conversation.h"
#include "weft/models/data/draws.h"

namespace weft::testing {

/// A kind of instruction: how it is said, with {} for what it is about, and what is right.
struct InstructionKind {
  std::vector<std::string> phrasings;
  /// Draws what it is about, and gives that and the answer.
  std::pair<std::string, std::string> (*make)(Draws& draws);
};
inline constexpr std::size_t kHeldOutPhrasings = 2;

inline std::string random_word(Draws& draws, std::int64_t least = 3, std::int64_t most = 5) {
  std::string word;
  for (std::int64_t n = least + draws.below(most - least + 1); n > 0; --n)
    word += static_cast<char>('a' + draws.below(26));
  return word;
}
inline char random_letter(Draws& draws) { return static_cast<char>('a' + draws.below(26)); }
inline bool is_vowel(char c) { return std::string("aeiou").find(c) != std::string::npos; }

inline const std::vector<InstructionKind>& instruction_kinds() {
  using Made = std::pair<std::string, std::string>;
  static const std::vector<InstructionKind> kinds = {
      {{"Is {} a vowel?", "Say yes if {} is a vowel, else no.", "Vowel or not: {}",
        "Tell me whether {} is a vowel.", "Would you call {} a vowel?"},
       [](Draws& d) {
         const char c = random_letter(d);
         return Made{std::string(1, c), is_vowel(c) ? "yes" : "no"};
       }},
      {{"What is the first letter of {}?", "First letter of {}", "Which letter does {} begin with?",
        "Give the first letter of {}.", "Name the first letter of {}."},
       [](Draws& d) {
         const std::string w = random_word(d);
         return Made{w, w.substr(0, 1)};
       }},
      {{"What is the last letter of {}?", "Last letter of {}", "Which letter does {} end with?",
        "Give the last letter of {}.", "Name the last letter of {}."},
       [](Draws& d) {
         const std::string w = random_word(d);
         return Made{w, w.substr(w.size() - 1)};
       }},
      {{"Reverse {}.", "Write {} backwards.", "Spell {} from its end.", "Turn {} around.",
        "What is {} backwards?"},
       [](Draws& d) {
         const std::string w = random_word(d);
         return Made{w, {w.rbegin(), w.rend()}};
       }},
      {{"How many letters has {}?", "Count the letters of {}.", "Number of letters in {}",
        "Letters in {}, please: how many?", "How long is the word {}?"},
       [](Draws& d) {
         const std::string w = random_word(d, 2, 7);
         return Made{w, std::to_string(w.size())};
       }},
      {{"How many a are in {}?", "Count the a in {}.", "Number of a in {}",
        "How often does {} have an a?", "The letter a in {}: how often?"},
       [](Draws& d) {
         std::string w = random_word(d);
         for (char& c : w) c = d.below(3) == 0 ? 'a' : c;
         return Made{w, std::to_string(std::count(w.begin(), w.end(), 'a'))};
       }},
      {{"What is {}?", "Compute {}.", "Add: {}", "Find the sum {}.", "How much is {}?"},
       [](Draws& d) {
         const std::int64_t a = d.below(20), b = d.below(20);
         return Made{fmt::format("{} + {}", a, b), std::to_string(a + b)};
       }},
      {{"What is the difference {}?", "Subtract: {}", "Take away: {}", "Work out {}.",
        "Give the result of {}."},
       [](Draws& d) {
         const std::int64_t b = d.below(20), a = b + d.below(20);
         return Made{fmt::format("{} - {}", a, b), std::to_string(a - b)};
       }},
      {{"Sort {}.", "Put {} in order.", "Order these numbers: {}",
        "Arrange {} from small to large.", "Sort the numbers {}, please."},
       [](Draws& d) {
         std::vector<std::int64_t> n = {d.below(10), d.below(10), d.below(10)};
         std::string asked = fmt::format("{} {} {}", n[0], n[1], n[2]);
         std::sort(n.begin(), n.end());
         return Made{asked, fmt::format("{} {} {}", n[0], n[1], n[2])};
       }},
      {{"Which is larger: {}?", "Larger of {}", "Give the larger one of {}.", "The greater of {}?",
        "Pick the larger number: {}"},
       [](Draws& d) {
         const std::int64_t a = d.below(100), b = d.below(100);
         return Made{fmt::format("{} or {}", a, b), std::to_string(std::max(a, b))};
       }},
      {{"Write {} in capitals.", "Uppercase {}.", "Make {} large.", "Capitals for {}, please.",
        "Give {} in upper case."},
       [](Draws& d) {
         const std::string w = random_word(d);
         std::string up = w;
         for (char& c : up) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
         return Made{w, up};
       }},
      {{"Say {} times.", "Repeat {} times.", "Write {} times.", "I want {} times.",
        "Please give me {} times."},
       [](Draws& d) {
         const std::string w = random_word(d, 2, 3);
         const std::int64_t n = 2 + d.below(2);
         std::string all = w;
         for (std::int64_t i = 1; i < n; ++i) all += " " + w;
         return Made{fmt::format("{} {}", w, n), all};
       }},
      {{"Which letter follows {}?", "Next letter after {}", "What comes behind {} in the alphabet?",
        "Name the letter after {}.", "After {} comes which letter?"},
       [](Draws& d) {
         const char c = static_cast<char>('a' + d.below(25));
         return Made{std::string(1, c), std::string(1, static_cast<char>(c + 1))};
       }},
      {{"Which letter comes before {}?", "Letter in front of {}", "What precedes {}?",
        "Name the letter before {}.", "Before {} stands which letter?"},
       [](Draws& d) {
         const char c = static_cast<char>('b' + d.below(25));
         return Made{std::string(1, c), std::string(1, static_cast<char>(c - 1))};
       }},
      {{"Remove the e from {}.", "Leave the e out of {}.", "Write {} without e.",
        "Drop each e of {}.", "What is {} without its e?"},
       [](Draws& d) {
         std::string w = random_word(d);
         w[static_cast<std::size_t>(d.below(static_cast<std::int64_t>(w.size())))] = 'e';
         std::string left = w;
         std::erase(left, 'e');
         return Made{w, left.empty() ? "nothing" : left};
       }},
      {{"Is {} even?", "Say yes if {} is even, else no.", "Even or not: {}",
        "Tell me whether {} is even.", "Would you call {} even?"},
       [](Draws& d) {
         const std::int64_t n = d.below(100);
         return Made{std::to_string(n), n % 2 == 0 ? "yes" : "no"};
       }},
  };
  return kinds;
}

/// `count` instructions and their answers, of the first `kinds` kinds (0 = all), a function of the
/// seed. `held_out` says them in ways that the others never have.
inline std::vector<Conversation> make_instructions(std::int64_t count, std::uint64_t seed,
                                                   bool held_out, std::size_t kinds = 0) {
  Draws draws(seed, held_out ? 1 : 0);
  const auto& all = instruction_kinds();
  std::vector<Conversation> made;
  for (std::int64_t i = 0; i < count; ++i) {
    const InstructionKind& kind =
        all[static_cast<std::size_t>(i) % (kinds == 0 ? all.size() : kinds)];
    const std::size_t trained = kind.phrasings.size() - kHeldOutPhrasings;
    const std::size_t first = held_out ? trained : 0, ways = held_out ? kHeldOutPhrasings : trained;
    const std::string& said =
        kind.phrasings[first +
                       static_cast<std::size_t>(draws.below(static_cast<std::int64_t>(ways)))];
    const auto [about, answer] = kind.make(draws);
    made.push_back({{"user", fmt::format(fmt::runtime(said), about)}, {"assistant", answer}});
  }
  return made;
}

/// The same as lines of JSON: of messages, or as Alpaca's.
inline std::string instruction_lines(const std::vector<Conversation>& made, bool alpaca = false) {
  std::string lines;
  for (const Conversation& turns : made) {
    nlohmann::json line;
    if (alpaca) {
      line = {{"instruction", turns[0].content}, {"input", ""}, {"output", turns[1].content}};
    } else {
      line["messages"] = nlohmann::json::array();
      for (const Message& m : turns)
        line["messages"].push_back({{"role", m.role}, {"content", m.content}});
    }
    lines += line.dump() + "\n";
  }
  return lines;
}

}  // namespace weft::testing
