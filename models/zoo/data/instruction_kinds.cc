#include "weft/models/zoo/data/instruction_kinds.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdint>

#include "weft/core/error.h"

namespace weft::zoo {
namespace {

char random_letter(Draws& draws) { return static_cast<char>('a' + draws.below(26)); }

std::string random_word(Draws& draws, std::int64_t least = 3, std::int64_t most = 5) {
  std::string word;
  for (std::int64_t n = least + draws.below(most - least + 1); n > 0; --n)
    word += random_letter(draws);
  return word;
}

/// No letter twice: "the letter after b" is one letter.
std::string word_of_different_letters(Draws& draws) {
  std::string word;
  for (std::int64_t n = 4 + draws.below(2); n > 0;) {
    const char letter = random_letter(draws);
    if (word.find(letter) != std::string::npos) continue;
    word += letter;
    --n;
  }
  return word;
}

std::size_t random_place(Draws& draws, std::size_t size) {
  return static_cast<std::size_t>(draws.below(static_cast<std::int64_t>(size)));
}

/// The word with one of its letters in more places than chance would have it.
std::string word_with_many(Draws& draws, char letter) {
  std::string word = random_word(draws, 4, 5);
  for (char& c : word) c = draws.below(3) == 0 ? letter : c;
  return word;
}

InstructionCase copied(Draws& draws) {
  const std::string word = random_word(draws);
  return {word, "", word};
}
InstructionCase reversed(Draws& draws) {
  const std::string word = random_word(draws);
  return {word, "", {word.rbegin(), word.rend()}};
}
InstructionCase in_capitals(Draws& draws) {
  const std::string word = random_word(draws);
  std::string large = word;
  for (char& c : large) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return {word, "", large};
}
InstructionCase repeated(Draws& draws) {
  const std::string word = random_word(draws, 3, 4);
  const bool twice = draws.below(2) == 0;
  return {word, twice ? "2" : "3", word + " " + word + (twice ? "" : " " + word)};
}
InstructionCase first_letter(Draws& draws) {
  const std::string word = random_word(draws);
  return {word, "", word.substr(0, 1)};
}
InstructionCase last_letter(Draws& draws) {
  const std::string word = random_word(draws);
  return {word, "", word.substr(word.size() - 1)};
}
InstructionCase length(Draws& draws) {
  const std::string word = random_word(draws, 2, 7);
  return {word, "", std::to_string(word.size())};
}
InstructionCase count(Draws& draws) {
  const char letter = random_letter(draws);
  const std::string word = word_with_many(draws, letter);
  return {word, std::string(1, letter),
          std::to_string(std::count(word.begin(), word.end(), letter))};
}
InstructionCase without(Draws& draws) {
  const std::string word = random_word(draws, 4, 5);
  const char letter = word[random_place(draws, word.size())];
  std::string left = word;
  std::erase(left, letter);
  if (left.empty()) return without(draws);
  return {word, std::string(1, letter), left};
}
InstructionCase sorted_letters(Draws& draws) {
  const std::string word = random_word(draws, 3, 4);
  std::string sorted = word;
  std::sort(sorted.begin(), sorted.end());
  return {word, "", sorted};
}
InstructionCase odd_one(Draws& draws) {
  const std::string usual(1, random_letter(draws)), odd(1, random_letter(draws));
  if (usual == odd) return odd_one(draws);
  std::vector<std::string> letters(static_cast<std::size_t>(3 + draws.below(3)), usual);
  letters[random_place(draws, letters.size())] = odd;
  return {fmt::format("{}", fmt::join(letters, " ")), "", odd};
}
InstructionCase place(Draws& draws) {
  const std::vector<std::string> words = {random_word(draws, 3, 3), random_word(draws, 3, 3),
                                          random_word(draws, 3, 3)};
  const std::size_t at = random_place(draws, words.size());
  return {fmt::format("{}", fmt::join(words, " ")), std::to_string(at + 1), words[at]};
}
InstructionCase letter_after(Draws& draws) {
  const std::string word = word_of_different_letters(draws);
  const std::size_t at = random_place(draws, word.size() - 1);
  return {word, word.substr(at, 1), word.substr(at + 1, 1)};
}
InstructionCase larger(Draws& draws) {
  const std::int64_t a = 10 + draws.below(90), b = 10 + draws.below(90);
  if (a == b) return larger(draws);
  return {std::to_string(a), std::to_string(b), std::to_string(std::max(a, b))};
}
InstructionCase sum(Draws& draws) {
  const std::int64_t a = draws.below(21), b = draws.below(21);
  return {std::to_string(a), std::to_string(b), std::to_string(a + b)};
}
InstructionCase even(Draws& draws) {
  const std::int64_t number = draws.below(1000);
  return {std::to_string(number), "", number % 2 == 0 ? "yes" : "no"};
}

}  // namespace

const std::vector<InstructionKind>& instruction_kinds() {
  // Phrasings that are held out have words of the others in new sentences.
  static const std::vector<InstructionKind> kinds = {
      {"copy",
       {"Say {0}.", "Say {0} once.", "Write {0} as it is.", "Copy {0}.",
        "Please copy the word {0}.", "Write down {0}.", "Give {0} back as it is.",
        "Copy this word: {0}", "Please say {0}.", "Write the word {0}.",
        "Please write {0} as it is.", "Say this word: {0}"},
       {"{0} as it is: {2}", "A copy of {0} is {2}."},
       copied},
      {"reverse",
       {"Reverse {0}.", "Write {0} backwards.", "Spell {0} from its end.", "What is {0} backwards?",
        "Say {0} in reverse.", "Please reverse the word {0}.", "Give {0} from end to beginning.",
        "Backwards, please: {0}", "Spell {0} backwards.", "Please write {0} in reverse.",
        "Say the word {0} backwards.", "What is the reverse of {0}?"},
       {"{0} backwards is {2}.", "From its end, {0} reads {2}."},
       reversed},
      {"capitals",
       {"Write {0} in capitals.", "Uppercase {0}.", "What is {0} in capital letters?",
        "Say {0} in upper case.", "Make {0} all capitals.", "Please put {0} in capital letters.",
        "Give {0} in capitals.", "In upper case, please: {0}", "Write {0} in upper case.",
        "Please uppercase {0}.", "What is the word {0} in upper case?",
        "Spell {0} in capital letters."},
       {"{0} in capitals is {2}.", "In upper case, {0} reads {2}."},
       in_capitals},
      {"repeat",
       {"Say {0} {1} times.", "Repeat {0} {1} times.", "Write {0} {1} times.",
        "I want {0} {1} times.", "Please say {1} times {0}.", "Give me the word {0} {1} times.",
        "{1} times, please: {0}", "Repeat this word {1} times: {0}", "Please repeat {0} {1} times.",
        "Write {1} times {0}.", "I want the word {0} {1} times.", "Please write {0} {1} times."},
       {"{1} times {0} is {2}.", "Repeated {1} times, {0} reads {2}."},
       repeated},
      {"first letter",
       {"What is the first letter of {0}?", "First letter of {0}",
        "Which letter does {0} begin with?", "Give the first letter of {0}.",
        "With which letter does {0} begin?", "Name the letter at the beginning of {0}.",
        "Please say how {0} begins.", "The word {0} begins with which letter?",
        "Tell me the first letter of {0}.", "What letter does the word {0} begin with?",
        "Name the first letter of {0}.", "Which letter is at the beginning of {0}?"},
       {"The first letter of {0} is {2}.", "The word {0} begins with {2}."},
       first_letter},
      {"last letter",
       {"What is the last letter of {0}?", "Last letter of {0}", "Which letter does {0} end with?",
        "Give the last letter of {0}.", "With which letter does {0} end?",
        "Name the letter at the end of {0}.", "Please say how {0} ends.",
        "The word {0} ends with which letter?", "Tell me the last letter of {0}.",
        "What letter does the word {0} end with?", "Name the last letter of {0}.",
        "Which letter is at the end of {0}?"},
       {"The last letter of {0} is {2}.", "The word {0} ends with {2}."},
       last_letter},
      {"length",
       {"How many letters has {0}?", "Count the letters of {0}.", "Number of letters in {0}",
        "How long is the word {0}?", "How many letters are in {0}?", "Give the length of {0}.",
        "Please count the letters in the word {0}.", "Say how many letters {0} has.",
        "Tell me how many letters are in {0}.", "What is the length of {0}?",
        "How many letters has the word {0}?", "Give the number of letters of {0}."},
       {"{0} has {2} letters.", "The length of {0} is {2}."},
       length},
      {"count",
       {"How many {1} are in {0}?", "Count the {1} in {0}.", "Number of {1} in {0}",
        "How often does {0} have the letter {1}?", "How often is {1} in {0}?",
        "How many times is the letter {1} in {0}?", "Please count the letter {1} in {0}.",
        "Say how often {0} has {1}.", "Tell me how often {1} is in {0}.",
        "How many times does {0} have {1}?", "How often is the letter {1} in {0}?",
        "Say how many {1} are in {0}."},
       {"In {0} the number of {1} is {2}.", "How often {0} has {1}: {2}"},
       count},
      {"remove",
       {"Remove {1} from {0}.", "Leave {1} out of {0}.", "Write {0} without {1}.",
        "Drop each {1} of {0}.", "What is {0} without {1}?", "Take every {1} out of {0}.",
        "Please remove the letter {1} from {0}.", "Without {1}, what is left of {0}?",
        "Say {0} without {1}.", "Remove each {1} from {0}.",
        "Write the word {0} without the letter {1}.", "Please leave {1} out of {0}."},
       {"{0} without {1} is {2}.", "Without {1}, of {0} is left {2}."},
       without},
      {"sort",
       {"Sort the letters of {0}.", "Put the letters of {0} in order.", "Order the letters of {0}.",
        "Arrange {0} from a to z.", "What are the letters of {0} in order?",
        "Write {0} with its letters sorted.", "Please sort {0}.",
        "Letters of {0} from a to z, please.", "Please put {0} in order from a to z.",
        "Write the letters of {0} sorted.", "Sort {0} from a to z.",
        "Please order the letters of {0}."},
       {"The letters of {0} in order are {2}.", "Sorted from a to z, {0} reads {2}."},
       sorted_letters},
      {"odd one out",
       {"Which is the odd one out: {0}?", "Find the odd one out in {0}.",
        "Which of {0} is not like the others?", "One of {0} is different: which?",
        "Name the letter that is different: {0}", "Which letter does not belong in {0}?",
        "Please find the different letter in {0}.", "Which letter is not like the others: {0}?",
        "Name the odd one out of {0}.", "Find the letter that is not like the others in {0}.",
        "Which one is different: {0}?", "Please name the odd one out: {0}"},
       {"Of {0} the odd one out is {2}.", "In {0} the letter that is different is {2}."},
       odd_one},
      {"place",
       {"Which word is number {1} in {0}?", "Word {1} of {0}", "Give word number {1} of {0}.",
        "What is word {1} in {0}?", "Name number {1} of these: {0}", "Take word {1} from {0}.",
        "Please say which word is at place {1}: {0}", "At place {1} of {0} is which word?",
        "Give the word at place {1} of {0}.", "Which is word {1} of {0}?",
        "Name word number {1} in {0}.", "What is the word at place {1} of {0}?"},
       {"Word number {1} of {0} is {2}.", "In {0} the word at place {1} is {2}."},
       place},
      {"letter after",
       {"Which letter follows {1} in {0}?", "What comes after {1} in {0}?",
        "Name the letter behind {1} in {0}.", "Letter after {1} in {0}",
        "In {0}, which letter comes after {1}?", "Give the letter that follows {1} in {0}.",
        "Please say what follows {1} in {0}.", "Which letter is behind {1} in {0}?",
        "Tell me which letter comes after {1} in {0}.", "What follows {1} in {0}?",
        "Name the letter after {1} in {0}.", "Which letter comes behind {1} in {0}?"},
       {"In {0} the letter after {1} is {2}.", "In {0}, {1} is followed by {2}."},
       letter_after},
      {"larger",
       {"Which is larger: {0} or {1}?", "Larger of {0} and {1}",
        "Give the larger one of {0} and {1}.", "Pick the larger number: {0} or {1}",
        "What is the maximum of {0} and {1}?", "Which number is greater, {0} or {1}?",
        "Please name the greater of {0} and {1}.", "Is {0} or {1} the larger one?",
        "Pick the greater one: {0} or {1}", "Which of {0} and {1} is larger?",
        "Name the larger number of {0} and {1}.", "What is greater: {0} or {1}?"},
       {"The larger of {0} and {1} is {2}.", "Of {0} and {1} the greater number is {2}."},
       larger},
      {"add",
       {"What is {0} + {1}?", "Compute {0} + {1}.", "Add {0} and {1}.",
        "Find the sum of {0} and {1}.", "How much is {0} plus {1}?", "How much are {0} and {1}?",
        "Please add {0} + {1}.", "The sum of {0} and {1} is how much?", "How much is {0} + {1}?",
        "Compute the sum of {0} and {1}.", "What is the sum of {0} and {1}?", "Add {0} plus {1}."},
       {"{0} + {1} = {2}", "The sum of {0} and {1} is {2}."},
       sum},
      {"even",
       {"Is {0} even?", "Say yes if {0} is even, else no.", "Even or not: {0}",
        "Tell me whether {0} is even.", "Would you call {0} even?",
        "Is the number {0} even or not?", "Please say whether {0} is even.",
        "The number {0}: is it even?", "Is {0} an even number?",
        "Say whether the number {0} is even.", "Is it true that {0} is even?",
        "Tell me yes if {0} is even, else no."},
       {"Whether {0} is even: {2}", "The number {0} is even: {2}"},
       even},
  };
  return kinds;
}

const InstructionKind& find_instruction_kind(const std::string& name) {
  std::string known;
  for (const InstructionKind& kind : instruction_kinds()) {
    if (kind.name == name) return kind;
    known += (known.empty() ? "" : ", ") + kind.name;
  }
  throw ArgumentError(fmt::format("unknown kind of instruction '{}': there are {}", name, known));
}

}  // namespace weft::zoo
