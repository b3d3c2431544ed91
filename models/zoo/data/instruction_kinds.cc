#include "weft/models/zoo/data/instruction_kinds.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdint>

#include "weft/core/error.h"

namespace weft::zoo {
namespace {

char random_letter(Rng& rng) { return static_cast<char>('a' + rng.below(26)); }

/// Returns a random word with `least` to `most` letters.
std::string random_word(Rng& rng, std::int64_t least = 3, std::int64_t most = 4) {
  std::string word;
  for (std::int64_t n = least + rng.below(most - least + 1); n > 0; --n) word += random_letter(rng);
  return word;
}

/// Returns a random word without repeated letters, so that "the letter after b" is unambiguous.
std::string word_without_repeated_letters(Rng& rng) {
  std::string word;
  for (std::int64_t n = 3 + rng.below(2); n > 0;) {
    const char letter = random_letter(rng);
    if (word.find(letter) != std::string::npos) continue;
    word += letter;
    --n;
  }
  return word;
}

/// Returns a random index below `size`.
std::size_t random_place(Rng& rng, std::size_t size) {
  return static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(size)));
}

/// Returns a random word in which `letter` is more frequent than usual.
std::string word_with_many(Rng& rng, char letter) {
  std::string word = random_word(rng);
  for (char& c : word) c = rng.below(3) == 0 ? letter : c;
  return word;
}

InstructionCase copied(Rng& rng) {
  const std::string word = random_word(rng);
  return {word, "", word};
}
InstructionCase reversed(Rng& rng) {
  const std::string word = random_word(rng);
  return {word, "", {word.rbegin(), word.rend()}};
}
InstructionCase in_capitals(Rng& rng) {
  const std::string word = random_word(rng);
  std::string large = word;
  for (char& c : large) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return {word, "", large};
}
InstructionCase repeated(Rng& rng) {
  const std::string word = random_word(rng);
  const bool twice = rng.below(2) == 0;
  return {word, twice ? "2" : "3", word + " " + word + (twice ? "" : " " + word)};
}
InstructionCase first_letter(Rng& rng) {
  const std::string word = random_word(rng);
  return {word, "", word.substr(0, 1)};
}
InstructionCase last_letter(Rng& rng) {
  const std::string word = random_word(rng);
  return {word, "", word.substr(word.size() - 1)};
}
InstructionCase length(Rng& rng) {
  const std::string word = random_word(rng, 2, 6);
  return {word, "", std::to_string(word.size())};
}
InstructionCase count(Rng& rng) {
  const char letter = random_letter(rng);
  const std::string word = word_with_many(rng, letter);
  return {word, std::string(1, letter),
          std::to_string(std::count(word.begin(), word.end(), letter))};
}
InstructionCase without(Rng& rng) {
  const std::string word = random_word(rng);
  const char letter = word[random_place(rng, word.size())];
  std::string left = word;
  std::erase(left, letter);
  if (left.empty()) return without(rng);
  return {word, std::string(1, letter), left};
}
InstructionCase sorted_letters(Rng& rng) {
  const std::string word = random_word(rng);
  std::string sorted = word;
  std::sort(sorted.begin(), sorted.end());
  return {word, "", sorted};
}
InstructionCase odd_one(Rng& rng) {
  const std::string usual(1, random_letter(rng)), odd(1, random_letter(rng));
  if (usual == odd) return odd_one(rng);
  std::vector<std::string> letters(static_cast<std::size_t>(3 + rng.below(3)), usual);
  letters[random_place(rng, letters.size())] = odd;
  return {fmt::format("{}", fmt::join(letters, " ")), "", odd};
}
InstructionCase place(Rng& rng) {
  const std::vector<std::string> words = {random_word(rng, 2, 3), random_word(rng, 2, 3),
                                          random_word(rng, 2, 3)};
  const std::size_t at = random_place(rng, words.size());
  return {fmt::format("{}", fmt::join(words, " ")), std::to_string(at + 1), words[at]};
}
InstructionCase letter_after(Rng& rng) {
  const std::string word = word_without_repeated_letters(rng);
  const std::size_t at = random_place(rng, word.size() - 1);
  return {word, word.substr(at, 1), word.substr(at + 1, 1)};
}
InstructionCase larger(Rng& rng) {
  const std::int64_t a = 10 + rng.below(90), b = 10 + rng.below(90);
  if (a == b) return larger(rng);
  return {std::to_string(a), std::to_string(b), std::to_string(std::max(a, b))};
}
InstructionCase sum(Rng& rng) {
  const std::int64_t a = rng.below(21), b = rng.below(21);
  return {std::to_string(a), std::to_string(b), std::to_string(a + b)};
}
InstructionCase parity(Rng& rng) {
  const std::int64_t number = rng.below(1000);
  return {std::to_string(number), "", number % 2 == 0 ? "even" : "odd"};
}

}  // namespace

const std::vector<InstructionKind>& instruction_kinds() {
  static const std::vector<InstructionKind> kinds = {
      {"copy", {"a copy of {0}", "the same as {0}", "{0} as it is"}, copied},
      {"reverse", {"{0} backwards", "the reverse of {0}", "{0} from its end"}, reversed},
      {"capitals", {"{0} in capitals", "{0} in upper case", "the capitals of {0}"}, in_capitals},
      {"repeat", {"{0} {1} times", "{1} times {0}", "{0} repeated {1} times"}, repeated},
      {"first letter",
       {"the first letter of {0}", "the letter that {0} begins with", "the beginning of {0}"},
       first_letter},
      {"last letter",
       {"the last letter of {0}", "the letter that {0} ends with", "the end of {0}"},
       last_letter},
      {"length",
       {"the length of {0}", "the number of letters in {0}", "the letters of {0}, counted"},
       length},
      {"count",
       {"the number of {1} in {0}", "the {1} in {0}, counted", "the times that {0} has {1}"},
       count},
      {"remove", {"{0} without {1}", "{0} with no {1}", "the rest of {0} without {1}"}, without},
      {"sort", {"{0} sorted", "the letters of {0} in order", "{0} from a to z"}, sorted_letters},
      {"odd one out",
       {"the odd one out of {0}", "the different one of {0}",
        "the letter that is different in {0}"},
       odd_one},
      {"place",
       {"word {1} of {0}", "word number {1} in {0}", "the word at place {1} of {0}"},
       place},
      {"letter after",
       {"the letter after {1} in {0}", "the letter following {1} in {0}",
        "the letter behind {1} in {0}"},
       letter_after},
      {"larger",
       {"the larger of {0} and {1}", "the maximum of {0} and {1}", "the greater of {0} and {1}"},
       larger},
      {"add", {"{0} + {1}", "the sum of {0} and {1}", "{0} plus {1}"}, sum},
      {"parity", {"the parity of {0}", "even or odd for {0}", "{0} as even or odd"}, parity},
  };
  return kinds;
}

const InstructionKind& find_instruction_kind(const std::string& name) {
  std::string known;
  for (const InstructionKind& kind : instruction_kinds()) {
    if (kind.name == name) return kind;
    known += (known.empty() ? "" : ", ") + kind.name;
  }
  throw ArgumentError(fmt::format("unknown instruction type '{}'; the types are: {}", name, known));
}

}  // namespace weft::zoo
